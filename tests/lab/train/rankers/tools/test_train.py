"""Training of the tool ranker and the abstention model, on few examples and with few rounds."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.lab.train.tiny_tools import QUICK, vector

from contextune.datasets import plain_requests
from contextune.embed import Embedder
from contextune.rank import Ranker
from contextune.tools import Catalog, ToolRanker, ToolRetriever, bundled_toolbox
from contextune.tools.abstain import FIT_INPUTS
from contextune.tools.features import FEATURE_NAMES
from contextune.tools.index import ToolIndex
from contextune.tools.query import ToolQuery
from contextune.types import Tool
from contextune_lab.train.embedder.data import FOLDS
from contextune_lab.train.rankers.tools import abstention
from contextune_lab.train.rankers.tools import train as recipe
from contextune_lab.train.rankers.tools.abstention import (
    AUTHORED,
    NO_SERVER,
    NO_TOOL,
    OTHER_CATALOGUE,
    SERVED,
    TWINS_LEFT,
    AbstentionData,
)
from contextune_lab.train.rankers.tools.examples import (
    PLAUSIBLE,
    RIGHT,
    ToolExample,
    without_context,
)
from contextune_lab.train.rankers.tools.train import (
    FeaturedExample,
    context_model,
    fit_by_fold,
    fit_by_holdout,
    with_features,
)

PLAIN = plain_requests()[::25]


@pytest.fixture(autouse=True)
def fast_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "SETTINGS", QUICK)
    for module in (recipe, abstention):
        monkeypatch.setattr(module, "plain_requests", lambda: PLAIN)


def test_features_line_up_with_grades(
    persona_requests: list[ToolExample], public_requests: list[ToolExample]
) -> None:
    for example in (persona_requests[0], public_requests[0]):
        featured = FeaturedExample.build(example)
        assert featured.group.matrix.shape == (len(featured.places), len(FEATURE_NAMES))
        meaning = featured.group.matrix[:, FEATURE_NAMES.index("meaning")]
        expected = example.index.vectors[featured.places] @ example.query.vector
        np.testing.assert_allclose(meaning, expected, rtol=1e-5, atol=1e-6)
        graded = {
            int(place): int(grade)
            for place, grade in zip(featured.places, featured.group.grades, strict=True)
        }
        assert {place: grade for place, grade in graded.items() if grade} == example.grades


def test_removal_drops_all_tools_of_relevant_servers(
    persona_requests: list[ToolExample], public_requests: list[ToolExample]
) -> None:
    for featured in with_features(
        [*persona_requests[::4], *map(without_context, persona_requests[::7]), *public_requests[::4]]
    ):
        index, stripped = featured.example.index, featured.without_relevant_tools()
        right = {place for place, grade in featured.example.grades.items() if grade == RIGHT}
        servers = {index.catalog[place].app for place in right} - {""}
        left = set(map(int, stripped.places))
        assert not left & right
        assert not servers & {index.catalog[place].app for place in left}
        assert left < set(map(int, featured.places))
        assert stripped.example.grades == {}
        assert not stripped.group.grades.any()
        assert len(stripped.group.matrix) == len(stripped.places) == len(stripped.group.grades)
        assert stripped.example.query is featured.example.query
        assert featured.group.grades.any()  # what it was made from is as before


def test_removal_drops_plausible_tools(persona_requests: list[ToolExample]) -> None:
    for featured in with_features(persona_requests[::4]):
        assert PLAUSIBLE in featured.example.grades.values()
        assert not set(map(int, featured.without_relevant_tools().places)) & featured.example.grades.keys()


def catalogue(*tools: tuple[str, str], relevant: int, similarity: float = 0.0) -> FeaturedExample:
    """A request to tools of (server, name); `similarity` is the cosine of the first two."""
    vectors = np.stack([vector(*tool) for tool in tools])
    across = vectors[1] - (vectors[1] @ vectors[0]) * vectors[0]
    vectors[1] = similarity * vectors[0] + np.sqrt(1 - similarity**2) * across / np.linalg.norm(across)
    catalog = Catalog([Tool(name, f"{server} {name}", app=server) for server, name in tools])
    index = ToolIndex.from_vectors(catalog, vectors)
    tool_query = ToolQuery("do it", vector("do it"))
    return FeaturedExample.build(ToolExample("q", "made", 0, "made", index, tool_query, {relevant: RIGHT}))


@pytest.mark.parametrize(("similarity", "left"), [(0.9, {2, 3}), (0.3, {1, 2, 3})])
def test_removal_drops_similar_tools(similarity: float, left: set[int]) -> None:
    featured = catalogue(
        ("a", "send"), ("b", "post"), ("b", "read"), ("c", "list"), relevant=0, similarity=similarity
    )
    assert set(map(int, featured.without_relevant_tools().places)) == left


def test_tools_without_server_are_not_grouped() -> None:
    featured = catalogue(("", "send"), ("", "read"), ("", "list"), relevant=0)
    assert set(map(int, featured.without_relevant_tools().places)) == {1, 2}


def test_removal_may_leave_no_tool(word_embedder: Embedder) -> None:
    stripped = catalogue(("a", "send"), ("a", "read"), relevant=0).without_relevant_tools()
    assert len(stripped.places) == 0
    assert stripped.group.matrix.shape == (0, len(FEATURE_NAMES))
    ranker = Ranker.fit([catalogue(("a", "x"), ("b", "y"), relevant=0).group] * 20, FEATURE_NAMES, QUICK)
    assert ranker.score(stripped.group.matrix).shape == (0,)


def test_fold_ranker_excludes_its_fold(public_requests: list[ToolExample]) -> None:
    """With the grades of one fold reversed, only the ranker of that fold stays the same."""
    examples = with_features(public_requests[::2])
    reversed_labels = [
        replace(featured, group=replace(featured.group, grades=featured.group.grades[::-1].copy()))
        if featured.example.fold == 1
        else featured
        for featured in examples
    ]
    progress_calls: list[tuple[int, int]] = []
    before = fit_by_fold(examples, progress=lambda done, total: progress_calls.append((done, total)))
    after = fit_by_fold(reversed_labels)
    assert sorted(before) == list(range(FOLDS))
    assert progress_calls == [(n, FOLDS) for n in range(1, FOLDS + 1)]
    assert [fold for fold in before if before[fold].models == after[fold].models] == [1]


def test_request_without_relevant_tool_is_ignored_in_training(public_requests: list[ToolExample]) -> None:
    examples = with_features(public_requests[:40])
    assert recipe.fit([*examples, examples[0].without_relevant_tools()]).models == recipe.fit(examples).models


def test_holdout_ranker_excludes_a_family_of_catalogues(public_requests: list[ToolExample]) -> None:
    examples = with_features(public_requests[::2])
    reversed_labels = [
        replace(featured, group=replace(featured.group, grades=featured.group.grades[::-1].copy()))
        if featured.example.source == "toollens"
        else featured
        for featured in examples
    ]
    before, after = fit_by_holdout(examples), fit_by_holdout(reversed_labels)
    assert sorted(before) == ["metatool", "rapidapi"]
    # ToolLens has tools of ToolBench's servers
    assert [name for name in before if before[name].models == after[name].models] == ["rapidapi"]


def test_near_twins_and_servers_are_removed_on_demand() -> None:
    featured = catalogue(
        ("a", "send"), ("b", "post"), ("a", "read"), ("c", "list"), relevant=0, similarity=0.9
    )

    def left(*, servers: bool, twins: bool) -> set[int]:
        return set(map(int, featured.without_relevant_tools(servers=servers, twins=twins).places))

    assert left(servers=False, twins=False) == {1, 2, 3}
    assert left(servers=False, twins=True) == {2, 3}
    assert left(servers=True, twins=False) == {1, 3}


def test_request_of_another_catalogue_has_no_relevant_tool(public_requests: list[ToolExample]) -> None:
    first, other = with_features([public_requests[0], public_requests[-1]])
    foreign = first.with_request_of(other)
    assert foreign.example.index is first.example.index
    assert foreign.example.query.text == other.example.query.text
    assert foreign.example.query.past_calls is None
    assert not foreign.group.grades.any()
    assert foreign.example.source == first.example.source


def test_abstention_data_has_every_kind_of_negative(
    persona_requests: list[ToolExample], public_requests: list[ToolExample], word_embedder: Embedder
) -> None:
    persona_requests, public_requests = persona_requests[::3], public_requests[::5]
    examples = with_features([*persona_requests, *public_requests])
    data = AbstentionData.build(examples, fit_by_holdout(examples), word_embedder)
    source, case = np.array(data.source), np.array(data.case)
    assert set(data.source) == {"personas", "plain", "toolbench", "toollens", "metatool"}
    assert set(data.case) == {SERVED, NO_TOOL, NO_SERVER, TWINS_LEFT, OTHER_CATALOGUE, AUTHORED}
    for name in (SERVED, NO_TOOL, NO_SERVER, TWINS_LEFT):
        assert (case == name).sum() == len(examples)
    assert set(source[case == OTHER_CATALOGUE]) <= {"toolbench", "toollens", "metatool"}
    assert data.fits.tolist() == [
        name == SERVED or (name == AUTHORED and fits) for name, fits in zip(case, data.fits, strict=True)
    ]
    assert data.fits[source == "plain"].tolist() == 2 * [request.api is not None for request in PLAIN]
    assert len(data.fits) == len(data.holdout) == len(data.source) == len(data.case) == len(data.rows)
    assert set(data.holdout) == {"rapidapi", "metatool", *(f"personas {fold}" for fold in range(FOLDS))}


def test_every_source_has_the_same_weight_and_half_of_it_is_served() -> None:
    draw = np.random.default_rng(0)
    source = tuple(draw.choice(["one", "two", "two", "two"], 200).tolist())
    case = tuple(draw.choice([SERVED, NO_TOOL, NO_TOOL, TWINS_LEFT], 200).tolist())
    fits = np.array([name == SERVED for name in case])
    data = AbstentionData(np.zeros((200, len(FIT_INPUTS))), fits, source, source, case)
    weights = data.weights(np.ones(200, bool))
    for name in ("one", "two"):
        mine = np.array(source) == name
        assert weights[mine & fits].sum() == pytest.approx(1)
        for kind in (NO_TOOL, TWINS_LEFT):
            assert weights[mine & (np.array(case) == kind)].sum() == pytest.approx(0.5)
    few = np.array(source) == "one"
    assert not data.weights(few)[~few].any()


def test_authored_requests_occur_with_and_without_context(
    public_requests: list[ToolExample], word_embedder: Embedder
) -> None:
    examples = with_features(public_requests[::6])
    data = AbstentionData.build(examples, fit_by_holdout(examples), word_embedder)
    plain = data.rows[np.array(data.source) == "plain"]
    with_context = plain[:, FIT_INPUTS.index("has context")]
    assert with_context.tolist() == [0] * len(PLAIN) + [1] * len(PLAIN)
    alone, placed = np.split(plain[:, FIT_INPUTS.index("length")], 2)
    np.testing.assert_array_equal(alone, placed)  # the same requests in the same order


def made_data(draw: np.random.Generator) -> AbstentionData:
    rows = draw.normal(size=(200, len(FIT_INPUTS)))
    fits = rows[:, 0] + 0.3 * draw.normal(size=200) > 0
    holdout = tuple(draw.choice(["a", "b", "c"], 200).tolist())
    case = tuple(np.where(fits, SERVED, NO_TOOL).tolist())
    return AbstentionData(rows, fits, holdout, holdout, case)


def test_held_out_probability_excludes_own_catalogue() -> None:
    data = made_data(np.random.default_rng(0))
    fits, mine = data.fits, np.array(data.holdout) == "b"
    probabilities = data.held_out()
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert probabilities[fits].mean() > 0.7 > 0.3 > probabilities[~fits].mean()
    reversed_labels = replace(data, fits=np.where(mine, ~fits, fits))
    np.testing.assert_array_equal(reversed_labels.held_out()[mine], probabilities[mine])
    assert not np.array_equal(reversed_labels.held_out()[~mine], probabilities[~mine])


def test_thresholds_let_the_named_share_of_negatives_pass() -> None:
    data = made_data(np.random.default_rng(1))
    negative = ~data.fits
    probabilities, weights = data.held_out()[negative], data.weights(negative)[negative]
    for share, threshold in data.thresholds().items():
        passed = weights[probabilities >= threshold].sum() / weights.sum()
        assert passed == pytest.approx(float(share), abs=0.03)


def test_context_model_separates_implicit_requests(
    persona_requests: list[ToolExample], word_embedder: Embedder
) -> None:
    implicit = np.stack([example.query.vector for example in persona_requests])
    model = context_model(persona_requests, word_embedder)
    predicted = model.probability(word_embedder.embed([request.text for request in PLAIN]))
    needed = np.array([request.implicit for request in PLAIN])
    assert predicted[needed].mean() > predicted[~needed].mean()
    assert model.probability(implicit).mean() > 0.5
    without = context_model(persona_requests, word_embedder, excluded_fold=0)
    assert not np.array_equal(model.weights, without.weights)
    kept = [request for number, request in enumerate(PLAIN) if number % FOLDS]
    others = np.stack([example.query.vector for example in persona_requests if example.fold])
    vectors = np.vstack([others, word_embedder.embed([request.text for request in kept])])
    np.testing.assert_allclose(without.mean, vectors.mean(0), atol=1e-6)


def test_training_is_deterministic(
    tmp_path: Path,
    persona_requests: list[ToolExample],
    public_requests: list[ToolExample],
    word_embedder: Embedder,
) -> None:
    persona_requests, public_requests = persona_requests[::4], public_requests[::8]
    for name in ("one", "two"):
        ranker_ = recipe.train(
            persona_requests, public_requests, word_embedder, {"embedder": word_embedder.name}
        )
        ranker_.save(tmp_path / name)
    files = sorted(file.name for file in (tmp_path / "one").iterdir())
    assert files == ["card.json", "tools.json.gz"]
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    loaded = ToolRanker.load(tmp_path / "one")
    shares = {float(share): probabilities for share, probabilities in loaded.abstention.thresholds.items()}
    ordered = [shares[share] for share in sorted(shares)]
    assert ordered == sorted(ordered, reverse=True)
    result = ToolRetriever(bundled_toolbox(), word_embedder, ranker=loaded).find("play me a song")
    assert result.fits is not None
    assert 0 < result.fits < 1
    assert len(result.hits) == 10
