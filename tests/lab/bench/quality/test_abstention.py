"""Abstention benchmark: metrics checked by hand, and a small measurement."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from rich.console import Console
from tests.lab.train.tiny_tools import few_folds, public_rows, world

from contextune.datasets import plain_requests
from contextune.embed import Embedder
from contextune.rank import RankerSettings
from contextune.tools.abstain import FIT_INPUTS
from contextune_lab.bench.quality import abstention as bench
from contextune_lab.bench.quality.abstention import (
    AbstentionReport,
    AbstentionRow,
    measure_abstention,
    to_rich,
)
from contextune_lab.public_data.folds import training_toolsets
from contextune_lab.reliability import ReliabilityBin, auroc
from contextune_lab.train.rankers.context.examples import from_folds
from contextune_lab.train.rankers.tools import abstention
from contextune_lab.train.rankers.tools import train as recipe
from contextune_lab.train.rankers.tools.abstention import (
    NO_TOOL,
    OTHER_CATALOGUE,
    SERVED,
    TWINS_LEFT,
    AbstentionData,
)
from contextune_lab.train.rankers.tools.examples import (
    PublicVectors,
    ToolExample,
    from_personas,
    from_public,
)

Floats = NDArray[np.float64]
PLAIN = plain_requests()[::25]
PROBABILITIES = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0])


@given(
    st.lists(PROBABILITIES | st.floats(-5, 5), min_size=1, max_size=12),
    st.lists(PROBABILITIES | st.floats(-5, 5), min_size=1, max_size=12),
)
def test_auroc_is_the_share_of_ordered_pairs(right: list[float], wrong: list[float]) -> None:
    ordered_pairs = sum((a > b) + (a == b) / 2 for a in right for b in wrong)
    labels = np.array([True] * len(right) + [False] * len(wrong))
    mixed = np.random.default_rng(0).permutation(len(labels))
    report = auroc(labels[mixed], np.array([*right, *wrong])[mixed])
    assert report == pytest.approx(ordered_pairs / (len(right) * len(wrong)))


def test_auroc_extremes() -> None:
    labels = np.array([True, True, False, False])
    assert auroc(labels, np.array([0.9, 0.8, 0.2, 0.1])) == 1
    assert auroc(labels, np.array([0.1, 0.2, 0.8, 0.9])) == 0
    assert auroc(labels, np.full(4, 0.5)) == 0.5


def test_expected_calibration_error() -> None:
    nothing = AbstentionRow("", 0, 0.0, 0.0)
    exact = AbstentionReport([], [ReliabilityBin(0.1, 0.1, 50), ReliabilityBin(0.9, 0.9, 7)], nothing)
    assert exact.calibration_error == 0
    off = AbstentionReport([], [ReliabilityBin(0.2, 0.1, 30), ReliabilityBin(0.5, 0.9, 10)], nothing)
    assert off.calibration_error == pytest.approx((30 * 0.1 + 10 * 0.4) / 40)


@pytest.fixture(autouse=True)
def fast_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "SETTINGS", RankerSettings(rounds=3, seeds=1, smallest_leaf=5))
    for module in (recipe, abstention, bench):
        monkeypatch.setattr(module, "plain_requests", lambda: PLAIN)


@pytest.fixture
def personas(tmp_path: Path, word_embedder: Embedder) -> list[ToolExample]:
    folds = few_folds(tmp_path / "folds.npz", word_embedder)
    examples = from_folds(folds)
    return from_personas(folds, examples, [example.grades.astype(np.float64) for example in examples])


def assert_row(row: AbstentionRow, fits: Sequence[bool], probabilities: Sequence[float]) -> None:
    """Compare with a brute-force computation."""
    right = [c for c, fit in zip(probabilities, fits, strict=True) if fit]
    wrong = [c for c, fit in zip(probabilities, fits, strict=True) if not fit]
    assert row.count == len(fits)
    ordered_pairs = sum((a > b) + (a == b) / 2 for a in right for b in wrong)
    assert row.auroc == pytest.approx(ordered_pairs / (len(right) * len(wrong)))
    bar = float(np.quantile(right, 0.05))
    assert abs(sum(c >= bar for c in right) - 0.95 * len(right)) <= 1
    assert row.false_positives == pytest.approx(sum(c >= bar for c in wrong) / len(wrong))


@dataclass(frozen=True, eq=False)
class FixedAbstentionData(AbstentionData):
    """Abstention data with fixed probabilities."""

    probabilities: Floats

    def held_out(self) -> Floats:
        return self.probabilities


def test_metrics_by_kind_of_negative_and_by_source(
    personas: list[ToolExample], word_embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    probabilities = [0.0, 0.05, 0.31, 0.38, 0.35, 0.96, 1.0, 0.97, 0.32, 0.99]
    fits = [False, False, False, True, False, True, True, True, True, False]
    case = [SERVED if fit else NO_TOOL for fit in fits]
    case[9] = TWINS_LEFT
    source = ("personas", "personas", "bfcl", "bfcl", "personas") * 2
    data = FixedAbstentionData(
        np.zeros((10, len(FIT_INPUTS))), np.array(fits), source, source, tuple(case), np.array(probabilities)
    )

    def build(*_: object) -> FixedAbstentionData:
        return data

    monkeypatch.setattr(AbstentionData, "build", build)
    report = measure_abstention(personas, [], word_embedder)
    assert [row.source for row in report.rows] == ["all", NO_TOOL, TWINS_LEFT, "bfcl", "personas"]
    members = {
        "all": range(9),
        NO_TOOL: range(9),
        TWINS_LEFT: [5, 6, 9],  # of the source that has such a case
        "bfcl": [2, 3, 7, 8],
        "personas": [0, 1, 4, 5, 6],
    }
    for row in report.rows:
        numbers = list(members[row.source])
        assert_row(row, [fits[n] for n in numbers], [probabilities[n] for n in numbers])
    assert report.mean_auroc == pytest.approx((report.rows[3].auroc + report.rows[4].auroc) / 2)
    assert [bucket.count for bucket in report.bins] == [2, 4, 3]
    # of four in the middle, the two of bfcl that fit count 1/3 each, the one that does not 1, the other 1/3
    assert report.bins[1].observed == pytest.approx((2 / 3) / (2 / 3 + 1 + 1 / 3))
    assert sum(bucket.weight for bucket in report.bins) == pytest.approx(4)


def test_measurement_on_a_few_examples(
    tmp_path: Path, personas: list[ToolExample], word_embedder: Embedder
) -> None:
    toolsets = training_toolsets(world(tmp_path))
    public = from_public(toolsets, PublicVectors(public_rows(toolsets)))[::3]
    personas = personas[::2]
    report = measure_abstention(personas, public, word_embedder)
    assert list(report.sources) == ["metatool", "personas", "plain", "toolbench", "toollens"]
    count = {row.source: row.count for row in report.rows}
    assert count["personas"] == 6 * len(personas)  # with context and without; served, and two negatives
    assert count["plain"] == 2 * len(PLAIN)  # alone, and among somebody's data
    assert count[OTHER_CATALOGUE] == 2 * len(public)
    assert count["all"] == sum(count[name] for name in report.sources)
    assert count["all"] == sum(bucket.count for bucket in report.bins)
    assert [bucket.predicted for bucket in report.bins] == sorted(bucket.predicted for bucket in report.bins)
    assert len({int(bucket.predicted * 10) for bucket in report.bins}) == len(report.bins)
    assert all(0 <= row.auroc <= 1 and 0 <= row.false_positives <= 1 for row in report.rows)
    assert report.rows[0].auroc > 0.6
    assert report.context.count == len(PLAIN) + sum(example.measured for example in personas)
    assert report.context.auroc > 0.6


def test_tables_show_all_values() -> None:
    judged = AbstentionReport(
        [AbstentionRow("all", 12_345, 0.98765, 0.123)],
        [ReliabilityBin(0.25, 0.5, 1_000)],
        AbstentionRow("context", 7, 0.5, 1.0),
    )
    console = Console(width=120, record=True, file=StringIO())
    for table in to_rich(judged):
        console.print(table)
    predicted = " ".join(console.export_text().split())
    for words in ("12,345", "0.988", "12.3 %", "context", "100.0 %", "0.25", "1,000", "error 25.0 %"):
        assert words in predicted
