"""Untuned methods on the inputs of the tuned rows."""

from dataclasses import replace

import pytest

from contextune.datasets import Persona, Query, bundled_persona_file, read_persona
from contextune.embed import Embedder
from contextune.search import tokenize
from contextune_lab.bench.quality import same_inputs
from contextune_lab.bench.quality.context import run_methods
from contextune_lab.bench.quality.same_inputs import EnrichedPersona, same_input_rows
from contextune_lab.train.embedder.data import item_texts, situation_text


@pytest.fixture(scope="module")
def personas() -> list[Persona]:
    return [read_persona(bundled_persona_file(name)) for name in ("a01", "b06")]


def test_semantic_row_is_what_the_tuner_computes_with_an_untuned_embedder(
    personas: list[Persona], word_embedder: Embedder
) -> None:
    rows = same_input_rows(personas, word_embedder, {})
    tuner = run_methods(personas, ["situated", "semantic"], embedder=word_embedder)
    enriched = {persona.id: EnrichedPersona.build(persona, word_embedder) for persona in personas}
    for name, ranking in rows["Semantic search"].items():
        # equal similarities may be in another order
        persona = enriched[name.split("/")[0]]
        position = {item.id: n for n, item in enumerate(persona.persona.items)}
        ours, theirs = (
            [tuple(persona.vectors[position[item]].tolist()) for item in run]
            for run in (ranking, tuner["situated"][name])
        )
        assert sorted(ranking) == sorted(tuner["situated"][name])
        assert ours[:5] == theirs[:5]
    assert rows["Semantic search"] != tuner["semantic"]


def test_bm25_reads_the_moment_and_the_enriched_text(
    personas: list[Persona], word_embedder: Embedder
) -> None:
    persona = personas[0]
    enriched = EnrichedPersona.build(persona, word_embedder)
    texts = item_texts(persona)
    only_enriched = 0
    for query in persona.queries:
        moment = set(tokenize(situation_text(query)))
        best, _ = enriched.bm25(replace(query, text=""))[0]
        assert moment & set(tokenize(texts[best]))
        only_enriched += not moment & set(tokenize(persona.items[best].text))
    assert only_enriched


def test_bm25_differs_from_the_method_in_its_inputs_alone(
    personas: list[Persona], word_embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def plain_texts(persona: Persona) -> list[str]:
        return [item.text for item in persona.items]

    def no_situation(_: Query) -> str:
        return ""

    monkeypatch.setattr(same_inputs, "item_texts", plain_texts)
    monkeypatch.setattr(same_inputs, "situation_text", no_situation)
    method = run_methods(personas, ["bm25"], embedder=word_embedder)["bm25"]
    for persona in personas:
        plain = EnrichedPersona.build(persona, word_embedder)
        for query in persona.queries:
            scored = plain.bm25(query)
            matching = plain.ids([row for row, score in scored if score > 0])
            # items without a match are tied
            assert matching == method[persona.name(query)][: len(matching)]


def test_every_method_ranks_all_visible_items_and_each_thought_counts(
    personas: list[Persona], word_embedder: Embedder
) -> None:
    names = {persona.name(query): (persona, query) for persona in personas for query in persona.queries}
    thoughts = {
        "authored": {name: query.gold.cot or "" for name, (_, query) in names.items()},
        "silent": dict.fromkeys(names, ""),
    }
    calls: list[tuple[int, int]] = []
    rows = same_input_rows(
        personas, word_embedder, thoughts, progress=lambda done, total: calls.append((done, total))
    )
    assert list(rows) == ["BM25T", "Semantic search", "Hybrid, RRF", "authored", "silent"]
    assert calls == [(1, 2), (2, 2)]
    for run in rows.values():
        for name, (persona, query) in names.items():
            assert sorted(run[name]) == sorted(persona.items[n].id for n in persona.visible(query))
    assert rows["silent"] == rows["Semantic search"] != rows["authored"]
