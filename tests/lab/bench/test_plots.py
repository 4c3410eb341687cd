"""Figures: drawn as SVG, the same bytes for the same numbers."""

import sys
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from contextune.errors import MissingExtraError
from contextune.evaluate.results import ResultTable, evaluate
from contextune.lab.bench.plots import curves, recall_curves, reliability
from contextune.lab.bench.quality.abstention import ReliabilityBin

BINS = [ReliabilityBin(0.05, 0.1, 40), ReliabilityBin(0.55, 0.5, 12), ReliabilityBin(0.95, 0.9, 80)]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def table() -> ResultTable:
    runs = {
        "words": {"one": ["a", "b", "c"], "two": ["c", "b", "a"]},
        "learned": {"one": ["a"], "two": ["a"]},
    }
    return evaluate(runs, {"one": {"a": 1}, "two": {"a": 1}}, ["recall@1", "recall@3"])


def lines(file: Path) -> list[list[tuple[float, float]]]:
    """Where the lines with marks run, in the picture's own units: right and up."""
    found: list[list[tuple[float, float]]] = []
    for group in Xml.parse(file).getroot().iter(f"{SVG}g"):
        places = [
            (float(use.get("x", 0)), -float(use.get("y", 0))) for use in group.findall(f"{SVG}g/{SVG}use")
        ]
        if group.get("id", "").startswith("line2d") and len(places) > 1:
            found.append(places)
    return found


def test_the_same_numbers_are_the_same_bytes(tmp_path: Path, table: ResultTable) -> None:
    for name in ("one", "two"):
        recall_curves(table, (1, 3), tmp_path / name / "recall.svg", title="The right one")
        reliability(BINS, tmp_path / name / "fits.svg")
    for name in ("recall.svg", "fits.svg"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_other_numbers_are_another_figure(tmp_path: Path) -> None:
    reliability(BINS, tmp_path / "one.svg")
    reliability([*BINS[:2], ReliabilityBin(0.95, 0.8, 80)], tmp_path / "two.svg")
    assert (tmp_path / "one.svg").read_bytes() != (tmp_path / "two.svg").read_bytes()


def test_recall_is_drawn_line_by_line(tmp_path: Path, table: ResultTable) -> None:
    file = tmp_path / "recall.svg"
    recall_curves(table, (1, 3), file, title="The right one")
    for words in ("The right one", "Recall@k, %", "words", "learned"):
        assert f"<!-- {words} -->" in file.read_text(encoding="utf-8")
    rising, flat = (line for line in lines(file) if len({x for x, _ in line}) == 2)
    assert rising[0][0] < rising[1][0]
    assert rising[0][1] < rising[1][1]  # recall of 50 %, then of 100 %
    assert flat[0][1] == flat[1][1] == rising[1][1]


def test_reliability_is_drawn_against_the_diagonal(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "fits.svg"
    reliability(BINS, file)
    (drawn,) = (line for line in lines(file) if len(line) == len(BINS) and line[0][1] < line[1][1])
    left, middle, right = drawn
    share = (middle[0] - left[0]) / (right[0] - left[0])
    assert share == pytest.approx((0.55 - 0.05) / (0.95 - 0.05), abs=1e-3)
    share = (middle[1] - left[1]) / (right[1] - left[1])
    assert share == pytest.approx((0.5 - 0.1) / (0.9 - 0.1), abs=1e-3)


def test_without_matplotlib_it_is_said_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"contextune\[plot\]"):
        curves({"a": [1.0]}, [1], tmp_path / "a.svg", title="", across="", up="")
    assert not (tmp_path / "a.svg").exists()
