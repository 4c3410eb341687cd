"""Feature matrix of tool candidates, NaN for missing inputs, and candidate selection."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.conftest import WordEmbedder

from contextune.embed import Matrix
from contextune.tools import Catalog, bundled_toolbox
from contextune.tools.candidates import select_candidates
from contextune.tools.features import FEATURE_NAMES, FEATURES, feature_matrix
from contextune.tools.index import ToolIndex
from contextune.tools.query import PastCalls, QueryContext, ToolQuery
from contextune.types import Item, Tool

EMBEDDER = WordEmbedder()
TOOLBOX = ToolIndex.build(Catalog(bundled_toolbox()), EMBEDDER)
POSITION = {tool.name: position for position, tool in enumerate(TOOLBOX.catalog)}
EVERY = np.arange(len(TOOLBOX.catalog))
MAIL = Item("m", "Mail", {"subject": "Kiln quote", "content": "The price", "date": "2024-05-16T08:00"})
NOTE = Item("n", "Notes", {"title": "Glaze recipe", "modified": "2024-05-15T08:00"})


def vector(text: str) -> Matrix:
    return EMBEDDER.embed([text])[0]


def context(*items: Item, scores: Sequence[float] = (3.0, 1.0, 0.5)) -> QueryContext:
    return QueryContext.build(items, scores[: len(items)], EMBEDDER.embed([item.text for item in items]))


def past(*rows: tuple[str, str, float, bool]) -> PastCalls:
    """Rows of tool, request text, age in days, and whether the tool was right."""
    tools, texts, ages, ok = zip(*rows, strict=True)
    positions = np.array([POSITION[tool] for tool in tools], np.int64)
    return PastCalls(positions, EMBEDDER.embed(texts), np.array(ages, np.float64), np.array(ok, bool))


def column(matrix: NDArray[np.float32], name: str) -> NDArray[np.float32]:
    return matrix[:, FEATURE_NAMES.index(name)]


def feature(matrix: NDArray[np.float32], name: str, tool: str) -> float:
    return float(column(matrix, name)[POSITION[tool]])


def nan_features(matrix: NDArray[np.float32]) -> set[str]:
    """Features that are NaN for some candidate."""
    return {name for name in FEATURE_NAMES if np.isnan(column(matrix, name)).any()}


def test_every_feature_has_a_unique_name_and_description() -> None:
    assert tuple(FEATURES) == FEATURE_NAMES
    assert len(set(FEATURE_NAMES)) == len(FEATURE_NAMES)
    assert all(about.strip() and about != name for name, about in FEATURES.items())
    # equal descriptions could not be told apart
    assert len(set(FEATURES.values())) == len(FEATURE_NAMES)


def test_matrix_has_one_row_per_candidate() -> None:
    query = ToolQuery("send Ana the glaze recipe", vector("send Ana the glaze recipe"))
    few = np.array([3, 30, 31, 58])
    matrix = feature_matrix(TOOLBOX, query, few)
    assert matrix.shape == (4, len(FEATURE_NAMES))
    assert matrix.dtype == np.float32
    assert column(matrix, "name said").tolist() == [0, 0.5, 0, 0]  # send_email


def test_examples_count_less_for_implicit_requests() -> None:
    text = "remind me to do something"
    bare = replace(TOOLBOX, examples=None, example_of=None)

    def meaning(index: ToolIndex, needs_context: float) -> NDArray[np.float32]:
        return column(
            feature_matrix(index, ToolQuery(text, vector(text), needs_context=needs_context), EVERY),
            "meaning",
        )

    reminder = POSITION["create_reminder"]
    described = meaning(bare, 0)
    assert described[reminder] < 0.5
    assert meaning(TOOLBOX, 0)[reminder] == pytest.approx(0.95)
    # examples are explicit: they count less for an implicit request
    assert meaning(TOOLBOX, 1)[reminder] == pytest.approx(0.75)
    assert (meaning(TOOLBOX, 0) >= described).all()
    np.testing.assert_array_equal(described, meaning(bare, 1))


def test_tool_is_a_candidate_by_its_example() -> None:
    crowd = [Tool(f"tool{number}", f"water the garden {number}", app=f"app{number}") for number in range(200)]
    tool = Tool("apply", "Nothing of the kind.", app="Farm", examples=("water the garden",))
    index = ToolIndex.build(Catalog([*crowd, tool]), EMBEDDER)
    query = ToolQuery("water the garden", vector("water the garden"))
    assert 200 in select_candidates(index, query)
    visible = np.arange(201) < 200
    assert 200 not in select_candidates(index, query, visible)
    assert 200 not in select_candidates(
        replace(index, examples=None, example_of=None), replace(query, text="garden")
    )


TEXT = st.text(max_size=30) | st.sampled_from(["send_email to Ana", "play it", "delete the note", "Mail"])
TOOLS = st.sampled_from(sorted(POSITION))
ROW = st.tuples(TOOLS, TEXT, st.floats(1e-6, 40_000), st.booleans())


@settings(max_examples=60)
@given(
    TEXT,
    st.lists(st.sampled_from([MAIL, NOTE]), max_size=2, unique_by=id),
    st.lists(ROW, max_size=5),
    st.booleans(),
)
def test_features_are_finite_or_nan_without_input(
    text: str, items: list[Item], rows: list[tuple[str, str, float, bool]], apps: bool
) -> None:
    query = ToolQuery(
        text,
        vector(text),
        context(*items) if items else None,
        past(*rows) if rows else None,
        dict.fromkeys(TOOLBOX.apps, 0.1) if apps else {},
    )
    matrix = feature_matrix(TOOLBOX, query, EVERY)
    expected = {name for name in FEATURE_NAMES if name.startswith("part")}
    if not items:
        expected |= {name for name in FEATURE_NAMES if name.startswith(("in context", "item"))}
    if not rows:
        expected |= {name for name in FEATURE_NAMES if name.startswith("past")}
    if not apps:
        expected.add("app likely")
    if rows:
        assert nan_features(matrix) - {"past success"} == expected
        judged = {POSITION[tool] for tool, *_ in rows}
        has_success = np.flatnonzero(~np.isnan(column(matrix, "past success")))
        assert set(has_success.tolist()) == judged
    else:
        assert nan_features(matrix) == expected
    assert not np.isinf(matrix).any(), {
        name for name in FEATURE_NAMES if np.isinf(column(matrix, name)).any()
    }


def test_ranks_and_differences_match_the_values() -> None:
    text = "put on the song that is playing, then send an email"
    matrix = feature_matrix(TOOLBOX, ToolQuery(text, vector(text), context(MAIL, NOTE)), EVERY)
    for name in ("meaning", "words", "in context"):
        values, ranks = column(matrix, name), column(matrix, f"{name} rank")
        assert ranks.tolist() == [(values > value).sum() for value in values]
        np.testing.assert_allclose(column(matrix, f"{name} behind best"), values - values.max(), atol=1e-6)
        in_app = [(values[TOOLBOX.app == TOOLBOX.app[n]] > values[n]).sum() for n in EVERY]
        assert column(matrix, f"{name} rank in app").tolist() == in_app


def test_order_of_candidates_does_not_matter() -> None:
    text = "move the pottery class to Friday"
    query = ToolQuery(
        text, vector(text), context(NOTE, MAIL), past(("get_event", "when is the class", 3, True))
    )
    mixed = np.random.default_rng(1).permutation(EVERY)
    np.testing.assert_allclose(
        feature_matrix(TOOLBOX, query, mixed),
        feature_matrix(TOOLBOX, query, EVERY)[mixed],
        rtol=1e-5,
        atol=1e-6,
    )


def test_features_of_names_and_apps_in_the_request() -> None:
    text = "Mail: send_email to Ana"
    matrix = feature_matrix(TOOLBOX, ToolQuery(text, vector(text), app_probabilities={"Mail": 0.75}), EVERY)
    assert np.flatnonzero(column(matrix, "named")).tolist() == [POSITION["send_email"]]
    assert feature(matrix, "name said", "send_email") == 1
    assert feature(matrix, "name said", "read_email") == 0.5
    assert feature(matrix, "said in name", "send_email") == pytest.approx(2 / 5)
    assert feature(matrix, "app said", "read_email") == 1
    assert feature(matrix, "app said", "read_note") == 0
    assert feature(matrix, "app likely", "read_email") == 0.75
    assert np.isnan(feature(matrix, "app likely", "read_note"))


def test_context_features_favour_its_app() -> None:
    matrix = feature_matrix(TOOLBOX, ToolQuery("that one", vector("that one"), context(NOTE, MAIL)), EVERY)
    assert feature(matrix, "item app first", "read_note") == 1
    assert feature(matrix, "item app first", "read_email") == 0
    assert feature(matrix, "item app", "read_note") > feature(matrix, "item app", "read_email") > 0
    assert feature(matrix, "item app", "play_song") == 0
    assert feature(matrix, "item app lead", "read_note") == pytest.approx(0)
    assert feature(matrix, "item app lead", "play_song") < feature(matrix, "item app lead", "read_email") < 0


def test_past_call_features() -> None:
    text = "call her back"
    rows = past(
        ("return_missed_call", text, 2.0, True),
        ("return_missed_call", "call him back now", 40.0, True),
        ("return_missed_call", "unlike anything", 1.0, False),
        ("call_contact", text, 5.0, False),
        ("play_song", "fado", 1.0, True),
    )
    matrix = feature_matrix(TOOLBOX, ToolQuery(text, vector(text), past_calls=rows), EVERY)
    assert feature(matrix, "past", "return_missed_call") == pytest.approx(1)
    assert feature(matrix, "past", "call_contact") == 0
    assert feature(matrix, "past wrong", "call_contact") == pytest.approx(1)
    assert feature(matrix, "past wrong", "play_song") == 0
    assert feature(matrix, "past rank", "return_missed_call") == 0
    assert feature(matrix, "past rank", "call_contact") >= 1
    assert feature(matrix, "past success", "return_missed_call") == pytest.approx(2 / 3)
    assert feature(matrix, "past success", "call_contact") == 0
    assert feature(matrix, "past near", "return_missed_call") > 0
    assert feature(matrix, "past near", "play_song") == 0
    assert (
        feature(matrix, "past often", "return_missed_call") > feature(matrix, "past often", "play_song") > 0
    )
    assert feature(matrix, "past days", "play_song") > feature(matrix, "past days", "return_missed_call")
    # never used ranks below any age
    assert feature(matrix, "past days", "return_missed_call") > feature(matrix, "past days", "call_contact")
    assert float(column(matrix, "past share").sum()) == pytest.approx(1)


def test_context_weights_add_up_to_one() -> None:
    items = [replace(MAIL, id=str(number), app=f"app{number % 2}") for number in range(8)]
    built = QueryContext.build(items, [8.0, 7, 6, 5, 4, 3, 2, 1], np.eye(8, dtype=np.float32))
    assert len(built.items) == len(built.weights) == len(built.vectors) == QueryContext.MAX_ITEMS
    assert built.weights.sum() == pytest.approx(1)
    assert (np.diff(built.weights) < 0).all()
    assert sum(built.apps.values()) == pytest.approx(1)
    even = QueryContext.build(items[:2], [1.0, 1.0], np.eye(2, dtype=np.float32))
    assert even.weights[0] > even.weights[1] > 0  # with equal scores, the first has more weight
    assert QueryContext.build([MAIL], [-3.0], np.eye(1, dtype=np.float32)).weights.tolist() == pytest.approx(
        [1]
    )
    nothing = QueryContext.build([], [], np.empty((0, 8), np.float32))
    assert (len(nothing.weights), nothing.apps) == (0, {})


def test_context_vector_is_between_request_and_items() -> None:
    bare = vector("that one")
    query = ToolQuery("that one", bare, context(NOTE))
    assert np.linalg.norm(query.context_vector) == pytest.approx(1, abs=1e-5)
    note = vector(NOTE.text)
    assert float(query.context_vector @ note) > float(bare @ note)
    assert float(query.context_vector @ bare) > float(note @ bare)
    np.testing.assert_array_equal(ToolQuery("that one", bare).context_vector, bare)


def numbered(count: int) -> ToolIndex:
    apps = ["Mail", "Web", "Files"]
    tools = [Tool(f"do_{n}_thing", f"Serves purpose {n}.", app=apps[n % 3]) for n in range(count)]
    return ToolIndex.build(Catalog(tools), EMBEDDER)


def test_every_tool_of_a_small_catalogue_is_a_candidate() -> None:
    query = ToolQuery("nothing like it", vector("nothing like it"))
    assert select_candidates(TOOLBOX, query).tolist() == EVERY.tolist()
    visible = EVERY % 2 == 0
    assert select_candidates(TOOLBOX, query, visible).tolist() == EVERY[visible].tolist()


def test_candidates_of_a_large_catalogue_come_from_every_signal() -> None:
    index = numbered(600)
    text = "do_501_thing with purpose 77"
    before = PastCalls(
        np.array([402, 403]), EMBEDDER.embed(["x", "y"]), np.array([1.0, 1.0]), np.array([True, False])
    )
    found = select_candidates(index, ToolQuery(text, vector(text), context(MAIL), before))
    assert {501, 77, 402} <= set(found.tolist())
    assert found.tolist() == sorted(set(found.tolist()))
    assert len(found) < 200
    assert (index.app[found] == list(index.apps).index("Mail")).sum() >= 12


def test_named_tool_is_a_candidate_although_others_are_nearer() -> None:
    near = [Tool(f"other_{n}", "Do it now.") for n in range(300)]
    named = Tool("do_it_now", "Waters plants that stand far from any window. " * 5)
    index = ToolIndex.build(Catalog([*near, named]), EMBEDDER)
    assert 300 in select_candidates(index, ToolQuery("do it now", vector("do it now")))
    assert 300 not in select_candidates(index, ToolQuery("it do now", vector("it do now")))


def test_hidden_tools_are_not_candidates() -> None:
    index = numbered(600)
    text = "do_501_thing with purpose 77"
    before = PastCalls(np.array([402]), EMBEDDER.embed(["x"]), np.array([1.0]), np.array([True]))
    visible = np.ones(600, bool)
    visible[[501, 77, 402]] = False
    found = select_candidates(index, ToolQuery(text, vector(text), context(MAIL), before), visible)
    assert not {501, 77, 402} & set(found.tolist())
    assert select_candidates(index, ToolQuery(text, vector(text)), np.zeros(600, bool)).tolist() == []


def test_similarity_is_relative_to_the_catalogue() -> None:
    query = ToolQuery("play a song", vector("play a song"))
    matrix = feature_matrix(TOOLBOX, query, EVERY)
    meaning, relative = column(matrix, "meaning"), column(matrix, "meaning in catalogue")
    assert np.corrcoef(meaning, relative)[0, 1] == pytest.approx(1)
    assert abs(relative.mean()) < 0.2
    few = feature_matrix(TOOLBOX, query, EVERY[:10])
    np.testing.assert_allclose(column(few, "meaning in catalogue"), relative[:10], rtol=1e-5)


def test_hybrid_is_one_for_the_first_of_both_rankings() -> None:
    matrix = feature_matrix(TOOLBOX, ToolQuery("zzz", vector("zzz")), EVERY)
    assert column(matrix, "hybrid").max() <= 0.5  # no shared word: half of it by meaning
    text = "plays a song by name"
    matrix = feature_matrix(TOOLBOX, ToolQuery(text, vector(text)), EVERY)
    best = int(column(matrix, "hybrid").argmax())
    assert column(matrix, "hybrid rank")[best] == 0
    assert column(matrix, "hybrid")[best] <= 1


def test_words_share_is_at_most_about_one() -> None:
    tool = TOOLBOX.catalog[POSITION["send_email"]]
    for text in (tool.description, "send", "entirely unrelated words"):
        shares = column(feature_matrix(TOOLBOX, ToolQuery(text, vector(text)), EVERY), "words share")
        assert (shares >= 0).all()
        assert shares.max() < 3


def test_part_features_describe_the_best_part() -> None:
    texts = ("play a song", "send an email")
    whole = ToolQuery(" and ".join(texts), vector(" and ".join(texts)))
    query = whole.with_parts(texts, EMBEDDER.embed(texts))
    matrix = feature_matrix(TOOLBOX, query, EVERY)
    similarity = np.stack([TOOLBOX.vectors @ part.vector for part in query.parts])
    np.testing.assert_allclose(column(matrix, "part meaning"), similarity.max(0), rtol=1e-5)
    assert (column(matrix, "parts") == 2).all()
    for row in similarity:
        best = int(row.argmax())
        assert column(matrix, "part rank")[best] == 0
        assert column(matrix, "part meaning behind best")[best] == pytest.approx(0, abs=1e-6)
    undivided = feature_matrix(TOOLBOX, whole, EVERY)
    assert {name for name in nan_features(undivided) if name.startswith("part")} == {
        "part meaning", "part meaning behind best", "part rank", "part hybrid rank", "parts"
    }  # fmt: skip


def test_candidates_include_those_of_every_part() -> None:
    flights = [Tool(f"flight_{n}", "Finds a flight to Oslo.", app=f"air{n}") for n in range(120)]
    index = ToolIndex.build(
        Catalog([*flights, Tool("water_plants", "Waters plants.", app="garden")]), EMBEDDER
    )
    text = "find a flight to Oslo, a flight to Rome, a flight to Bonn"
    query = ToolQuery(text, vector(text))
    assert 120 not in select_candidates(index, query)
    parts = ("a flight to Rome", "waters my plants")
    assert 120 in select_candidates(index, query.with_parts(parts, EMBEDDER.embed(parts)))
