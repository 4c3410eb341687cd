"""Plots for the docs (matplotlib)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from contextune.errors import MissingExtraError

if TYPE_CHECKING:
    from contextune_lab.reliability import ReliabilityBin

_SIZE = (6.4, 4.0)


def plot_curves(
    series: Mapping[str, Sequence[float]],
    xs: Sequence[float],
    file: Path,
    *,
    title: str,
    x_label: str,
    y_label: str,
    log_x: bool = False,
) -> None:
    """Plot one line per name over the same x values; with `log_x`, over a scale that labels these values."""
    figure, axes = _figure(title, x_label, y_label)
    if log_x:
        axes.set_xscale("log")
        axes.set_xticks(xs, [f"{x:,.0f}" for x in xs])
        axes.minorticks_off()
    for name, values in series.items():
        axes.plot(xs, values, marker="o", markersize=3, label=name)
    axes.legend(fontsize=7)
    _save(figure, file)


def plot_reliability(
    bins: "Sequence[ReliabilityBin]",
    file: Path,
    *,
    title: str = "Does any tool fit?",
    y_label: str = "share with a tool",
) -> None:
    """Plot predicted probability against the observed share; a calibrated model lies on the diagonal."""
    figure, axes = _figure(title, "predicted probability", y_label)
    axes.plot([0, 1], [0, 1], linestyle=":", color="grey")
    axes.plot([bucket.predicted for bucket in bins], [bucket.observed for bucket in bins], marker="o")
    _save(figure, file)


def _figure(title: str, x_label: str, y_label: str) -> tuple[Any, Any]:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("drawing figures", "plot") from None
    figure = cast("Any", Figure(figsize=_SIZE, layout="tight"))
    axes = figure.add_subplot()
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(alpha=0.3)
    return figure, axes


def _save(figure: Any, file: Path) -> None:
    """Write the same bytes for the same plot: no date, and a fixed salt for element ids."""
    import matplotlib as mpl

    file.parent.mkdir(parents=True, exist_ok=True)
    with cast("Any", mpl).rc_context({"svg.hashsalt": "contextune"}):
        figure.savefig(file, metadata={"Date": None})
