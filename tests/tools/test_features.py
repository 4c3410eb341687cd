"""What the ranker of tools looks at: a row a candidate, and nothing said where nothing is known."""

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
from contextune.tools.candidates import candidates
from contextune.tools.features import FEATURES, NAMES, measure
from contextune.tools.index import ToolIndex
from contextune.tools.query import PastCalls, QueryContext, ToolQuery
from contextune.types import Item, Tool

EMBEDDER = WordEmbedder()
TOOLBOX = ToolIndex.build(Catalog(bundled_toolbox()), EMBEDDER)
PLACE = {tool.name: place for place, tool in enumerate(TOOLBOX.catalog)}
EVERY = np.arange(len(TOOLBOX.catalog))
MAIL = Item("m", "Mail", {"subject": "Kiln quote", "content": "The price", "date": "2024-05-16T08:00"})
NOTE = Item("n", "Notes", {"title": "Glaze recipe", "modified": "2024-05-15T08:00"})


def vector(text: str) -> Matrix:
    return EMBEDDER.embed([text])[0]


def context(*items: Item, scores: Sequence[float] = (3.0, 1.0, 0.5)) -> QueryContext:
    return QueryContext.of(items, scores[: len(items)], EMBEDDER.embed([item.text for item in items]))


def past(*rows: tuple[str, str, float, bool]) -> PastCalls:
    """Of tool, what was said, days ago, and whether it was right."""
    tools, texts, ages, ok = zip(*rows, strict=True)
    places = np.array([PLACE[tool] for tool in tools], np.int64)
    return PastCalls(places, EMBEDDER.embed(texts), np.array(ages, np.float64), np.array(ok, bool))


def column(matrix: NDArray[np.float32], name: str) -> NDArray[np.float32]:
    return matrix[:, NAMES.index(name)]


def of(matrix: NDArray[np.float32], name: str, tool: str) -> float:
    return float(column(matrix, name)[PLACE[tool]])


def unknown(matrix: NDArray[np.float32]) -> set[str]:
    """Features that say nothing, of some candidate."""
    return {name for name in NAMES if np.isnan(column(matrix, name)).any()}


def test_every_feature_is_named_and_explained_once() -> None:
    assert tuple(FEATURES) == NAMES
    assert len(set(NAMES)) == len(NAMES)
    assert all(about.strip() and about != name for name, about in FEATURES.items())
    # two that are explained alike could not be told apart
    assert len(set(FEATURES.values())) == len(NAMES)


def test_a_row_a_candidate() -> None:
    wish = ToolQuery("send Ana the glaze recipe", vector("send Ana the glaze recipe"))
    few = np.array([3, 30, 31, 58])
    matrix = measure(TOOLBOX, wish, few)
    assert matrix.shape == (4, len(NAMES))
    assert matrix.dtype == np.float32
    assert column(matrix, "name said").tolist() == [0, 0.5, 0, 0]  # send_email


def test_an_example_counts_like_a_description_where_the_request_says_all() -> None:
    said = "remind me to do something"
    bare = replace(TOOLBOX, examples=None, example_of=None)

    def meaning(index: ToolIndex, needs_context: float) -> NDArray[np.float32]:
        return column(
            measure(index, ToolQuery(said, vector(said), needs_context=needs_context), EVERY), "meaning"
        )

    reminder = PLACE["create_reminder"]
    described = meaning(bare, 0)
    assert described[reminder] < 0.5
    assert meaning(TOOLBOX, 0)[reminder] == pytest.approx(0.95)
    # examples say all: for a request that leaves things out they count less
    assert meaning(TOOLBOX, 1)[reminder] == pytest.approx(0.75)
    assert (meaning(TOOLBOX, 0) >= described).all()
    np.testing.assert_array_equal(described, meaning(bare, 1))


def test_a_tool_is_a_candidate_by_its_example_too() -> None:
    crowd = [Tool(f"tool{number}", f"water the garden {number}", app=f"app{number}") for number in range(200)]
    asked = Tool("apply", "Nothing of the kind.", app="Farm", examples=("water the garden",))
    index = ToolIndex.build(Catalog([*crowd, asked]), EMBEDDER)
    wish = ToolQuery("water the garden", vector("water the garden"))
    assert 200 in candidates(index, wish)
    hidden = np.arange(201) < 200
    assert 200 not in candidates(index, wish, hidden)
    assert 200 not in candidates(replace(index, examples=None, example_of=None), replace(wish, text="garden"))


SAID = st.text(max_size=30) | st.sampled_from(["send_email to Ana", "play it", "delete the note", "Mail"])
TOOLS = st.sampled_from(sorted(PLACE))
ROW = st.tuples(TOOLS, SAID, st.floats(1e-6, 40_000), st.booleans())


@settings(max_examples=60)
@given(
    SAID,
    st.lists(st.sampled_from([MAIL, NOTE]), max_size=2, unique_by=id),
    st.lists(ROW, max_size=5),
    st.booleans(),
)
def test_numbers_are_finite_or_nothing_is_said(
    text: str, items: list[Item], rows: list[tuple[str, str, float, bool]], apps: bool
) -> None:
    wish = ToolQuery(
        text,
        vector(text),
        context(*items) if items else None,
        past(*rows) if rows else None,
        dict.fromkeys(TOOLBOX.apps, 0.1) if apps else {},
    )
    matrix = measure(TOOLBOX, wish, EVERY)
    silent: set[str] = set()
    if not items:
        silent |= {name for name in NAMES if name.startswith(("in context", "item"))}
    if not rows:
        silent |= {name for name in NAMES if name.startswith("past")}
    if not apps:
        silent.add("app likely")
    if rows:
        assert unknown(matrix) - {"past success"} == silent
        judged = {PLACE[tool] for tool, *_ in rows}
        known = np.flatnonzero(~np.isnan(column(matrix, "past success")))
        assert set(known.tolist()) == judged
    else:
        assert unknown(matrix) == silent
    assert not np.isinf(matrix).any(), {name for name in NAMES if np.isinf(column(matrix, name)).any()}


def test_ranks_and_distances_are_those_of_the_values() -> None:
    text = "put on the song that is playing, then send an email"
    matrix = measure(TOOLBOX, ToolQuery(text, vector(text), context(MAIL, NOTE)), EVERY)
    for name in ("meaning", "words", "in context"):
        values, ranks = column(matrix, name), column(matrix, f"{name} rank")
        assert ranks.tolist() == [(values > value).sum() for value in values]
        np.testing.assert_allclose(column(matrix, f"{name} behind best"), values - values.max(), atol=1e-6)
        own = [(values[TOOLBOX.app == TOOLBOX.app[place]] > values[place]).sum() for place in EVERY]
        assert column(matrix, f"{name} rank in app").tolist() == own


def test_the_order_of_the_candidates_does_not_matter() -> None:
    text = "move the pottery class to Friday"
    wish = ToolQuery(
        text, vector(text), context(NOTE, MAIL), past(("get_event", "when is the class", 3, True))
    )
    mixed = np.random.default_rng(1).permutation(EVERY)
    np.testing.assert_allclose(
        measure(TOOLBOX, wish, mixed), measure(TOOLBOX, wish, EVERY)[mixed], rtol=1e-5, atol=1e-6
    )


def test_names_and_applications_that_are_said() -> None:
    text = "Mail: send_email to Ana"
    matrix = measure(TOOLBOX, ToolQuery(text, vector(text), apps={"Mail": 0.75}), EVERY)
    assert np.flatnonzero(column(matrix, "named")).tolist() == [PLACE["send_email"]]
    assert of(matrix, "name said", "send_email") == 1
    assert of(matrix, "name said", "read_email") == 0.5
    assert of(matrix, "said in name", "send_email") == pytest.approx(2 / 5)
    assert of(matrix, "app said", "read_email") == 1
    assert of(matrix, "app said", "read_note") == 0
    assert of(matrix, "app likely", "read_email") == 0.75
    assert np.isnan(of(matrix, "app likely", "read_note"))


def test_the_context_speaks_for_its_application() -> None:
    matrix = measure(TOOLBOX, ToolQuery("that one", vector("that one"), context(NOTE, MAIL)), EVERY)
    assert of(matrix, "item app first", "read_note") == 1
    assert of(matrix, "item app first", "read_email") == 0
    assert of(matrix, "item app", "read_note") > of(matrix, "item app", "read_email") > 0
    assert of(matrix, "item app", "play_song") == 0
    assert of(matrix, "item app lead", "read_note") == pytest.approx(0)
    assert of(matrix, "item app lead", "play_song") < of(matrix, "item app lead", "read_email") < 0


def test_what_was_done_before() -> None:
    text = "call her back"
    rows = past(
        ("return_missed_call", text, 2.0, True),
        ("return_missed_call", "call him back now", 40.0, True),
        ("return_missed_call", "unlike anything", 1.0, False),
        ("call_contact", text, 5.0, False),
        ("play_song", "fado", 1.0, True),
    )
    matrix = measure(TOOLBOX, ToolQuery(text, vector(text), past=rows), EVERY)
    assert of(matrix, "past", "return_missed_call") == pytest.approx(1)
    assert of(matrix, "past", "call_contact") == 0
    assert of(matrix, "past wrong", "call_contact") == pytest.approx(1)
    assert of(matrix, "past wrong", "play_song") == 0
    assert of(matrix, "past rank", "return_missed_call") == 0
    assert of(matrix, "past rank", "call_contact") >= 1
    assert of(matrix, "past success", "return_missed_call") == pytest.approx(2 / 3)
    assert of(matrix, "past success", "call_contact") == 0
    assert of(matrix, "past near", "return_missed_call") > 0
    assert of(matrix, "past near", "play_song") == 0
    assert of(matrix, "past often", "return_missed_call") > of(matrix, "past often", "play_song") > 0
    assert of(matrix, "past days", "play_song") > of(matrix, "past days", "return_missed_call")
    # never comes after any time ago
    assert of(matrix, "past days", "return_missed_call") > of(matrix, "past days", "call_contact")
    assert float(column(matrix, "past share").sum()) == pytest.approx(1)


def test_the_best_few_items_share_the_context() -> None:
    items = [replace(MAIL, id=str(number), app=f"app{number % 2}") for number in range(8)]
    found = QueryContext.of(items, [8.0, 7, 6, 5, 4, 3, 2, 1], np.eye(8, dtype=np.float32))
    assert len(found.items) == len(found.shares) == len(found.vectors) == QueryContext.MOST
    assert found.shares.sum() == pytest.approx(1)
    assert (np.diff(found.shares) < 0).all()
    assert sum(found.apps.values()) == pytest.approx(1)
    even = QueryContext.of(items[:2], [1.0, 1.0], np.eye(2, dtype=np.float32))
    assert even.shares[0] > even.shares[1] > 0  # of equal scores the first counts for more
    assert QueryContext.of([MAIL], [-3.0], np.eye(1, dtype=np.float32)).shares.tolist() == pytest.approx([1])
    nothing = QueryContext.of([], [], np.empty((0, 8), np.float32))
    assert (len(nothing.shares), nothing.apps) == (0, {})


def test_a_request_in_context_is_between_what_is_said_and_its_items() -> None:
    said = vector("that one")
    wish = ToolQuery("that one", said, context(NOTE))
    assert np.linalg.norm(wish.in_context) == pytest.approx(1, abs=1e-5)
    note = vector(NOTE.text)
    assert float(wish.in_context @ note) > float(said @ note)
    assert float(wish.in_context @ said) > float(note @ said)
    np.testing.assert_array_equal(ToolQuery("that one", said).in_context, said)


def numbered(count: int) -> ToolIndex:
    apps = ["Mail", "Web", "Files"]
    tools = [Tool(f"do_{n}_thing", f"Serves purpose {n}.", app=apps[n % 3]) for n in range(count)]
    return ToolIndex.build(Catalog(tools), EMBEDDER)


def test_a_small_catalogue_is_looked_at_whole() -> None:
    wish = ToolQuery("nothing like it", vector("nothing like it"))
    assert candidates(TOOLBOX, wish).tolist() == EVERY.tolist()
    visible = EVERY % 2 == 0
    assert candidates(TOOLBOX, wish, visible).tolist() == EVERY[visible].tolist()


def test_of_a_large_catalogue_whatever_a_signal_speaks_for() -> None:
    index = numbered(600)
    text = "do_501_thing with purpose 77"
    before = PastCalls(
        np.array([402, 403]), EMBEDDER.embed(["x", "y"]), np.array([1.0, 1.0]), np.array([True, False])
    )
    found = candidates(index, ToolQuery(text, vector(text), context(MAIL), before))
    assert {501, 77, 402} <= set(found.tolist())
    assert found.tolist() == sorted(set(found.tolist()))
    assert len(found) < 200
    assert (index.app[found] == list(index.apps).index("Mail")).sum() >= 12
    deep = candidates(index, ToolQuery(text, vector(text)), depth=300)
    assert len(deep) >= 300


def test_a_tool_that_is_named_is_a_candidate_though_others_seem_nearer() -> None:
    near = [Tool(f"other_{n}", "Do it now.") for n in range(300)]
    named = Tool("do_it_now", "Waters plants that stand far from any window. " * 5)
    index = ToolIndex.build(Catalog([*near, named]), EMBEDDER)
    assert 300 in candidates(index, ToolQuery("do it now", vector("do it now")))
    assert 300 not in candidates(index, ToolQuery("it do now", vector("it do now")))


def test_what_may_not_be_found_is_no_candidate() -> None:
    index = numbered(600)
    text = "do_501_thing with purpose 77"
    before = PastCalls(np.array([402]), EMBEDDER.embed(["x"]), np.array([1.0]), np.array([True]))
    visible = np.ones(600, bool)
    visible[[501, 77, 402]] = False
    found = candidates(index, ToolQuery(text, vector(text), context(MAIL), before), visible)
    assert not {501, 77, 402} & set(found.tolist())
    assert candidates(index, ToolQuery(text, vector(text)), np.zeros(600, bool)).tolist() == []
