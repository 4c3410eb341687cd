"""Training the ranker of tools and what says that none fits, on few examples and quick settings."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.lab.train.tiny_tools import QUICK, vector

from contextune.datasets import plain_requests
from contextune.embed import Embedder
from contextune.lab.train.embedder.data import FOLDS
from contextune.lab.train.rankers import tools as recipe
from contextune.lab.train.rankers.tool_examples import (
    PLAUSIBLE,
    RIGHT,
    ToolExample,
    without_context,
)
from contextune.lab.train.rankers.tools import AbstentionData, FeaturedExample, by_fold, context_model, shown
from contextune.rank import Ranker
from contextune.tools import Catalog, ToolRanker, ToolRetriever, bundled_toolbox
from contextune.tools.abstain import INPUTS
from contextune.tools.features import NAMES
from contextune.tools.index import ToolIndex
from contextune.tools.query import ToolQuery
from contextune.types import Tool

PLAIN = plain_requests()[::25]


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "SETTINGS", QUICK)
    monkeypatch.setattr(recipe, "plain_requests", lambda: PLAIN)


def test_features_line_up_with_grades(people: list[ToolExample], public: list[ToolExample]) -> None:
    for example in (people[0], public[0]):
        one = FeaturedExample.of(example)
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


def catalogue(*tools: tuple[str, str], wanted: int, like: float = 0.0) -> FeaturedExample:
    """A request to tools of (server, name), the first two of which are so much alike."""
    vectors = np.stack([vector(*tool) for tool in tools])
    across = vectors[1] - (vectors[1] @ vectors[0]) * vectors[0]
    vectors[1] = like * vectors[0] + np.sqrt(1 - like**2) * across / np.linalg.norm(across)
    catalog = Catalog([Tool(name, f"{server} {name}", app=server) for server, name in tools])
    index = ToolIndex.of(catalog, vectors)
    wish = ToolQuery("do it", vector("do it"))
    return FeaturedExample.of(ToolExample("q", "made", 0, "made", index, wish, {wanted: RIGHT}))


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
    doubts = AbstentionData.of(examples, by_fold(examples), word_embedder)
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
    doubts = AbstentionData.of(examples, by_fold(examples), word_embedder)
    plain = doubts.rows[np.array(doubts.source) == "plain"]
    with_context = plain[:, INPUTS.index("has context")]
    assert with_context.tolist() == [0] * len(PLAIN) + [1] * len(PLAIN)
    alone, placed = np.split(plain[:, INPUTS.index("length")], 2)
    np.testing.assert_array_equal(alone, placed)  # the same requests in the same order


def test_a_doubt_is_judged_by_what_has_not_seen_it() -> None:
    draw = np.random.default_rng(0)
    rows, fold = draw.normal(size=(200, len(INPUTS))), draw.integers(0, FOLDS, 200)
    fits = rows[:, 0] + 0.3 * draw.normal(size=200) > 0
    doubts = AbstentionData(rows, fits, fold, ("made",) * 200)
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
    kept = [request for number, request in enumerate(PLAIN) if number % FOLDS]
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
