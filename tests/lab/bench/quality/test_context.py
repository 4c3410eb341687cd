"""The benchmark of context on a third of the bundled personas: floors that show that nothing is broken."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from contextune.context.chain_of_thought import ChainOfThought
from contextune.datasets import Gold, bundled_personas
from contextune.embed import Embedder
from contextune.errors import InvalidDataError
from contextune.evaluate.results import ResultTable
from contextune.lab.bench.quality.context import (
    PAPER,
    QueryJudgements,
    context_table,
    run_methods,
    thought_row,
    untuned_rows,
)
from contextune.lab.bench.untuned_embedder import untuned_embedder
from contextune.llm import ChatReply, Draft, Message


@pytest.fixture(scope="module")
def table() -> ResultTable:
    personas = bundled_personas()[::3]
    return context_table(personas, untuned_rows(personas, untuned_embedder()))


@pytest.mark.parametrize(
    ("row", "metric", "floor"),
    [
        ("BM25T", "recall@3", 0.14),
        ("Semantic search", "recall@3", 0.32),
        ("Semantic search", "recall@10", 0.62),
    ],
)
def test_the_floors_hold(table: ResultTable, row: str, metric: str, floor: float) -> None:
    assert table.cell(row, metric).interval.mean >= floor


def test_meaning_beats_words_as_in_the_paper(table: ResultTable) -> None:
    words, meaning = (table.cell(row, "recall@3") for row in ("BM25T", "Semantic search"))
    assert words.interval.high < meaning.interval.low
    assert words.n == meaning.n == 260


def test_every_kind_is_there(table: ResultTable) -> None:
    assert set(table.kinds) == {"semantic", "temporal", "place", "habit", "recency", "person", "cross"}


def test_the_papers_figures_are_fractions() -> None:
    assert PAPER["LambdaMART-RRF"]["recall@3"] == pytest.approx(0.8127)
    assert all(0 < value < 1 for row in PAPER.values() for value in row.values())


def test_a_query_without_gold_is_refused() -> None:
    persona = bundled_personas()[0]
    bare = replace(persona, queries=(replace(persona.queries[0], gold=Gold()),))
    with pytest.raises(InvalidDataError, match="a01/q1"):
        QueryJudgements.of([bare])


class Sure:
    """A model that knows one thing, and at times nothing."""

    name = "sure"

    def ask(self, messages: Sequence[Message], *_: object, **__: object) -> ChatReply:
        said = messages[-1].content
        return ChatReply((Draft("An event of the Calendar." if "?" in said else "I cannot say."),))


def test_cot_of_a_language_model_is_a_row_of_its_own(word_embedder: Embedder) -> None:
    people, chain = bundled_personas()[:2], ChainOfThought(Sure())
    asked = [query.text for persona in people for query in persona.queries]
    plain = run_methods(people, ["semantic"], embedder=word_embedder)["semantic"]
    row = thought_row(people, word_embedder, chain)
    assert row.keys() == plain.keys()
    assert chain.failures == sum("?" not in text for text in asked)
    changed = [name for name in row if row[name] != plain[name]]
    assert 0 < len(changed) <= sum("?" in text for text in asked)
