"""Context retrieval on WorkBench and iKAT: rows, tests against the default, summary."""

from pathlib import Path

import pytest
from tests.lab.public_data.test_context_sets import ITEMS, QUERIES, write_set

from contextune.embed import Embedder
from contextune_lab.bench.quality.context import RANKER
from contextune_lab.bench.quality.public_contexts import (
    MEAN,
    UNTUNED,
    public_rows,
    public_table,
    summary_table,
)
from contextune_lab.public_data.context_sets import TEST, ContextSet, read_workbench


@pytest.fixture(scope="module")
def context_set(tmp_path_factory: pytest.TempPathFactory) -> ContextSet:
    folder: Path = tmp_path_factory.mktemp("workbench")
    return read_workbench(write_set(folder, ITEMS, QUERIES))


def test_every_method_ranks_the_test_requests(context_set: ContextSet) -> None:
    rows = public_rows(context_set)
    assert list(rows) == ["BM25T", "Semantic search", "Hybrid, RRF", RANKER]
    names = {labelled.name for labelled in context_set.part(TEST)}
    assert all(run.keys() == names for run in rows.values())
    table = public_table(context_set, rows)
    assert table.baseline == RANKER
    assert table.cell("Hybrid, RRF", "recall@10").interval.mean == 1  # there are six items


def test_untuned_search_is_a_row_of_its_own(context_set: ContextSet, word_embedder: Embedder) -> None:
    rows = public_rows(context_set, word_embedder)
    assert list(rows)[:2] == [UNTUNED, "BM25T"]
    assert rows[UNTUNED].keys() == rows["BM25T"].keys()


def test_summary_names_the_best_of_the_others(context_set: ContextSet) -> None:
    requests = list(context_set.part(TEST))
    right = {x.name: list(x.relevant) for x in requests}
    wrong = {x.name: ["m9"] for x in requests}
    half = {x.name: ["m9"] if number % 2 else list(x.relevant) for number, x in enumerate(requests)}
    good = public_table(context_set, {"BM25T": right, "Hybrid, RRF": wrong, RANKER: half})
    bad = public_table(context_set, {"BM25T": wrong, "Hybrid, RRF": wrong, RANKER: right})
    values = dict(summary_table("sets", "command", {"first": good, "second": bad}).values())
    assert values["sets/BM25T/first"] == 100
    assert values["sets/best of the others/first"] == 100
    assert values["sets/best of the others/second"] == 0
    assert values[f"sets/best of the others/{MEAN}"] == 50
    assert values[f"sets/{RANKER}/{MEAN}"] == pytest.approx((values[f"sets/{RANKER}/first"] + 100) / 2)
