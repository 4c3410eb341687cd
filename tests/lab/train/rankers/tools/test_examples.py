"""Training examples of the tool ranker: personas with context, public requests with past calls."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.lab.train.tiny_tools import QUICK, api, ask, few_folds, public_rows, vector, world, write

from contextune.embed import Embedder
from contextune.errors import InvalidDataError
from contextune.tools import bundled_toolbox
from contextune.tools.query import QueryContext
from contextune.tools.subqueries import split_subqueries
from contextune.tools.tool_text import tool_text
from contextune.types import Tool
from contextune_lab.public_data.folds import assign_folds
from contextune_lab.public_data.toolset import LabelledRequest, Toolset
from contextune_lab.train.embedder.data import FOLDS
from contextune_lab.train.embedder.fold_vectors import FoldVectors
from contextune_lab.train.rankers.context import train as context_recipe
from contextune_lab.train.rankers.tools.examples import (
    PLAUSIBLE,
    RIGHT,
    PublicVectors,
    ToolExample,
    from_public,
    persona_examples,
    public_examples,
    untrained_examples,
    without_context,
)


@pytest.fixture(autouse=True)
def fast_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context_recipe, "FIRST_PASS", QUICK)
    monkeypatch.setattr(context_recipe, "SECOND_PASS", QUICK)


def test_persona_examples_have_context_and_graded_tools(
    folds: FoldVectors, persona_requests: list[ToolExample]
) -> None:
    examples = {example.name: example for example in persona_requests}
    toolbox = bundled_toolbox()
    names = [tool.name for tool in toolbox]
    for persona, parts in folds:
        for number, query in enumerate(persona.queries):
            example = examples[persona.name(query)]
            assert (example.group, example.fold) == (persona.id, folds.fold[persona.id])
            assert example.kind == query.gold.kind
            assert example.measured == (persona in folds.personas)
            grades = {names[place]: grade for place, grade in example.grades.items()}
            assert grades.pop(query.gold.api or "") == RIGHT
            assert grades == dict.fromkeys((query.gold.tools or ())[1:], PLAUSIBLE)
            np.testing.assert_array_equal(example.query.vector, parts["bare"][number])
            np.testing.assert_array_equal(example.index.vectors, parts["tools"])
            assert list(example.index.catalog) == toolbox
            assert example.query.context
            gold, context = query.gold.relevant or {}, example.query.context
            first = [item.id for item in context.items[: len(gold)]]
            assert set(first) <= set(gold) or len(first) < len(gold)
            assert len(context.items) <= QueryContext.MAX_ITEMS
            place = {item.id: row for item, row in zip(persona.items, parts["items"], strict=True)}
            for item, row in zip(context.items, context.vectors, strict=True):
                np.testing.assert_array_equal(row, place[item.id])
    assert (
        len(examples) == len(persona_requests) == sum(len(persona.queries) for persona in folds.all_personas)
    )


def test_without_context_removes_only_the_context(persona_requests: list[ToolExample]) -> None:
    stripped = without_context(persona_requests[0])
    assert persona_requests[0].query.context is not None
    assert stripped.query.context is None
    assert (stripped.name, stripped.query.text, stripped.grades) == (
        persona_requests[0].name,
        persona_requests[0].query.text,
        persona_requests[0].grades,
    )


def test_context_comes_from_out_of_fold_rankers(tmp_path: Path, word_embedder: Embedder) -> None:
    """With other gold items for one persona, that persona's context stays the same."""
    folds = few_folds(tmp_path / "three.npz", word_embedder, 3)
    first, *others = folds.personas
    queries = tuple(
        replace(query, gold=replace(query.gold, relevant={item.id: 2}))
        for query, item in zip(first.queries, first.items, strict=False)
    )
    turned = replace(folds, personas=[replace(first, queries=queries), *others])

    def contexts(examples: FoldVectors) -> dict[str, list[str]]:
        return {
            example.name: [item.id for item in example.query.context.items]
            for example in persona_examples(examples)
            if example.query.context
        }

    before, after = contexts(folds), contexts(turned)
    assert before.keys() == after.keys()
    changed = {name.split("/")[0] for name in before if before[name] != after[name]}
    assert changed
    assert first.id not in changed


def test_public_examples_have_vectors_of_their_fold(tmp_path: Path, toolsets: list[Toolset]) -> None:
    rows: dict[str, Any] = {n: 3 * row.astype(np.float16) for n, row in public_rows(toolsets).items()}
    world(tmp_path)
    np.savez(tmp_path / "public.npz", **rows)
    examples = public_examples(tmp_path, tmp_path / "public.npz")
    queries = {(toolset.name, query.text): query for toolset in toolsets for query in toolset.queries}
    tools = {toolset.name: toolset.tools for toolset in toolsets}
    assert {(public_example.group, public_example.query.text) for public_example in examples} == set(
        queries
    )  # all are few enough to be kept
    assert {public_example.fold for public_example in examples} == set(range(FOLDS))
    for public_example in examples:
        query = queries[public_example.group, public_example.query.text]
        assert public_example.kind == public_example.group
        assert public_example.grades == dict.fromkeys(query.relevant, RIGHT)
        assert tuple(public_example.index.catalog) == tools[public_example.group]
        assert float(public_example.query.vector @ vector(public_example.fold, query.text)) == pytest.approx(
            1, abs=1e-3
        )
        for tool, row in zip(public_example.index.catalog, public_example.index.vectors, strict=True):
            assert float(row @ vector(public_example.fold, tool_text(tool))) == pytest.approx(1, abs=1e-3)
    assert len({public_example.name for public_example in examples}) == len(examples)


def test_public_examples_are_unseen_by_their_embedder(
    toolsets: list[Toolset], public_requests: list[ToolExample]
) -> None:
    hidden = {(s.name, query["text"]): query["folds"] for s in toolsets for query in assign_folds(s, FOLDS)}
    assert all(
        public_example.fold in hidden[public_example.group, public_example.query.text]
        for public_example in public_requests
    )


def test_past_calls_come_from_other_requests(
    toolsets: list[Toolset], public_requests: list[ToolExample]
) -> None:
    queries_by_vector = {
        (toolset.name, fold, vector(fold, query.text).tobytes()): query
        for toolset in toolsets
        for query in toolset.queries
        for fold in range(FOLDS)
    }
    uses = wrong = 0
    for public_example in public_requests:
        past = public_example.query.past_calls
        if past is None:
            continue
        for tool, row, age, ok in zip(past.tool, past.vectors, past.age, past.ok, strict=True):
            query = queries_by_vector[public_example.group, public_example.fold, row.tobytes()]
            assert query.text != public_example.query.text
            assert (int(tool) in query.relevant) == bool(ok)
            assert age > 0
            uses, wrong = uses + 1, wrong + (not ok)
    with_past = sum(public_example.query.past_calls is not None for public_example in public_requests) / len(
        public_requests
    )
    assert 0.35 < with_past < 0.65
    assert 0 < wrong < uses / 3


def test_repeated_request_is_not_its_own_past() -> None:
    """Some datasets have the same text under two ids."""
    tools = tuple(Tool(f"tool {n}", "") for n in range(4))
    twice = [LabelledRequest(str(n), f"request {n % 20}", frozenset({n % 4}), "train") for n in range(40)]
    toolset = Toolset("metatool", tools, tuple(twice))
    for seed in range(8):
        for public_example in from_public([toolset], PublicVectors(public_rows([toolset])), seed=seed):
            if public_example.query.past_calls is not None:
                assert not (
                    public_example.query.past_calls.vectors @ public_example.query.vector > 0.99
                ).any()


def test_fold_with_a_single_request_has_no_past() -> None:
    toolset = Toolset(
        "metatool", (Tool("only", ""),), (LabelledRequest("q", "alone", frozenset({0}), "train"),)
    )
    for seed in range(8):
        examples = from_public([toolset], PublicVectors(public_rows([toolset])), seed=seed)
        assert [public_example.query.text for public_example in examples] == ["alone"]
        assert not examples[0].query.past_calls


def test_same_seed_samples_same_past_calls(toolsets: list[Toolset]) -> None:
    vectors = PublicVectors(public_rows(toolsets))

    def past_tools(seed: int) -> list[list[int] | None]:
        examples = from_public(toolsets, vectors, seed=seed)
        return [
            public_example.query.past_calls.tool.tolist()
            if public_example.query.past_calls is not None
            else None
            for public_example in examples
        ]

    assert past_tools(1) == past_tools(1)
    assert past_tools(1) != past_tools(2)


def test_vectors_of_other_data_are_rejected(tmp_path: Path, toolsets: list[Toolset]) -> None:
    rows = public_rows(toolsets)
    for name in ("2/toollens queries", "2/toollens tools"):
        for changed in (rows[name][1:], np.vstack([rows[name], rows[name][:1]])):
            with pytest.raises(InvalidDataError, match="2/toollens"):
                from_public(toolsets, PublicVectors({**rows, name: changed}))
    with pytest.raises(InvalidDataError, match="4/metatool tools"):
        from_public(toolsets, PublicVectors({n: r for n, r in rows.items() if n != "4/metatool tools"}))


def test_file_without_public_vectors_is_rejected(tmp_path: Path) -> None:
    file = tmp_path / "vectors.npz"
    with pytest.raises(InvalidDataError, match=r"vectors\.npz: not a file of public vectors"):
        PublicVectors.read(file)
    for content in (b"", b"text", b"PK\x03\x04 cut off"):
        file.write_bytes(content)
        with pytest.raises(InvalidDataError, match=r"vectors\.npz: not a file of public vectors"):
            PublicVectors.read(file)
    np.save(tmp_path / "one.npy", np.ones((2, 2)))
    with pytest.raises(InvalidDataError, match=r"one\.npy: not a file of public vectors"):
        PublicVectors.read(tmp_path / "one.npy")


LONG = "Find a cheap flight to Oslo. Also, book a good hotel."


def test_parts_have_vectors_of_their_fold() -> None:
    tools = tuple(Tool(f"t{n}", f"does {n}", app=f"s{n}") for n in range(4))
    queries = (
        LabelledRequest("q0", LONG, frozenset({0, 1}), "train"),
        LabelledRequest("q1", "only one thing", frozenset({2}), "train"),
    )
    toolset = Toolset("metatool", tools, queries)
    rows = public_rows([toolset])
    whole = {example.query.text: example.query for example in from_public([toolset], PublicVectors(rows))}
    assert not any(query.parts for query in whole.values())  # a file without parts
    parts = split_subqueries(LONG)
    for fold in range(FOLDS):
        divided = [q["text"] for q in assign_folds(toolset, FOLDS) if q["kept"] == fold and q["text"] == LONG]
        rows[f"{fold}/metatool parts"] = np.reshape(
            [vector(part) for _ in divided for part in parts], (-1, 64)
        )
    queries_by_text = {
        example.query.text: example.query for example in from_public([toolset], PublicVectors(rows))
    }
    assert [part.text for part in queries_by_text[LONG].parts] == list(parts)
    for part in queries_by_text[LONG].parts:
        expected = vector(part.text) + 0.5 * whole[LONG].vector
        np.testing.assert_allclose(part.vector, expected / np.linalg.norm(expected), atol=1e-5)
    assert queries_by_text["only one thing"].parts == ()


def test_untrained_catalogues_are_embedded(tmp_path: Path, word_embedder: Embedder) -> None:
    assert untrained_examples(tmp_path, word_embedder) == []
    requests = [ask(LONG, "multiple", "air.find"), ask("nothing to do", "multiple")]
    write(tmp_path / "bfcl", [api("air", "find"), api("inn", "book")], requests)
    (example,) = untrained_examples(tmp_path, word_embedder)
    assert (example.source, example.family, example.holdout) == ("bfcl", "bfcl", "bfcl")
    assert example.grades == {0: RIGHT}
    assert len(example.query.parts) == 2
    np.testing.assert_allclose(example.query.vector, word_embedder.embed([LONG])[0])


def test_holdouts_are_families_of_catalogues_and_folds_of_personas(
    persona_requests: list[ToolExample], public_requests: list[ToolExample]
) -> None:
    assert {example.holdout for example in public_requests} == {"rapidapi", "metatool"}
    assert all(example.holdout == f"personas {example.fold}" for example in persona_requests)
