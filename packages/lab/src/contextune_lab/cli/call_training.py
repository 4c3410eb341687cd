"""Load the training data of the call ranker with progress bars, and print its figures."""

from collections.abc import Sequence
from pathlib import Path

from contextune.cli import output
from contextune.datasets import bundled_pairs, training_pairs
from contextune.embed import default_embedder
from contextune.evaluate.report import empty_table
from contextune.rank import Ranker
from contextune.tools import bundled_toolbox
from contextune_lab.train.embedder.fold_vectors import bundled_folds
from contextune_lab.train.rankers.calls.data import CallData, CallDataBuilder
from contextune_lab.train.rankers.calls.report import call_figures, feature_gains, none_figures
from contextune_lab.train.rankers.calls.train import RankedExample, examples_by_kind

_SHOWN_FEATURES = 20


def call_data(cache: Path, per_fold: int | None = None) -> CallData:
    """The requests of all personas with their filled calls; every model is out of fold."""
    return CallDataBuilder(
        bundled_folds(),
        default_embedder(),
        {tool.name: tool for tool in bundled_toolbox()},
        [*bundled_pairs(), *training_pairs()],
        cache,
        output.progress,
        per_fold,
    ).build()


def print_figures(ranked: Sequence[RankedExample], rankers: Sequence[Ranker]) -> None:
    """Print the five-fold figures by kind of request, and what the rankers look at."""
    heads = ["n", "tool@1", "AST", "exact", "calibration error", "sure (≥ 0.8)", "of these right"]
    table = empty_table("Calls, five-fold, in percent", heads)
    for kind, rows in examples_by_kind(ranked).items():
        figures = call_figures(rows)
        reliability = (figures.calibration_error, *figures.sure)
        for name, shares in (("first tool", figures.first), ("best call", figures.best)):
            shown = [*shares, *(reliability if name == "best call" else ())]
            cells = [f"{100 * share:.1f}" for share in shown]
            table.add_row(f"{kind}, {name}", str(figures.requests), *cells)
        table.add_row(
            f"{kind}, best possible", str(figures.requests), *(f"{100 * x:.1f}" for x in figures.possible)
        )
    output.out.print(table)
    unserved = ", ".join(f"{name} {value:.3f}" for name, value in none_figures(ranked).items())
    output.out.print(f"No tool serves: {unserved}")
    gains = list(feature_gains(rankers).items())[:_SHOWN_FEATURES]
    output.out.print("Features: " + ", ".join(f"{name} {100 * gain:.1f} %" for name, gain in gains))
