"""Ablations of the context ranker: leave one part out, keep everything else."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from contextune.context.ranker import fusion_lists
from contextune.context.signals import FAMILIES
from contextune.evaluate.metrics import Run
from contextune.rank import FusionWeights
from contextune.types import Progress
from contextune_lab.train.rankers.context.examples import ContextExample
from contextune_lab.train.rankers.context.train import GRID, KS, FeaturedExamples, HeldOutRanking, fit

ALL_SIGNALS = "LambdaMART, one pass"
LEARNING_CURVE = (5, 10, 20, 40, 80)
"""Sizes of the training set, in personas, for the learning curve."""


def ablations(
    data: FeaturedExamples, held_out: Sequence[HeldOutRanking], *, progress: Progress | None = None
) -> Mapping[str, Run]:
    """One row per part left out; the last row is one pass of LambdaMART over all signals.

    `held_out` is the cross-validated ranking of the complete system.
    """
    row_makers: dict[str, Callable[[], Run]] = {
        f"without {family}": lambda family=family: _cross_validated(data.without(family))
        for family in FAMILIES
    }
    row_makers |= {
        f"only {app}": lambda app=app: _single_app(held_out, app) for app in sorted(_apps(data.examples))
    }
    row_makers["RRF without LambdaMART"] = lambda: _fusion_only(data)
    row_makers["LambdaMART, second hop"] = lambda: {
        ranking.example.name: ranking.ranked("second") for ranking in held_out
    }
    row_makers["LambdaMART-RRF"] = lambda: {ranking.example.name: ranking.ranked() for ranking in held_out}
    row_makers |= {
        f"{number} personas": lambda number=number: _cross_validated(data, use=_first_personas(data, number))
        for number in LEARNING_CURVE
    }
    row_makers["measured personas only"] = lambda: _cross_validated(
        data, use=lambda example: example.measured
    )
    row_makers[ALL_SIGNALS] = lambda: {ranking.example.name: ranking.ranked("first") for ranking in held_out}
    rows: dict[str, Run] = {}
    for number, (name, make_row) in enumerate(row_makers.items(), 1):
        rows[name] = make_row()
        if progress:
            progress(number, len(row_makers))
    return rows


def _cross_validated(data: FeaturedExamples, use: Callable[[ContextExample], bool] = lambda _: True) -> Run:
    run: dict[str, list[str]] = {}
    for fold in sorted({example.fold for example in data.examples if example.measured}):
        ranker = fit(data.select(lambda example, fold=fold: example.fold != fold and use(example)))
        for example, matrix in zip(data.examples, data.matrices, strict=True):
            if example.fold == fold and example.measured:
                ids = example.ids
                run[example.name] = [ids[n] for n in np.argsort(-ranker.score(matrix), kind="stable")]
    return run


def _single_app(held_out: Sequence[HeldOutRanking], app: str) -> Run:
    """The same ranking, restricted to items of one application."""
    kept: dict[str, list[str]] = {}
    for ranking in held_out:
        app_of = {item.id: item.app for item in ranking.example.scene.item_columns.items}
        kept[ranking.example.name] = [name for name in ranking.ranked() if app_of[name] == app]
    return kept


def _fusion_only(data: FeaturedExamples) -> Run:
    """Fusion of the input lists without LambdaMART; weights come from the other folds."""
    grid = {name: values for name, values in GRID.items() if name not in ("ranker", "store")}
    grid["meaning"] = (1.0,)
    run: dict[str, list[str]] = {}
    for fold in sorted({example.fold for example in data.examples}):
        rest = [
            (fusion_lists(example.scene, example.scene.similarities.situated), example.grades)
            for example in data.examples
            if example.fold != fold and example.grades.any()
        ]
        weights = FusionWeights.choose(rest, grid, KS)
        for example in data.examples:
            if example.fold == fold and example.measured:
                fused = weights.fuse(fusion_lists(example.scene, example.scene.similarities.situated))
                ids = example.ids
                run[example.name] = [ids[n] for n in np.argsort(-fused, kind="stable")]
    return run


def _first_personas(data: FeaturedExamples, number: int) -> Callable[[ContextExample], bool]:
    """Select `number` measured personas, spread over the folds."""
    folds = {example.group: example.fold for example in data.examples if example.measured}
    selected = set(sample_across_folds(folds, number))
    return lambda example: example.group in selected


def sample_across_folds(folds: Mapping[str, int], number: int) -> list[str]:
    """Pick `number` names, evenly over the folds and over the list."""
    by_fold: dict[int, list[str]] = {}
    for name, fold in folds.items():
        by_fold.setdefault(fold, []).append(name)
    sample: list[str] = []
    for n, names in enumerate(by_fold.values()):
        share = min(len(names), number * (n + 1) // len(by_fold) - number * n // len(by_fold))
        # offset each fold, so that together they cover the whole list
        steps = (place * len(by_fold) + n for place in range(share))
        sample += [names[len(names) * step // (share * len(by_fold))] for step in steps]
    return sample


def _apps(examples: Sequence[ContextExample]) -> set[str]:
    return {item.app for example in examples for item in example.scene.item_columns.items}
