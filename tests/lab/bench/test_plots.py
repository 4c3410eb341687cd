"""Plots: deterministic SVG files."""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from tests.paths import ROOT

from contextune.errors import MissingExtraError
from contextune_lab.bench.figures import draw_results
from contextune_lab.bench.plots import plot_curves, plot_reliability
from contextune_lab.bench.quality.tools import FIGURE
from contextune_lab.bench.results_file import BenchResults
from contextune_lab.reliability import ReliabilityBin

BINS = [ReliabilityBin(0.05, 0.1, 40), ReliabilityBin(0.55, 0.5, 12), ReliabilityBin(0.95, 0.9, 80)]
SVG = "{http://www.w3.org/2000/svg}"


def lines(file: Path) -> list[list[tuple[float, float]]]:
    """The points of all marked lines, in plot units: right and up."""
    lines_found: list[list[tuple[float, float]]] = []
    for group in Xml.parse(file).getroot().iter(f"{SVG}g"):
        points = [
            (float(use.get("x", 0)), -float(use.get("y", 0))) for use in group.findall(f"{SVG}g/{SVG}use")
        ]
        if group.get("id", "").startswith("line2d") and len(points) > 1:
            lines_found.append(points)
    return lines_found


def plot_two_lines(file: Path) -> None:
    series = {"words": [50.0, 100.0], "learned": [100.0, 100.0]}
    plot_curves(series, [1, 3], file, title="The right one", x_label="k", y_label="Recall@k, %")


def test_plots_are_deterministic(tmp_path: Path) -> None:
    for name in ("one", "two"):
        plot_two_lines(tmp_path / name / "recall.svg")
        plot_reliability(BINS, tmp_path / name / "fits.svg")
    for name in ("recall.svg", "fits.svg"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_other_values_give_another_plot(tmp_path: Path) -> None:
    plot_reliability(BINS, tmp_path / "one.svg")
    plot_reliability([*BINS[:2], ReliabilityBin(0.95, 0.8, 80)], tmp_path / "two.svg")
    assert (tmp_path / "one.svg").read_bytes() != (tmp_path / "two.svg").read_bytes()


def test_plot_has_a_line_per_name(tmp_path: Path) -> None:
    file = tmp_path / "recall.svg"
    plot_two_lines(file)
    for words in ("The right one", "Recall@k, %", "words", "learned"):
        assert f"<!-- {words} -->" in file.read_text(encoding="utf-8")
    rising, flat = (line for line in lines(file) if len({x for x, _ in line}) == 2)
    assert rising[0][0] < rising[1][0]
    assert rising[0][1] < rising[1][1]  # recall of 50 %, then of 100 %
    assert flat[0][1] == flat[1][1] == rising[1][1]


def test_reliability_plot_shows_bins_and_diagonal(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "fits.svg"
    plot_reliability(BINS, file)
    (drawn,) = (line for line in lines(file) if len(line) == len(BINS) and line[0][1] < line[1][1])
    left, middle, right = drawn
    share = (middle[0] - left[0]) / (right[0] - left[0])
    assert share == pytest.approx((0.55 - 0.05) / (0.95 - 0.05), abs=1e-3)
    share = (middle[1] - left[1]) / (right[1] - left[1])
    assert share == pytest.approx((0.5 - 0.1) / (0.9 - 0.1), abs=1e-3)


def test_missing_matplotlib_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"contextune\[plot\]"):
        plot_curves({"a": [1.0]}, [1], tmp_path / "a.svg", title="", x_label="", y_label="")
    assert not (tmp_path / "a.svg").exists()


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("figures")
    results = BenchResults.read(ROOT / "docs" / "benchmarks.json")
    return {file.stem: file for file in draw_results(results, folder)}


def test_curves_of_a_results_file_are_drawn(drawn: dict[str, Path]) -> None:
    assert set(drawn) == {"budget", "context-haystack", "latency", "scale-search", "tools"}
    text = drawn["latency"].read_text(encoding="utf-8")
    for words in ("items in the store", "10,000", "learned"):
        assert f"<!-- {words} -->" in text
    assert "of these" not in text
    (tools,) = {len(line) for line in lines(drawn["scale-search"]) if len({x for x, _ in line}) == 3}
    assert tools == 3  # nothing is drawn for a size without a measured search


def test_figures_of_the_docs_are_those_of_the_results_file(drawn: dict[str, Path]) -> None:
    for name, file in drawn.items():
        page = ROOT / "docs" / "figures" / f"{name}.svg"
        assert lines(page) == lines(file), f"draw {name} again with contextune bench figures"


def test_tools_figure_has_the_papers_pair(drawn: dict[str, Path]) -> None:
    results = BenchResults.read(ROOT / "docs" / "benchmarks.json")
    assert set(FIGURE) <= {row.name for row in results.table("tools").rows}
    for file in (drawn["tools"], ROOT / "docs" / "figures" / "tools.svg"):
        names = re.findall(r"<!-- (.+?, with.+?) -->", file.read_text(encoding="utf-8"))
        assert names == list(FIGURE)
