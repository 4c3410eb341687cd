"""Figures for the docs, drawn with matplotlib."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from contextune.errors import MissingExtraError
from contextune.evaluate.results import ResultTable

if TYPE_CHECKING:
    from contextune.lab.bench.quality.abstention import ReliabilityBin

_SIZE = (6.4, 4.0)


def recall_curves(table: ResultTable, ks: Sequence[int], file: Path, *, title: str) -> None:
    """Recall at each k, a line a row."""
    lines = {row: [100 * table.cell(row, f"recall@{k}").interval.mean for k in ks] for row in table.rows}
    curves(lines, ks, file, title=title, across="k", up="Recall@k, %")


def curves(
    lines: Mapping[str, Sequence[float]],
    places: Sequence[float],
    file: Path,
    *,
    title: str,
    across: str,
    up: str,
) -> None:
    """A line for each name."""
    figure, axes = _figure(title, across, up)
    for name, values in lines.items():
        axes.plot(places, values, marker="o", markersize=3, label=name)
    axes.legend(fontsize=7)
    _save(figure, file)


def reliability(bins: "Sequence[ReliabilityBin]", file: Path) -> None:
    """What is said against what is true; on the diagonal, what is said can be believed."""
    figure, axes = _figure("Does any tool fit?", "probability said", "share that had a tool")
    axes.plot([0, 1], [0, 1], linestyle=":", color="grey")
    axes.plot([part.said for part in bins], [part.true for part in bins], marker="o")
    _save(figure, file)


def _figure(title: str, across: str, up: str) -> tuple[Any, Any]:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("drawing figures", "plot") from None
    figure = cast("Any", Figure(figsize=_SIZE, layout="tight"))
    axes = figure.add_subplot()
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(alpha=0.3)
    return figure, axes


def _save(figure: Any, file: Path) -> None:
    """Without the date, and with names of parts that are not drawn: the same figures are the same bytes."""
    import matplotlib as mpl

    file.parent.mkdir(parents=True, exist_ok=True)
    with cast("Any", mpl).rc_context({"svg.hashsalt": "contextune"}):
        figure.savefig(file, metadata={"Date": None})
