"""Context retrieval benchmark on some personas: minimum results, CoT row."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from contextune.context.chain_of_thought import ChainOfThought
from contextune.datasets import Gold, bundled_personas
from contextune.embed import Embedder
from contextune.errors import InvalidDataError
from contextune.evaluate.results import ResultTable
from contextune.llm import ChatReply, Draft, Message
from contextune_lab.bench.quality.context import (
    PAPER,
    TITLES,
    QueryJudgements,
    context_table,
    language_model_cot_row,
    run_methods,
    untuned_rows,
)
from contextune_lab.bench.untuned_embedder import untuned_embedder


@pytest.fixture(scope="module")
def table() -> ResultTable:
    personas = bundled_personas()[::14]
    runs = run_methods(personas, ("bm25", "semantic"), embedder=untuned_embedder())
    return context_table(personas, {TITLES[method]: run for method, run in runs.items()})


@pytest.mark.parametrize(
    ("row", "metric", "minimum"),
    [
        ("BM25T", "recall@3", 0.11),
        ("Semantic search", "recall@3", 0.34),
        ("Semantic search", "recall@10", 0.66),
    ],
)
def test_untuned_rows_reach_minimum_recall(table: ResultTable, row: str, metric: str, minimum: float) -> None:
    assert table.cell(row, metric).interval.mean >= minimum


def test_semantic_search_beats_bm25_as_in_the_paper(table: ResultTable) -> None:
    bm25, semantic = (table.cell(row, "recall@3") for row in ("BM25T", "Semantic search"))
    assert bm25.interval.high < semantic.interval.low
    assert bm25.n == semantic.n == 56


def test_every_kind_of_query_is_measured(table: ResultTable) -> None:
    assert set(table.kinds) == {"semantic", "temporal", "place", "habit", "recency", "person", "cross"}


def test_untuned_rows_rank_every_query(word_embedder: Embedder) -> None:
    personas = bundled_personas()[:2]
    rows = untuned_rows(personas, word_embedder)
    titles = ["BM25T", "Semantic search", "Hybrid, RRF", "CoT augmentation", "CoT by a large model"]
    assert list(rows) == [row for title in titles for row in (title, f"{title}, same inputs")]
    names = {persona.name(query) for persona in personas for query in persona.queries}
    assert all(run.keys() == names for run in rows.values())
    assert len({str(run) for run in rows.values()}) == len(rows)


def test_paper_values_are_fractions() -> None:
    assert PAPER["LambdaMART-RRF"]["recall@3"] == pytest.approx(0.8127)
    assert all(0 < value < 1 for row in PAPER.values() for value in row.values())


def test_query_without_gold_is_rejected() -> None:
    persona = bundled_personas()[0]
    bare = replace(persona, queries=(replace(persona.queries[0], gold=Gold()),))
    with pytest.raises(InvalidDataError, match="a01/q1"):
        QueryJudgements.from_personas([bare])


class FixedModel:
    """A model that answers questions only."""

    name = "sure"

    def ask(self, messages: Sequence[Message], *_: object, **__: object) -> ChatReply:
        question = messages[-1].content
        return ChatReply((Draft("An event of the Calendar." if "?" in question else "I cannot say."),))


def test_language_model_cot_changes_the_ranking(word_embedder: Embedder) -> None:
    personas, chain = bundled_personas()[:2], ChainOfThought(FixedModel())
    texts = [query.text for persona in personas for query in persona.queries]
    plain = run_methods(personas, ["semantic"], embedder=word_embedder)["semantic"]
    row = language_model_cot_row(personas, word_embedder, chain)
    assert row.keys() == plain.keys()
    assert chain.failures == sum("?" not in text for text in texts)
    changed = [name for name in row if row[name] != plain[name]]
    assert 0 < len(changed) <= sum("?" in text for text in texts)
