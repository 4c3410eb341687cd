"""`contextune bench context` and `bench tools` from end to end, on three personas and with few rounds."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.lab.public_data.test_context_sets import ITEMS, QUERIES, write_set
from tests.lab.train.tiny_tools import QUICK, few_folds

from contextune.embed import Embedder
from contextune.errors import InvalidDataError, MissingExtraError
from contextune_lab.bench import untuned_embedder as untuned_module
from contextune_lab.bench.quality import by_title
from contextune_lab.bench.quality.by_title import title_requests
from contextune_lab.bench.quality.context import RANKER, SAME_INPUTS
from contextune_lab.bench.quality.without_request import RANDOM, WITHOUT_REQUEST
from contextune_lab.bench.results_file import BenchResults
from contextune_lab.cli.bench.context import _public_sets, context  # pyright: ignore[reportPrivateUsage]
from contextune_lab.cli.bench.tools import tools
from contextune_lab.public_data.context_sets import ContextSet, read_workbench
from contextune_lab.train import splits
from contextune_lab.train.embedder import fold_vectors
from contextune_lab.train.rankers.context import mixture
from contextune_lab.train.rankers.context import train as context_recipe
from contextune_lab.train.rankers.context.authored_stores import authored_stores
from contextune_lab.train.rankers.tools import train as tool_recipe


@pytest.fixture(autouse=True)
def small_benchmark(tmp_path: Path, word_embedder: Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three personas, of which a02 is the test part; an embedder of word counts in place of both.

    Of the authored stores, some requests in Chinese, which the embedder cannot read, and in Spanish.
    """
    folds = few_folds(tmp_path / "folds.npz", word_embedder, 3)
    monkeypatch.setattr(fold_vectors, "bundled_folds", lambda: folds)
    monkeypatch.setattr("contextune_lab.cli.training_data.bundled_folds", lambda: folds)
    monkeypatch.setattr(untuned_module, "untuned_embedder", lambda: word_embedder)
    monkeypatch.setattr(splits, "bundled_test_personas", lambda: frozenset({"a02"}))
    monkeypatch.setattr(context_recipe, "FIRST_PASS", QUICK)
    monkeypatch.setattr(context_recipe, "SECOND_PASS", QUICK)
    monkeypatch.setattr(context_recipe, "GRID", {"ranker": (1.0,), "meaning": (0.0, 0.2)})
    monkeypatch.setattr(tool_recipe, "SETTINGS", QUICK)
    few_stores = ContextSet(
        "authored",
        [
            replace(user, queries=user.queries[:8])
            for user in authored_stores().users
            if user.id in ("language zh", "language es")
        ],
    )
    assert len(few_stores.users) == 2
    monkeypatch.setattr(mixture, "authored_stores", lambda: few_stores)
    monkeypatch.setattr(by_title, "title_requests", partial(title_requests, count=6))


def read_table(folder: Path) -> tuple[list[str], dict[str, Any]]:
    table = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return [row["name"] for row in table["rows"]], table


def test_context_tables_have_all_rows_and_a_test_part(tmp_path: Path) -> None:
    context(out=tmp_path / "out", haystack=[60])
    rows, table = read_table(tmp_path / "out" / "context")
    untuned = ["BM25T", "Semantic search", "Hybrid, RRF", "CoT augmentation", "CoT by a large model"]
    assert rows[:10] == [row for title in untuned for row in (title, SAME_INPUTS.format(title))]
    assert rows[10:12] == [RANDOM, WITHOUT_REQUEST]
    assert table["baseline"] == RANKER
    test_rows, test = read_table(tmp_path / "out" / "context-test")
    assert test_rows == rows
    assert 0 < test["queries"] < table["queries"]
    qrels = (tmp_path / "out" / "context-test" / "qrels.trec").read_text(encoding="utf-8")
    assert {line.split("/")[0] for line in qrels.splitlines()} == {"a02"}
    titles, _ = read_table(tmp_path / "out" / "context-titles")
    assert titles[0] == "BM25T"
    assert titles[-1] == "LambdaMART-RRF, as shipped"
    among, _ = read_table(tmp_path / "out" / "context-haystack-60")
    assert among[-1] == RANKER
    results = BenchResults.read(tmp_path / "out" / "results.json").values()
    assert 90 < results["context-candidates/implicit/60 items"] <= 100


def test_public_data_is_read_before_anything_is_measured(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match=r"items\.jsonl"):
        context(out=tmp_path / "out", data=tmp_path)
    assert not (tmp_path / "out").exists()


def test_public_sets_have_a_table_and_a_summary(tmp_path: Path) -> None:
    workbench = read_workbench(write_set(tmp_path, ITEMS, QUERIES))
    _public_sets([workbench], tmp_path / "out")
    results = BenchResults.read(tmp_path / "out" / "results.json")
    assert results.table("context-public").rows[0].name == "WorkBench (3)"
    assert results.table("context-public-mean").columns == ["WorkBench", "mean"]


def test_tool_tables_have_a_test_part(tmp_path: Path) -> None:
    tools(out=tmp_path / "out")
    rows, table = read_table(tmp_path / "out" / "tools-by-kind")
    test_rows, test = read_table(tmp_path / "out" / "tools-test")
    assert test_rows == rows
    assert 0 < test["queries"] < table["queries"]


def test_figure_needs_the_untuned_pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Embedder:
        raise MissingExtraError("exporting the untuned model", "train")

    monkeypatch.setattr(untuned_module, "untuned_embedder", missing)
    with pytest.raises(MissingExtraError):
        tools(plot=tmp_path)
