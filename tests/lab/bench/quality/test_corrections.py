"""Learning curve of tool search from corrections of private words."""

from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

from contextune_lab.bench.quality.corrections import learning_curve, private_words
from contextune_lab.bench.results_file import BenchResults
from contextune_lab.cli import bench


def test_private_words_differ() -> None:
    words = private_words(Random(1), 40)
    assert len(set(words)) == 40
    assert words == private_words(Random(1), 40)


def test_corrections_are_learned() -> None:
    calls: list[tuple[int, int]] = []
    before, after = learning_curve(2, rounds=(0, 3), progress=lambda done, of: calls.append((done, of)))
    assert (before.corrections, after.corrections) == (0, 3)
    assert before.first <= before.among_three < 0.25
    assert after.first > 0.8
    assert calls == [(1, 2), (2, 2)]


def test_table_and_plot_are_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    done = CliRunner().invoke(bench.app, ["corrections", "--users", "1", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "corrections of a word" in done.output
    values = BenchResults.read(tmp_path / "results.json").values()
    assert values["corrections/0/right tool first"] <= values["corrections/8/right tool first"]
    assert "Learning private words" in (tmp_path / "figures" / "corrections.svg").read_text()
