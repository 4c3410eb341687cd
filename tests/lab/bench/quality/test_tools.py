"""Figure 2 of the paper on a hand-made case, and every row of it on a few personas."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.lab.train.tiny_tools import few_folds, vector

from contextune.embed import Embedder
from contextune.evaluate.results import ResultTable
from contextune.lab.bench.quality.tools import (
    METRICS,
    UNTUNED,
    WITH_CONTEXT,
    ToolRequests,
    tool_rows,
    tool_table,
)
from contextune.lab.train.embedder.fold_vectors import FoldVectors
from contextune.lab.train.rankers import tools as recipe
from contextune.lab.train.rankers.context_examples import from_folds
from contextune.lab.train.rankers.tool_examples import PLAUSIBLE, RIGHT, ToolExample, from_personas
from contextune.rank import RankerSettings
from contextune.search import tokenize
from contextune.tools import Catalog, ToolRetriever, bundled_toolbox
from contextune.tools.index import ToolIndex
from contextune.tools.query import ToolQuery
from contextune.types import Tool

TOOLS = [Tool(name, "", app=app) for app, name in (("Post", "send"), ("Post", "track"), ("Clock", "wake"))]
INDEX = ToolIndex.of(Catalog(TOOLS), np.stack([vector(tool.id) for tool in TOOLS]))


def example(name: str, kind: str, right: int, *, measured: bool = True) -> ToolExample:
    grades = {(right + 1) % 3: PLAUSIBLE, right: RIGHT}
    wish = ToolQuery(name, vector(name))
    return ToolExample(name, name.split("/")[0], 0, kind, INDEX, wish, grades, measured)


PEOPLE = [
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
    "learned": {name: ["wake", "track", "send"] for name in ("ann/1", "ann/2", "bob/1", "bob/2")},
}


def means(table: ResultTable, row: str, kind: str = "all") -> dict[str, float]:
    return {name: table.cell(row, name, kind).interval.mean for name in METRICS}


def test_a_hand_made_case() -> None:
    table = tool_table(PEOPLE, ROWS)
    assert table.rows == ("words", "learned")
    assert table.cell("words", "recall@1").n == 4
    assert means(table, "words") == pytest.approx(
        {"recall@1": 1 / 4, "recall@3": 3 / 4, "recall@5": 3 / 4, "recall@10": 3 / 4}
        | {"mrr": (1 / 3 + 1 / 2 + 1) / 4}
    )
    assert means(table, "learned") == pytest.approx(
        {"recall@1": 1 / 2, "recall@3": 1, "recall@5": 1, "recall@10": 1} | {"mrr": (1 / 3 + 1 / 2 + 2) / 4}
    )
    assert set(table.kinds) == {"habit", "place"}
    assert table.cell("words", "recall@1", "habit").n == 3
    assert means(table, "words", "habit")["recall@1"] == pytest.approx(1 / 3)
    assert means(table, "learned", "place")["recall@1"] == 0


def test_only_the_right_tool_counts() -> None:
    """Not those that could serve as well."""
    table = tool_table(PEOPLE, ROWS)
    assert table.qrels == {
        "ann/1": {"send": 1},
        "ann/2": {"track": 1},
        "bob/1": {"wake": 1},
        "bob/2": {"wake": 1},
    }


def test_the_same_by_application() -> None:
    table = tool_table(PEOPLE, ROWS, by="application")
    assert set(table.kinds) == {"Post", "Clock"}
    assert means(table, "learned", "Clock")["recall@1"] == 1
    assert means(table, "learned", "Post") == pytest.approx(
        {"recall@1": 0, "recall@3": 1, "recall@5": 1, "recall@10": 1} | {"mrr": (1 / 3 + 1 / 2) / 2}
    )


def test_rows_are_tested_against_the_learned_one() -> None:
    table = tool_table(PEOPLE, ROWS)
    assert table.cell("learned", "recall@1").p is None
    assert table.cell("words", "recall@1").p is not None
    alone = tool_table(PEOPLE, {"words": ROWS["words"]})
    assert alone.cell("words", "recall@1").p is None


@pytest.fixture
def folds(tmp_path: Path, word_embedder: Embedder) -> FoldVectors:
    return few_folds(tmp_path / "folds.npz", word_embedder)


@pytest.fixture
def people(folds: FoldVectors) -> list[ToolExample]:
    """With whatever comes first as the context found."""
    examples = from_folds(folds)
    return from_personas(folds, examples, [-np.arange(len(e.grades), dtype=np.float64) for e in examples])


def test_requests_are_asked_in_four_forms(folds: FoldVectors, people: list[ToolExample]) -> None:
    asked = ToolRequests.of(folds, people)
    names = [persona.name(query) for persona in folds.personas for query in persona.queries]
    forms = {"alone": asked.alone, "found": asked.found, "thought": asked.thought, "oracle": asked.oracle}
    for form, examples in forms.items():
        assert [one.name for one in examples] == names, form
    rows = {
        persona.name(query): (parts["bare"][number], parts["augmented"][number], persona, query)
        for persona, parts in folds
        for number, query in enumerate(persona.queries)
    }
    for alone, found, thought, oracle in zip(*forms.values(), strict=True):
        bare, augmented, persona, query = rows[alone.name]
        assert alone.wish.context is None
        assert thought.wish.context is None
        np.testing.assert_array_equal(alone.wish.vector, bare)
        np.testing.assert_array_equal(found.wish.vector, bare)
        np.testing.assert_array_equal(oracle.wish.vector, bare)
        np.testing.assert_array_equal(thought.wish.vector, augmented)
        assert found.wish.context is not None
        assert oracle.wish.context is not None
        gold = query.gold.relevant or {}
        given = [item.id for item in oracle.wish.context.items]
        assert set(given) <= gold.keys()
        assert len(given) == min(5, len(gold))
        assert [gold[name] for name in given] == sorted((gold[name] for name in given), reverse=True)
        assert {item.id for item in found.wish.context.items} <= {item.id for item in persona.items}


def test_every_row_ranks_every_api(
    folds: FoldVectors, people: list[ToolExample], word_embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipe, "SETTINGS", RankerSettings(rounds=3, seeds=1, smallest_leaf=5))
    rows = tool_rows(folds, people, [], word_embedder)
    assert list(rows) == [
        "BM25T",
        UNTUNED,
        f"{UNTUNED}, with the context found",
        "tuned embedder",
        "tuned embedder, with the context found",
        "learned",
        "learned, with CoT",
        "learned, with the right context",
        WITH_CONTEXT,
    ]
    toolbox = bundled_toolbox()
    names = [tool.name for tool in toolbox]
    asked = {one.name: one for one in people if one.measured}
    for row, run in rows.items():
        assert run.keys() == asked.keys(), row
        assert all(sorted(found) == sorted(names) for found in run.values()), row
    # the made vectors are those of the embedder that stands in for the untuned one
    assert rows[UNTUNED] == rows["tuned embedder"]
    assert rows["tuned embedder"] != rows["tuned embedder, with the context found"]
    assert len({str(rows[row]) for row in list(rows)[5:]}) == 4
    index = ToolIndex.build(Catalog(replace(tool, examples=()) for tool in toolbox), word_embedder)
    for name, one in asked.items():
        said = word_embedder.embed([one.wish.text])[0]
        best = index.vectors @ said
        assert best[names.index(rows["tuned embedder"][name][0])] == best.max()
        lexical = index.fields["all"].scores(tokenize(one.wish.text))
        assert lexical[names.index(rows["BM25T"][name][0])] == lexical.max()
    plugged_in = ToolRetriever(toolbox, word_embedder, method="semantic")
    for name, one in asked.items():
        context = one.wish.context
        assert context is not None
        said = replace(context, vectors=word_embedder.embed([item.text for item in context.items]))
        hits = plugged_in.search(one.wish.text, len(names), context=said)
        like = {hit.tool.name: hit.score for hit in hits}
        ranked = [like[tool] for tool in rows[f"{UNTUNED}, with the context found"][name]]
        np.testing.assert_allclose(ranked, [hit.score for hit in hits], atol=1e-6)  # ties in any order
    table = tool_table(people, rows)
    assert table.cell("learned", "recall@10").n == len(asked)
    assert table.cell(WITH_CONTEXT, "recall@10").p is not None


def test_without_an_untuned_embedder_its_rows_are_left_out(
    folds: FoldVectors, people: list[ToolExample], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipe, "SETTINGS", RankerSettings(rounds=1, seeds=1, smallest_leaf=5))
    told: list[tuple[int, int]] = []
    rows = tool_rows(folds, people, [], None, progress=lambda done, total: told.append((done, total)))
    assert not any(row.startswith(UNTUNED) for row in rows)
    assert told[-1] == (5, 5)
