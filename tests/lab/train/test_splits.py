"""The test part of the bundled personas."""

from collections import Counter

from contextune.datasets import bundled_personas
from contextune_lab.train.embedder.data import FOLDS, assign_folds
from contextune_lab.train.splits import TEST_FOLD, bundled_test_personas, is_test, restrict_to_test


def test_test_part_is_one_fold_with_every_author() -> None:
    personas = bundled_personas()
    folds = assign_folds(personas)
    assert {persona.id for persona in personas if is_test(persona.id)} == {
        name for name, fold in folds.items() if fold == TEST_FOLD
    }
    authors = Counter(persona.id[0] for persona in personas)
    chosen = Counter(name[0] for name in bundled_test_personas())
    assert chosen.keys() == authors.keys()
    assert all(abs(chosen[author] - count / FOLDS) < 1 for author, count in authors.items())


def test_rows_are_restricted_to_requests_of_the_test_part() -> None:
    inside, outside = sorted(bundled_test_personas())[0], "a01"
    assert not is_test(outside)
    rows = {"row": {f"{inside}/q1": ["m1"], f"{outside}/q1": ["m2"]}}
    assert restrict_to_test(rows) == {"row": {f"{inside}/q1": ["m1"]}}
