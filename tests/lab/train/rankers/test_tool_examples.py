"""What the search for tools is learnt from: requests of personas with context, and public ones with pasts."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.lab.train.tiny_tools import QUICK, few_folds, public_rows, vector

from contextune.embed import Embedder
from contextune.errors import InvalidDataError
from contextune.lab.public_data.folds import folded
from contextune.lab.public_data.toolset import LabelledRequest, Toolset
from contextune.lab.train.embedder.data import FOLDS
from contextune.lab.train.embedder.fold_vectors import FoldVectors
from contextune.lab.train.rankers import context as context_recipe
from contextune.lab.train.rankers import tool_examples
from contextune.lab.train.rankers.tool_examples import (
    PLAUSIBLE,
    RIGHT,
    PublicVectors,
    ToolExample,
    from_public,
    people_examples,
    public_examples,
    without_context,
)
from contextune.tools import bundled_toolbox
from contextune.tools.query import QueryContext
from contextune.tools.tool_text import tool_text
from contextune.types import Tool


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context_recipe, "SETTINGS", QUICK)
    monkeypatch.setattr(tool_examples, "SECOND", QUICK)


def test_personas_bring_their_context_and_the_tools_that_serve(
    folds: FoldVectors, people: list[ToolExample]
) -> None:
    found = {example.name: example for example in people}
    toolbox = bundled_toolbox()
    names = [tool.name for tool in toolbox]
    for persona, parts in folds:
        for number, query in enumerate(persona.queries):
            example = found[persona.name(query)]
            assert (example.group, example.fold) == (persona.id, folds.fold[persona.id])
            assert example.kind == query.gold.kind
            assert example.measured == (persona in folds.personas)
            grades = {names[place]: grade for place, grade in example.grades.items()}
            assert grades.pop(query.gold.api or "") == RIGHT
            assert grades == dict.fromkeys((query.gold.tools or ())[1:], PLAUSIBLE)
            np.testing.assert_array_equal(example.wish.vector, parts["bare"][number])
            np.testing.assert_array_equal(example.index.vectors, parts["tools"])
            assert list(example.index.catalog) == toolbox
            assert example.wish.context
            gold, context = query.gold.relevant or {}, example.wish.context
            first = [item.id for item in context.items[: len(gold)]]
            assert set(first) <= set(gold) or len(first) < len(gold)
            assert len(context.items) <= QueryContext.MOST
            place = {item.id: row for item, row in zip(persona.items, parts["items"], strict=True)}
            for item, row in zip(context.items, context.vectors, strict=True):
                np.testing.assert_array_equal(row, place[item.id])
    assert len(found) == len(people) == sum(len(persona.queries) for persona in folds.everybody)


def test_context_can_be_taken_away(people: list[ToolExample]) -> None:
    bare = without_context(people[0])
    assert people[0].wish.context is not None
    assert bare.wish.context is None
    assert (bare.name, bare.wish.text, bare.grades) == (people[0].name, people[0].wish.text, people[0].grades)


def test_context_is_found_by_what_has_not_seen_the_persona(tmp_path: Path, word_embedder: Embedder) -> None:
    """With other items right for one persona, its own context is found as before."""
    folds = few_folds(tmp_path / "three.npz", word_embedder, 3)
    first, *others = folds.personas
    queries = tuple(
        replace(query, gold=replace(query.gold, relevant={item.id: 2}))
        for query, item in zip(first.queries, first.items, strict=False)
    )
    turned = replace(folds, personas=[replace(first, queries=queries), *others])

    def contexts(found: FoldVectors) -> dict[str, list[str]]:
        return {
            example.name: [item.id for item in example.wish.context.items]
            for example in people_examples(found)
            if example.wish.context
        }

    before, after = contexts(folds), contexts(turned)
    assert before.keys() == after.keys()
    changed = {name.split("/")[0] for name in before if before[name] != after[name]}
    assert changed
    assert first.id not in changed


def test_public_requests_have_their_own_vectors(tmp_path: Path, toolsets: list[Toolset]) -> None:
    rows: dict[str, Any] = {n: 3 * row.astype(np.float16) for n, row in public_rows(toolsets).items()}
    np.savez(tmp_path / "public.npz", **rows)
    found = public_examples(tmp_path, tmp_path / "public.npz")
    asked = {(toolset.name, query.text): query for toolset in toolsets for query in toolset.queries}
    tools = {toolset.name: toolset.tools for toolset in toolsets}
    assert {(one.group, one.wish.text) for one in found} == set(asked)  # all are few enough to be kept
    assert {one.fold for one in found} == set(range(FOLDS))
    for one in found:
        query = asked[one.group, one.wish.text]
        assert one.kind == one.group
        assert one.grades == dict.fromkeys(query.relevant, RIGHT)
        assert tuple(one.index.catalog) == tools[one.group]
        assert float(one.wish.vector @ vector(one.fold, query.text)) == pytest.approx(1, abs=1e-3)
        for tool, row in zip(one.index.catalog, one.index.vectors, strict=True):
            assert float(row @ vector(one.fold, tool_text(tool))) == pytest.approx(1, abs=1e-3)
    assert len({one.name for one in found}) == len(found)


def test_a_fold_is_judged_on_what_its_embedder_has_not_seen(
    toolsets: list[Toolset], public: list[ToolExample]
) -> None:
    hidden = {(s.name, query["text"]): query["folds"] for s in toolsets for query in folded(s, FOLDS)}
    assert all(one.fold in hidden[one.group, one.wish.text] for one in public)


def test_pasts_are_of_other_requests(toolsets: list[Toolset], public: list[ToolExample]) -> None:
    known = {
        (toolset.name, fold, vector(fold, query.text).tobytes()): query
        for toolset in toolsets
        for query in toolset.queries
        for fold in range(FOLDS)
    }
    uses = wrong = 0
    for one in public:
        past = one.wish.past
        if past is None:
            continue
        for tool, row, age, ok in zip(past.tool, past.vectors, past.age, past.ok, strict=True):
            query = known[one.group, one.fold, row.tobytes()]
            assert query.text != one.wish.text
            assert (int(tool) in query.relevant) == bool(ok)
            assert age > 0
            uses, wrong = uses + 1, wrong + (not ok)
    with_past = sum(one.wish.past is not None for one in public) / len(public)
    assert 0.35 < with_past < 0.65
    assert 0 < wrong < uses / 3


def test_a_request_made_twice_is_not_its_own_past() -> None:
    """Some data has the same words under two ids."""
    tools = tuple(Tool(f"tool {n}", "") for n in range(4))
    twice = [LabelledRequest(str(n), f"request {n % 20}", frozenset({n % 4}), "train") for n in range(40)]
    toolset = Toolset("metatool", tools, tuple(twice))
    for seed in range(8):
        for one in from_public([toolset], PublicVectors(public_rows([toolset])), seed=seed):
            if one.wish.past is not None:
                assert not (one.wish.past.vectors @ one.wish.vector > 0.99).any()


def test_a_fold_may_have_one_request_only() -> None:
    toolset = Toolset(
        "metatool", (Tool("only", ""),), (LabelledRequest("q", "alone", frozenset({0}), "train"),)
    )
    for seed in range(8):
        found = from_public([toolset], PublicVectors(public_rows([toolset])), seed=seed)
        assert [one.wish.text for one in found] == ["alone"]
        assert not found[0].wish.past


def test_the_same_seed_draws_the_same_pasts(toolsets: list[Toolset]) -> None:
    vectors = PublicVectors(public_rows(toolsets))

    def drawn(seed: int) -> list[list[int] | None]:
        found = from_public(toolsets, vectors, seed=seed)
        return [one.wish.past.tool.tolist() if one.wish.past is not None else None for one in found]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_vectors_of_other_data_are_refused(tmp_path: Path, toolsets: list[Toolset]) -> None:
    rows = public_rows(toolsets)
    for name in ("2/toollens queries", "2/toollens tools"):
        for changed in (rows[name][1:], np.vstack([rows[name], rows[name][:1]])):
            with pytest.raises(InvalidDataError, match="2/toollens"):
                from_public(toolsets, PublicVectors({**rows, name: changed}))
    with pytest.raises(InvalidDataError, match="4/metatool tools"):
        from_public(toolsets, PublicVectors({n: r for n, r in rows.items() if n != "4/metatool tools"}))


def test_what_is_no_file_of_vectors_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "vectors.npz"
    with pytest.raises(InvalidDataError, match=r"vectors\.npz: is no file of public vectors"):
        PublicVectors.read(file)
    for content in (b"", b"text", b"PK\x03\x04 cut off"):
        file.write_bytes(content)
        with pytest.raises(InvalidDataError, match=r"vectors\.npz: is no file of public vectors"):
            PublicVectors.read(file)
    np.save(tmp_path / "one.npy", np.ones((2, 2)))
    with pytest.raises(InvalidDataError, match=r"one\.npy: is no file of public vectors"):
        PublicVectors.read(tmp_path / "one.npy")
