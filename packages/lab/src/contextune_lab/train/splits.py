"""The test part: the bundled personas that no choice may look at.

It is one of the five folds. Folds are dealt round robin over the sorted ids, so every author is in it. Its
figures come from models trained on the other four. Hyperparameters, features, prompts and rules are chosen
on the development part, the other four folds; five-fold figures over all personas are reported beside, for
comparison with earlier ones.
"""

from collections.abc import Mapping
from functools import cache

from contextune.datasets import bundled_personas
from contextune.evaluate.metrics import Run
from contextune_lab.train.embedder.data import FOLDS, assign_folds

TEST_FOLD = FOLDS - 1


@cache
def bundled_test_personas() -> frozenset[str]:
    """Ids of the bundled personas of the test part."""
    return frozenset(name for name, fold in assign_folds(bundled_personas()).items() if fold == TEST_FOLD)


def is_test(persona_id: str) -> bool:
    """Whether a persona is in the test part."""
    return persona_id in bundled_test_personas()


def restrict_to_test(rows: Mapping[str, Run]) -> dict[str, Run]:
    """The requests of the test part in each row; requests are named `persona/query`."""
    return {
        row: {name: ranking for name, ranking in run.items() if is_test(name.split("/")[0])}
        for row, run in rows.items()
    }
