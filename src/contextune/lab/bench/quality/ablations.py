"""What each part of the learned ranking is worth: with one part left out, everything else the same."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from contextune.context.ranker import lists
from contextune.context.signals import FAMILIES
from contextune.evaluate.metrics import Run
from contextune.lab.train.rankers.context import GRID, KS, FeaturedExamples, HeldOutRanking, fit
from contextune.lab.train.rankers.context_examples import ContextExample
from contextune.rank import FusionWeights
from contextune.types import Progress

WHOLE = "LambdaMART, one pass"
CURVE = (5, 10, 20, 40, 80)
"""How many personas of those measured on the points of the learning curve learn from."""


def ablations(
    data: FeaturedExamples, unseen: Sequence[HeldOutRanking], *, progress: Progress | None = None
) -> Mapping[str, Run]:
    """A row for each part left out, tested against the last: one pass of LambdaMART over all signals.

    `unseen` is the cross-validated whole.
    """
    jobs: dict[str, Callable[[], Run]] = {
        f"without {family}": lambda family=family: _learned(data.without(family)) for family in FAMILIES
    }
    jobs |= {f"only {app}": lambda app=app: _one_store(unseen, app) for app in sorted(_apps(data.examples))}
    jobs["RRF without LambdaMART"] = lambda: _fusion_alone(data)
    jobs["LambdaMART, second hop"] = lambda: {one.example.name: one.ranked("second") for one in unseen}
    jobs["LambdaMART-RRF"] = lambda: {one.example.name: one.ranked() for one in unseen}
    jobs |= {
        f"{number} personas": lambda number=number: _learned(data, learnt_from=_first(data, number))
        for number in CURVE
    }
    jobs["measured personas only"] = lambda: _learned(data, learnt_from=lambda example: example.measured)
    jobs[WHOLE] = lambda: {one.example.name: one.ranked("first") for one in unseen}
    rows: dict[str, Run] = {}
    for number, (name, job) in enumerate(jobs.items(), 1):
        rows[name] = job()
        if progress:
            progress(number, len(jobs))
    return rows


def _learned(data: FeaturedExamples, learnt_from: Callable[[ContextExample], bool] = lambda _: True) -> Run:
    run: dict[str, list[str]] = {}
    for fold in sorted({example.fold for example in data.examples if example.measured}):
        ranker = fit(data.part(lambda example, fold=fold: example.fold != fold and learnt_from(example)))
        for example, matrix in zip(data.examples, data.matrices, strict=True):
            if example.fold == fold and example.measured:
                ids = example.ids
                run[example.name] = [ids[n] for n in np.argsort(-ranker.score(matrix), kind="stable")]
    return run


def _one_store(unseen: Sequence[HeldOutRanking], app: str) -> Run:
    """The same ranking with the items of all other applications taken out."""
    kept: dict[str, list[str]] = {}
    for one in unseen:
        app_of = {item.id: item.app for item in one.example.scene.facts.items}
        kept[one.example.name] = [name for name in one.ranked() if app_of[name] == app]
    return kept


def _fusion_alone(data: FeaturedExamples) -> Run:
    """Nothing learnt but the weights of the lists, in each fold from the others."""
    grid = {name: values for name, values in GRID.items() if name not in ("ranker", "store")}
    grid["meaning"] = (1.0,)
    run: dict[str, list[str]] = {}
    for fold in sorted({example.fold for example in data.examples}):
        rest = [
            (lists(example.scene, example.scene.likeness.situated), example.grades)
            for example in data.examples
            if example.fold != fold and example.grades.any()
        ]
        weights = FusionWeights.choose(rest, grid, KS)
        for example in data.examples:
            if example.fold == fold and example.measured:
                fused = weights.fuse(lists(example.scene, example.scene.likeness.situated))
                ids = example.ids
                run[example.name] = [ids[n] for n in np.argsort(-fused, kind="stable")]
    return run


def _first(data: FeaturedExamples, number: int) -> Callable[[ContextExample], bool]:
    """So many of the personas measured on, spread over the folds as they are."""
    folds = {example.group: example.fold for example in data.examples if example.measured}
    chosen = set(spread(folds, number))
    return lambda example: example.group in chosen


def spread(folds: Mapping[str, int], number: int) -> list[str]:
    """So many names, as many of each fold as can be, and from everywhere in the list."""
    parts: dict[int, list[str]] = {}
    for name, fold in folds.items():
        parts.setdefault(fold, []).append(name)
    found: list[str] = []
    for n, part in enumerate(parts.values()):
        share = min(len(part), number * (n + 1) // len(parts) - number * n // len(parts))
        # each fold begins where the one before would have gone on
        steps = (place * len(parts) + n for place in range(share))
        found += [part[len(part) * step // (share * len(parts))] for step in steps]
    return found


def _apps(examples: Sequence[ContextExample]) -> set[str]:
    return {item.app for example in examples for item in example.scene.facts.items}
