"""Tool retrieval benchmark on a small example and on a few personas."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.lab.train.tiny_tools import few_folds, vector

from contextune.embed import Embedder
from contextune.evaluate.metrics import Run
from contextune.evaluate.results import ResultTable
from contextune.rank import RankerSettings
from contextune.search import tokenize
from contextune.tools import Catalog, ToolRetriever, bundled_toolbox
from contextune.tools.index import ToolIndex
from contextune.tools.query import ToolQuery
from contextune.types import Tool
from contextune_lab.bench.quality.tools import (
    BASELINE,
    FIGURE,
    METRICS,
    UNTUNED,
    WITH_CONTEXT,
    WITHOUT_CONTEXT,
    ToolRequests,
    tool_rows,
    tool_table,
)
from contextune_lab.train.embedder.fold_vectors import FoldVectors
from contextune_lab.train.rankers.context.examples import from_folds
from contextune_lab.train.rankers.tools import train as recipe
from contextune_lab.train.rankers.tools.examples import PLAUSIBLE, RIGHT, ToolExample, from_personas

TOOLS = [Tool(name, "", app=app) for app, name in (("Post", "send"), ("Post", "track"), ("Clock", "wake"))]
INDEX = ToolIndex.from_vectors(Catalog(TOOLS), np.stack([vector(tool.id) for tool in TOOLS]))

Rows = Mapping[str, Run]


def example(name: str, kind: str, right: int, *, measured: bool = True) -> ToolExample:
    grades = {(right + 1) % 3: PLAUSIBLE, right: RIGHT}
    query = ToolQuery(name, vector(name))
    return ToolExample(name, name.split("/")[0], 0, kind, INDEX, query, grades, measured)


EXAMPLES = [
    example("ann/1", "habit", 0),
    example("ann/2", "place", 1),
    example("bob/1", "habit", 2),
    example("bob/2", "habit", 2),
    example("only learnt from", "place", 1, measured=False),
]
ROWS = {
    "words": {
        "ann/1": ["wake", "track", "send"],
        "ann/2": ["send", "track"],
        "bob/1": ["wake"],
        "bob/2": [],
    },
    BASELINE: {name: ["wake", "track", "send"] for name in ("ann/1", "ann/2", "bob/1", "bob/2")},
}


def means(table: ResultTable, row: str, kind: str = "all") -> dict[str, float]:
    return {name: table.cell(row, name, kind).interval.mean for name in METRICS}


def test_metrics_of_a_small_example() -> None:
    table = tool_table(EXAMPLES, ROWS)
    assert table.rows == ("words", BASELINE)
    assert table.cell("words", "recall@1").n == 4
    assert means(table, "words") == pytest.approx(
        {"recall@1": 1 / 4, "recall@3": 3 / 4, "recall@5": 3 / 4, "recall@10": 3 / 4}
        | {"mrr": (1 / 3 + 1 / 2 + 1) / 4}
    )
    assert means(table, BASELINE) == pytest.approx(
        {"recall@1": 1 / 2, "recall@3": 1, "recall@5": 1, "recall@10": 1} | {"mrr": (1 / 3 + 1 / 2 + 2) / 4}
    )
    assert set(table.kinds) == {"habit", "place"}
    assert table.cell("words", "recall@1", "habit").n == 3
    assert means(table, "words", "habit")["recall@1"] == pytest.approx(1 / 3)
    assert means(table, BASELINE, "place")["recall@1"] == 0


def test_plausible_tools_do_not_count() -> None:
    """Only the right tool counts."""
    table = tool_table(EXAMPLES, ROWS)
    assert table.qrels == {
        "ann/1": {"send": 1},
        "ann/2": {"track": 1},
        "bob/1": {"wake": 1},
        "bob/2": {"wake": 1},
    }


def test_table_by_application() -> None:
    table = tool_table(EXAMPLES, ROWS, by="application")
    assert set(table.kinds) == {"Post", "Clock"}
    assert means(table, BASELINE, "Clock")["recall@1"] == 1
    assert means(table, BASELINE, "Post") == pytest.approx(
        {"recall@1": 0, "recall@3": 1, "recall@5": 1, "recall@10": 1} | {"mrr": (1 / 3 + 1 / 2) / 2}
    )


def test_rows_are_compared_with_the_learned_row_without_context() -> None:
    table = tool_table(EXAMPLES, ROWS)
    assert table.cell(BASELINE, "recall@1").p is None
    assert table.cell("words", "recall@1").p is not None
    bare = tool_table(EXAMPLES, {"words": ROWS["words"]})
    assert bare.cell("words", "recall@1").p is None


@pytest.fixture
def folds(tmp_path: Path, word_embedder: Embedder) -> FoldVectors:
    return few_folds(tmp_path / "folds.npz", word_embedder)


@pytest.fixture
def personas(folds: FoldVectors) -> list[ToolExample]:
    """The personas' requests with items in index order as context."""
    examples = from_folds(folds)
    return from_personas(folds, examples, [-np.arange(len(e.grades), dtype=np.float64) for e in examples])


def test_requests_have_four_forms(folds: FoldVectors, personas: list[ToolExample]) -> None:
    requests = ToolRequests.build(folds, personas)
    names = [persona.name(query) for persona in folds.personas for query in persona.queries]
    forms = {
        "bare": requests.bare,
        "retrieved": requests.retrieved,
        "with_cot": requests.with_cot,
        "oracle": requests.oracle,
    }
    for form, examples in forms.items():
        assert [case.name for case in examples] == names, form
    rows = {
        persona.name(query): (parts["bare"][number], parts["augmented"][number], persona, query)
        for persona, parts in folds
        for number, query in enumerate(persona.queries)
    }
    for bare, retrieved, with_cot, oracle in zip(*forms.values(), strict=True):
        plain_vector, cot_vector, persona, query = rows[bare.name]
        assert bare.query.context is None
        assert with_cot.query.context is None
        np.testing.assert_array_equal(bare.query.vector, plain_vector)
        np.testing.assert_array_equal(retrieved.query.vector, plain_vector)
        np.testing.assert_array_equal(oracle.query.vector, plain_vector)
        np.testing.assert_array_equal(with_cot.query.vector, cot_vector)
        assert retrieved.query.context is not None
        assert oracle.query.context is not None
        gold = query.gold.relevant or {}
        context_ids = [item.id for item in oracle.query.context.items]
        assert set(context_ids) <= gold.keys()
        assert len(context_ids) == min(5, len(gold))
        assert [gold[name] for name in context_ids] == sorted(
            (gold[name] for name in context_ids), reverse=True
        )
        assert {item.id for item in retrieved.query.context.items} <= {item.id for item in persona.items}


@pytest.fixture
def rows(
    folds: FoldVectors, personas: list[ToolExample], word_embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> Rows:
    """All rows; their untuned embedder is the one that made the vectors of the tuned one."""
    monkeypatch.setattr(recipe, "SETTINGS", RankerSettings(rounds=3, seeds=1, smallest_leaf=5))
    return tool_rows(folds, personas, [], word_embedder)


def measured(personas: list[ToolExample]) -> dict[str, ToolExample]:
    return {case.name: case for case in personas if case.measured}


def test_every_row_ranks_every_api(personas: list[ToolExample], rows: Rows) -> None:
    assert list(rows) == [
        "BM25T, without context",
        "Semantic search, untuned, without context",
        "Semantic search, untuned, with the context found",
        "Tuned embedder, without context",
        "Tuned embedder, with the context found",
        "Learned, without context",
        "Learned, with CoT, without context",
        "Learned, with the context found",
        "Learned, with the right context",
    ]
    assert set(FIGURE) <= set(rows)
    names = sorted(tool.name for tool in bundled_toolbox())
    for row, run in rows.items():
        assert run.keys() == measured(personas).keys(), row
        assert all(sorted(retrieved) == names for retrieved in run.values()), row


def test_rows_differ_where_their_inputs_do(rows: Rows) -> None:
    assert rows[WITHOUT_CONTEXT.format(UNTUNED)] == rows["Tuned embedder, without context"]
    assert rows["Tuned embedder, without context"] != rows["Tuned embedder, with the context found"]
    assert len({str(rows[row]) for row in list(rows)[5:]}) == 4


def test_rows_without_context_begin_with_the_best_tool(
    personas: list[ToolExample], rows: Rows, word_embedder: Embedder
) -> None:
    toolbox = bundled_toolbox()
    names = [tool.name for tool in toolbox]
    index = ToolIndex.build(Catalog(replace(tool, examples=()) for tool in toolbox), word_embedder)
    for name, case in measured(personas).items():
        semantic = index.vectors @ word_embedder.embed([case.query.text])[0]
        assert semantic[names.index(rows["Tuned embedder, without context"][name][0])] == semantic.max()
        lexical = index.fields["all"].scores(tokenize(case.query.text))
        assert lexical[names.index(rows["BM25T, without context"][name][0])] == lexical.max()


def test_untuned_row_with_context_equals_semantic_search(
    personas: list[ToolExample], rows: Rows, word_embedder: Embedder
) -> None:
    toolbox = bundled_toolbox()
    plugged_in = ToolRetriever(toolbox, word_embedder, method="semantic")
    for name, case in measured(personas).items():
        assert case.query.context is not None
        vectors = word_embedder.embed([item.text for item in case.query.context.items])
        context = replace(case.query.context, vectors=vectors)
        hits = plugged_in.search(case.query.text, len(toolbox), context=context)
        score_by_name = {hit.tool.name: hit.score for hit in hits}
        ranked = [score_by_name[tool] for tool in rows[WITH_CONTEXT.format(UNTUNED)][name]]
        np.testing.assert_allclose(ranked, [hit.score for hit in hits], atol=1e-6)  # ties in any order


def test_table_of_all_rows_compares_with_the_baseline(personas: list[ToolExample], rows: Rows) -> None:
    table = tool_table(personas, rows)
    assert table.cell(BASELINE, "recall@10").n == len(measured(personas))
    assert table.cell("Learned, with the context found", "recall@10").p is not None


def test_untuned_rows_need_an_untuned_embedder(
    folds: FoldVectors, personas: list[ToolExample], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipe, "SETTINGS", RankerSettings(rounds=1, seeds=1, smallest_leaf=5))
    progress_calls: list[tuple[int, int]] = []
    rows = tool_rows(
        folds, personas, [], None, progress=lambda done, total: progress_calls.append((done, total))
    )
    assert not any(row.startswith(UNTUNED) for row in rows)
    assert progress_calls[-1] == (5, 5)
