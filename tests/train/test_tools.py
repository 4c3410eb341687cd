"""Training the ranker of tools and what says that none fits, on few examples and quick settings."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.train.tiny_tools import few_folds, public_rows, vector, world

from contextune.embed import Embedder
from contextune.errors import InvalidDataError
from contextune.rank import Ranker, Settings
from contextune.sources import plain_requests
from contextune.tools import Catalog, ToolRanker, ToolRetriever, bundled_toolbox
from contextune.tools.abstain import INPUTS
from contextune.tools.features import NAMES
from contextune.tools.index import ToolIndex
from contextune.tools.text import tool_text
from contextune.tools.wish import Context, Wish
from contextune.train import ranker as context_recipe
from contextune.train import tool_examples
from contextune.train import tools as recipe
from contextune.train.embedder_data import FOLDS
from contextune.train.examples import from_folds
from contextune.train.fold_vectors import FoldVectors
from contextune.train.public_tools import folded, training_toolsets
from contextune.train.tool_examples import (
    PLAUSIBLE,
    RIGHT,
    PublicVectors,
    ToolExample,
    from_personas,
    from_public,
    people_examples,
    public_examples,
    without_context,
)
from contextune.train.tools import Doubts, Shown, by_fold, context_model, shown
from contextune.train.toolsets import ToolQuery, Toolset
from contextune.types import Tool

QUICK = Settings(rounds=3, seeds=1, smallest_leaf=5)
PLAIN = plain_requests()[::25]


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "SETTINGS", QUICK)
    monkeypatch.setattr(recipe, "plain_requests", lambda: PLAIN)
    monkeypatch.setattr(context_recipe, "SETTINGS", QUICK)
    monkeypatch.setattr(tool_examples, "SECOND", QUICK)


@pytest.fixture
def folds(tmp_path: Path, word_embedder: Embedder) -> FoldVectors:
    return few_folds(tmp_path / "folds.npz", word_embedder)


@pytest.fixture
def people(folds: FoldVectors) -> list[ToolExample]:
    """With the items they were written about as the context found."""
    examples = from_folds(folds)
    return from_personas(folds, examples, [example.grades.astype(np.float64) for example in examples])


@pytest.fixture
def toolsets(tmp_path: Path) -> list[Toolset]:
    return training_toolsets(world(tmp_path))


@pytest.fixture
def public(toolsets: list[Toolset]) -> list[ToolExample]:
    return from_public(toolsets, PublicVectors(public_rows(toolsets)))


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
            assert len(context.items) <= Context.MOST
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
    twice = [ToolQuery(str(n), f"request {n % 20}", frozenset({n % 4}), "train") for n in range(40)]
    toolset = Toolset("metatool", tools, tuple(twice))
    for seed in range(8):
        for one in from_public([toolset], PublicVectors(public_rows([toolset])), seed=seed):
            if one.wish.past is not None:
                assert not (one.wish.past.vectors @ one.wish.vector > 0.99).any()


def test_a_fold_may_have_one_request_only() -> None:
    toolset = Toolset("metatool", (Tool("only", ""),), (ToolQuery("q", "alone", frozenset({0}), "train"),))
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


def test_features_line_up_with_grades(people: list[ToolExample], public: list[ToolExample]) -> None:
    for example in (people[0], public[0]):
        one = Shown.of(example)
        assert one.group.matrix.shape == (len(one.places), len(NAMES))
        meaning = one.group.matrix[:, NAMES.index("meaning")]
        expected = example.index.vectors[one.places] @ example.wish.vector
        np.testing.assert_allclose(meaning, expected, rtol=1e-5, atol=1e-6)
        graded = {int(place): int(grade) for place, grade in zip(one.places, one.group.grades, strict=True)}
        assert {place: grade for place, grade in graded.items() if grade} == example.grades


def test_less_leaves_no_tool_of_a_server_that_serves(
    people: list[ToolExample], public: list[ToolExample]
) -> None:
    for one in shown([*people[::4], *map(without_context, people[::7]), *public[::4]]):
        index, bare = one.example.index, one.less()
        right = {place for place, grade in one.example.grades.items() if grade == RIGHT}
        servers = {index.catalog[place].app for place in right} - {""}
        left = set(map(int, bare.places))
        assert not left & right
        assert not servers & {index.catalog[place].app for place in left}
        assert left < set(map(int, one.places))
        assert bare.example.grades == {}
        assert not bare.group.grades.any()
        assert len(bare.group.matrix) == len(bare.places) == len(bare.group.grades)
        assert bare.example.wish is one.example.wish
        assert one.group.grades.any()  # what it was made from is as before


def test_less_leaves_no_tool_that_could_plausibly_serve(people: list[ToolExample]) -> None:
    for one in shown(people[::4]):
        assert PLAUSIBLE in one.example.grades.values()
        assert not set(map(int, one.less().places)) & one.example.grades.keys()


def catalogue(*tools: tuple[str, str], wanted: int, like: float = 0.0) -> Shown:
    """A request to tools of (server, name), the first two of which are so much alike."""
    vectors = np.stack([vector(*tool) for tool in tools])
    across = vectors[1] - (vectors[1] @ vectors[0]) * vectors[0]
    vectors[1] = like * vectors[0] + np.sqrt(1 - like**2) * across / np.linalg.norm(across)
    catalog = Catalog([Tool(name, f"{server} {name}", app=server) for server, name in tools])
    index = ToolIndex.of(catalog, vectors)
    wish = Wish("do it", vector("do it"))
    return Shown.of(ToolExample("q", "made", 0, "made", index, wish, {wanted: RIGHT}))


@pytest.mark.parametrize(("like", "left"), [(0.9, {2, 3}), (0.3, {1, 2, 3})])
def test_less_leaves_nothing_that_could_stand_in(like: float, left: set[int]) -> None:
    one = catalogue(("a", "send"), ("b", "post"), ("b", "read"), ("c", "list"), wanted=0, like=like)
    assert set(map(int, one.less().places)) == left


def test_tools_of_no_server_are_not_one_server() -> None:
    one = catalogue(("", "send"), ("", "read"), ("", "list"), wanted=0)
    assert set(map(int, one.less().places)) == {1, 2}


def test_less_may_leave_nothing_at_all(word_embedder: Embedder) -> None:
    bare = catalogue(("a", "send"), ("a", "read"), wanted=0).less()
    assert len(bare.places) == 0
    assert bare.group.matrix.shape == (0, len(NAMES))
    ranker = Ranker.fit([catalogue(("a", "x"), ("b", "y"), wanted=0).group] * 20, NAMES, QUICK)
    assert ranker.score(bare.group.matrix).shape == (0,)


def test_a_fold_is_ranked_by_what_has_not_seen_it(public: list[ToolExample]) -> None:
    """With the grades of one fold turned round, its ranker is the same and the others are not."""
    examples = shown(public[::2])
    turned = [
        replace(one, group=replace(one.group, grades=one.group.grades[::-1].copy()))
        if one.example.fold == 1
        else one
        for one in examples
    ]
    told: list[tuple[int, int]] = []
    before = by_fold(examples, progress=lambda done, total: told.append((done, total)))
    after = by_fold(turned)
    assert sorted(before) == list(range(FOLDS))
    assert told == [(n, FOLDS) for n in range(1, FOLDS + 1)]
    assert [fold for fold in before if before[fold].models == after[fold].models] == [1]


def test_a_request_with_nothing_right_teaches_nothing(public: list[ToolExample]) -> None:
    examples = shown(public[:40])
    assert recipe.fit([*examples, examples[0].less()]).models == recipe.fit(examples).models


def test_doubts_come_in_twos(
    people: list[ToolExample], public: list[ToolExample], word_embedder: Embedder
) -> None:
    people, public = people[::2], public[::4]
    examples = shown([*people, *public])
    doubts = Doubts.of(examples, by_fold(examples), word_embedder)
    source = np.array(doubts.source)
    assert set(doubts.source) == {"personas", "plain", "toolbench", "toollens", "metatool"}
    for name in set(doubts.source) - {"plain"}:
        assert doubts.fits[source == name].sum() == (~doubts.fits[source == name]).sum()
    assert (source == "personas").sum() == 2 * len(people)
    assert doubts.fits[source == "plain"].tolist() == 2 * [request.api is not None for request in PLAIN]
    assert doubts.rows.shape == (2 * len(examples) + 2 * len(PLAIN), len(INPUTS))
    assert len(doubts.fits) == len(doubts.fold) == len(doubts.source) == len(doubts.rows)
    ours = [one.example.fold for one in examples for _ in range(2)]
    assert doubts.fold.tolist() == ours + 2 * [number % FOLDS for number in range(len(PLAIN))]


def test_authored_requests_come_alone_and_with_somebodys_context(
    public: list[ToolExample], word_embedder: Embedder
) -> None:
    examples = shown(public[::6])
    doubts = Doubts.of(examples, by_fold(examples), word_embedder)
    plain = doubts.rows[np.array(doubts.source) == "plain"]
    with_context = plain[:, INPUTS.index("has context")]
    assert with_context.tolist() == [0] * len(PLAIN) + [1] * len(PLAIN)
    alone, placed = np.split(plain[:, INPUTS.index("length")], 2)
    np.testing.assert_array_equal(alone, placed)  # the same requests in the same order


def test_a_doubt_is_judged_by_what_has_not_seen_it() -> None:
    draw = np.random.default_rng(0)
    rows, fold = draw.normal(size=(200, len(INPUTS))), draw.integers(0, FOLDS, 200)
    fits = rows[:, 0] + 0.3 * draw.normal(size=200) > 0
    doubts = Doubts(rows, fits, fold, ("made",) * 200)
    chance = doubts.unseen()
    assert ((chance >= 0) & (chance <= 1)).all()
    assert chance[fits].mean() > 0.7 > 0.3 > chance[~fits].mean()
    turned = replace(doubts, fits=np.where(fold == 2, ~fits, fits))
    np.testing.assert_array_equal(turned.unseen()[fold == 2], chance[fold == 2])
    assert not np.array_equal(turned.unseen()[fold != 2], chance[fold != 2])


def test_what_leaves_things_out_is_told_from_what_says_all(
    people: list[ToolExample], word_embedder: Embedder
) -> None:
    implicit = np.stack([example.wish.vector for example in people])
    model = context_model(implicit, word_embedder)
    said = model.probability(word_embedder.embed([request.text for request in PLAIN]))
    needed = np.array([request.implicit for request in PLAIN])
    assert said[needed].mean() > said[~needed].mean()
    assert model.probability(implicit).mean() > 0.5
    without = context_model(implicit, word_embedder, but=0)
    assert not np.array_equal(model.weights, without.weights)
    kept = [request for number, request in enumerate(PLAIN) if number % 5]
    vectors = np.vstack([implicit, word_embedder.embed([request.text for request in kept])])
    np.testing.assert_allclose(without.mean, vectors.mean(0), atol=1e-6)


def test_training_twice_gives_the_same_bytes(
    tmp_path: Path, people: list[ToolExample], public: list[ToolExample], word_embedder: Embedder
) -> None:
    people, public = people[::2], public[::4]
    for name in ("one", "two"):
        made = recipe.train(people, public, word_embedder, {"embedder": word_embedder.name})
        made.save(tmp_path / name)
    files = sorted(file.name for file in (tmp_path / "one").iterdir())
    assert files == ["card.json", "tools.json.gz"]
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    loaded = ToolRanker.load(tmp_path / "one")
    shares = {float(share): chance for share, chance in loaded.abstain.thresholds.items()}
    ordered = [shares[share] for share in sorted(shares)]
    assert ordered == sorted(ordered, reverse=True)
    found = ToolRetriever(bundled_toolbox(), word_embedder, ranker=loaded).find("play me a song")
    assert found.fits is not None
    assert 0 < found.fits < 1
    assert len(found.hits) == 10
