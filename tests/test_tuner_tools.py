"""Tools through the tuner: found with their context, remembered by feedback, and told in an answer."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from tests.conftest import WordEmbedder
from tests.tools.querygen.fake_writer import Broken, Writer
from tests.tools.tiny_ranker import shipped, tiny_ranker

from contextune import Tuner
from contextune.embed import Embedder, Matrix
from contextune.errors import InvalidDataError, InvalidRequestError, UnknownUserError
from contextune.store import SQLiteStore
from contextune.tools import QueryGenerator, ToolFilter, ToolMatches, ToolRetriever, bundled_toolbox
from contextune.types import Item, ItemHit, Request, ToolHit, UsageEvent, User

NOW = datetime(2024, 5, 16, 17, 40)
DAY = timedelta(days=1)
TOOLBOX = bundled_toolbox()
ITEMS = [
    Item("mail", "Mail", {"subject": "Kiln quote", "content": "The price.", "date": "2024-05-15T09:00"}),
    Item("note", "Notes", {"title": "Glaze recipe", "content": "Ash.", "modified": "2024-05-14T09:00"}),
    Item("song", "Music", {"song_name": "Barco Negro", "artist": "Mariza", "played_time": "2024-05-13"}),
]
ASKED = Request("Sort it out with her.", "ines", NOW)


def ids(hits: Sequence[ToolHit]) -> list[str]:
    return [hit.tool.id for hit in hits]


@pytest.fixture
def people(store: SQLiteStore) -> SQLiteStore:
    for user in ("ines", "rui"):
        store.put_user(User(user))
        store.put_items(user, ITEMS)
    return store


@pytest.fixture
def tuner(people: SQLiteStore, word_embedder: Embedder) -> Tuner:
    """Follows what was right before, then likeness."""
    ranker = tiny_ranker("past", "meaning")
    return Tuner(people, embedder=word_embedder, tools=ToolRetriever(TOOLBOX, word_embedder, ranker=ranker))


def later(days: float = 1, user: str = "ines") -> Request:
    return Request(ASKED.text, user, NOW + days * DAY)


def test_an_answer_holds_tools_whether_any_fits_and_how_long_it_took(tuner: Tuner) -> None:
    answer = tuner.answer(ASKED, 2, max_tools=3)
    assert answer.request is ASKED
    assert answer.context == tuple(tuner.context(ASKED, 2))
    assert answer.tools == tuner.tools(ASKED, 3, context=answer.context).hits
    assert len(answer.tools) == 3
    assert answer.fits is not None
    assert 0 <= answer.fits <= 1
    assert set(answer.seconds) == {"context", "tools", "plan"}
    assert all(0 < seconds < 60 for seconds in answer.seconds.values())
    assert answer.plan is not None
    assert answer.plan.name == answer.tools[0].tool.name


def test_as_it_ships(people: SQLiteStore) -> None:
    tuner = Tuner(people, tools=shipped())
    served = tuner.answer(Request("Play the song Barco Negro.", "ines", NOW))
    assert served.tools[0].tool.name == "play_song"
    assert len(served.tools) == 5
    assert served.fits is not None
    assert 0.5 < served.fits < 1
    found = tuner.tools(Request("What is the square root of 81?", "ines", NOW), context=[])
    assert found.fits is not None
    assert 0 < found.fits < served.fits


def test_a_catalogue_will_do(people: SQLiteStore, word_embedder: Embedder) -> None:
    tuner = Tuner(people, embedder=word_embedder, tools=iter(TOOLBOX))
    found = tuner.tools(Request("use send_email", "ines", NOW))
    assert ids(found.hits)[0] == "Mail/send_email"
    assert len(found.hits) == 5
    assert (found.fits, found.needs_context) == (None, None)  # the ranker was made for another embedder


def test_without_tools(people: SQLiteStore, word_embedder: Embedder) -> None:
    tuner = Tuner(people, embedder=word_embedder)
    with pytest.raises(InvalidRequestError, match=r"no tools to choose from.*tools="):
        tuner.tools(ASKED)
    answer = tuner.answer(ASKED)
    assert (answer.tools, answer.fits, set(answer.seconds)) == ((), None, {"context"})
    tuner.feedback(ASKED, tool="anything")  # who keeps tools elsewhere may tell of them all the same
    assert people.feedback("ines")[0].tool == "anything"


def test_what_the_search_for_tools_refuses(tuner: Tuner) -> None:
    with pytest.raises(InvalidRequestError, match="k=0: ask for at least one tool"):
        tuner.tools(ASKED, 0)
    with pytest.raises(InvalidRequestError, match="k=0"):
        tuner.answer(ASKED, max_tools=0)
    with pytest.raises(UnknownUserError, match="'nobody'"):
        tuner.tools(Request("Sort it out.", "nobody", NOW))
    with pytest.raises(InvalidDataError, match="no tool 'fly'"):
        tuner.tools(ASKED, always=["fly"])
    with pytest.raises(InvalidRequestError, match="no item 'gone'"):
        tuner.tools(ASKED, context=[ItemHit(Item("gone", "Mail", {"subject": "x"}), 1.0)])


def test_always_and_only_go_through(tuner: Tuner) -> None:
    found = tuner.tools(ASKED, 3, always=["get_weather"], only=ToolFilter(servers=["Notes"]))
    assert ids(found.hits)[0] == "Google/get_weather"
    assert {hit.tool.app for hit in found.hits[1:]} == {"Notes"}
    assert tuner.tools(ASKED, only=ToolFilter(servers=["nowhere"])) == ToolMatches(
        (), 0.0, found.needs_context
    )


def test_somebody_without_items_gets_tools_too(tuner: Tuner, people: SQLiteStore) -> None:
    people.put_user(User("eva"))
    answer = tuner.answer(Request("Sends a new email to somebody", "eva", NOW))
    assert answer.context == ()
    assert answer.tools[0].tool.name == "send_email"


def test_context_is_found_unless_it_is_given(people: SQLiteStore, word_embedder: Embedder) -> None:
    ranker = tiny_ranker("item app")
    tools = ToolRetriever(TOOLBOX, word_embedder, ranker=ranker)
    tuner = Tuner(people, embedder=word_embedder, method="bm25", tools=tools)
    hits = {hit.item.id: hit for hit in tuner.context(ASKED, None)}
    for item in ITEMS:
        found = tuner.tools(ASKED, 3, context=[hits[item.id]])
        assert {hit.tool.app for hit in found.hits} == {item.app}
    found = tuner.tools(Request("glaze recipe", "ines", NOW), 3)  # the note, by its words
    assert {hit.tool.app for hit in found.hits} == {"Notes"}
    assert "the request hangs on “Glaze recipe”, of Notes" in found.hits[0].reasons
    without = tuner.tools(ASKED, 3, context=[])
    assert ids(without.hits) == ids(tools.search(ASKED.text, 3))


def test_a_tool_that_was_right_comes_first_the_next_time(tuner: Tuner) -> None:
    before = ids(tuner.tools(later()).hits)
    assert "Google/translate_text" not in before[:1]
    tuner.feedback(ASKED, tool="translate_text")
    hits = tuner.tools(later()).hits
    assert hits[0].tool.id == "Google/translate_text"
    assert "was right for requests like this before" in hits[0].reasons


def test_a_tool_that_was_wrong_gains_nothing(tuner: Tuner) -> None:
    before = ids(tuner.tools(later(), 59).hits)
    tuner.feedback(ASKED, tool="translate_text", ok=False)
    after = tuner.tools(later(), 59).hits
    assert ids(after).index("Google/translate_text") >= before.index("Google/translate_text")
    assert not any("was right" in said for hit in after for said in hit.reasons)


def test_a_request_does_not_see_what_came_later(tuner: Tuner) -> None:
    before = tuner.tools(later(-1), 59)
    same = tuner.tools(ASKED, 59)
    tuner.feedback(ASKED, tool="translate_text")
    assert tuner.tools(later(-1), 59) == before
    assert tuner.tools(ASKED, 59) == same
    assert tuner.tools(later(0.001), 59) != same


def test_the_past_is_each_users_own(tuner: Tuner) -> None:
    before = tuner.tools(later(user="rui"), 59)
    tuner.feedback(ASKED, tool="translate_text")
    assert tuner.tools(later(user="rui"), 59) == before


def test_forgetting_takes_the_past_along(tuner: Tuner, people: SQLiteStore) -> None:
    before = ids(tuner.tools(later(), 59).hits)
    tuner.feedback(ASKED, tool="translate_text")
    people.forget("ines")
    with pytest.raises(UnknownUserError):
        tuner.tools(later())
    people.put_user(User("ines"))
    people.put_items("ines", ITEMS)
    assert people.feedback("ines") == []
    assert ids(tuner.tools(later(), 59).hits) == before


def test_feedback_of_a_tool_is_kept_by_its_id(tuner: Tuner, people: SQLiteStore) -> None:
    tuner.feedback(ASKED, ["mail"], ["note"], tool="send_email")
    tuner.feedback(ASKED, tool="Mail/send_email", ok=False)
    kept = [(one.used, one.rejected, one.tool, one.ok) for one in people.feedback("ines")]
    assert kept == [(("mail",), ("note",), "Mail/send_email", True), ((), (), "Mail/send_email", False)]
    assert people.uses("ines") == [UsageEvent("mail", NOW)]


def test_feedback_of_what_is_not_there_is_refused(tuner: Tuner, people: SQLiteStore) -> None:
    with pytest.raises(InvalidDataError, match="no tool 'fly'"):
        tuner.feedback(ASKED, ["mail"], tool="fly")
    with pytest.raises(InvalidRequestError, match="no item 'gone'"):
        tuner.feedback(ASKED, ["gone"], tool="send_email")
    with pytest.raises(InvalidRequestError, match="no item and no tool"):
        tuner.feedback(ASKED)
    assert people.feedback("ines") == []
    assert people.uses("ines") == []


def writing(answer: str, **options: Any) -> tuple[Writer, QueryGenerator]:
    chat = Writer(answer)
    return chat, QueryGenerator(chat, **options)


def test_a_model_may_write_what_tools_are_searched_for_with(
    people: SQLiteStore, word_embedder: Embedder
) -> None:
    chat, querygen = writing("1. Gets the current weather\n2. Sends a new email")
    tools = ToolRetriever(TOOLBOX, word_embedder, ranker=tiny_ranker("meaning"))
    tuner = Tuner(people, embedder=word_embedder, tools=tools, querygen=querygen)
    answer = tuner.answer(ASKED, max_tools=3)
    assert answer.queries == ("Gets the current weather", "Sends a new email")
    assert ids(answer.tools)[:2] == ["Google/get_weather", "Mail/send_email"]
    assert answer.tools[1].reasons[0] == "found by “Sends a new email”"
    assert list(answer.seconds) == ["context", "queries", "tools", "plan"]
    assert tuner.tools(ASKED, 3, context=answer.context).hits == answer.tools
    assert len(chat.asked) == 1
    always = tuner.tools(ASKED, 3, always=["play_song"], only=ToolFilter(servers=["Mail"]))
    assert ids(always.hits)[0] == "Music/play_song"
    assert {hit.tool.app for hit in always.hits[1:]} == {"Mail"}


def test_without_a_model_no_query_is_shown(tuner: Tuner) -> None:
    assert tuner.answer(ASKED).queries == ()


def test_a_model_that_says_nothing_changes_nothing(people: SQLiteStore, word_embedder: Embedder) -> None:
    tools = ToolRetriever(TOOLBOX, word_embedder, ranker=tiny_ranker("past", "meaning"))
    plain = Tuner(people, embedder=word_embedder, tools=tools).answer(ASKED)
    for chat in (Writer("I'm sorry."), Broken()):
        tuner = Tuner(people, embedder=word_embedder, tools=tools, querygen=QueryGenerator(chat))
        answer = tuner.answer(ASKED)
        assert (answer.tools, answer.fits, answer.queries) == (plain.tools, plain.fits, ())


def test_what_was_right_before_is_first_where_the_request_is(
    people: SQLiteStore, word_embedder: Embedder
) -> None:
    _, querygen = writing("Gets the current weather", request_first=True)
    tools = ToolRetriever(TOOLBOX, word_embedder, ranker=tiny_ranker("past", "meaning"))
    tuner = Tuner(people, embedder=word_embedder, tools=tools, querygen=querygen)
    tuner.feedback(ASKED, tool="translate_text")
    assert ids(tuner.tools(later()).hits)[:2] == ["Google/translate_text", "Google/get_weather"]


def test_forgetting_takes_along_what_was_written(people: SQLiteStore, word_embedder: Embedder) -> None:
    chat, querygen = writing("Gets the current weather")
    tuner = Tuner(people, embedder=word_embedder, tools=TOOLBOX, querygen=querygen)
    for user in ("ines", "rui"):
        tuner.tools(later(user=user))
    tuner.forget("ines")
    assert people.users() == ["rui"]
    with pytest.raises(UnknownUserError, match="ines"):
        tuner.tools(later(), context=[])
    assert len(chat.asked) == 2
    people.put_user(User("ines"))
    for user in ("ines", "rui"):
        tuner.tools(later(user=user))
    assert len(chat.asked) == 3
    Tuner(people, embedder=word_embedder).forget("rui")
    assert people.users() == ["ines"]


def test_queries_without_tools_are_refused(people: SQLiteStore, word_embedder: Embedder) -> None:
    with pytest.raises(InvalidRequestError, match="pass tools=… as well"):
        Tuner(people, embedder=word_embedder, querygen=writing("")[1])


class Narrow(WordEmbedder):
    """The same in fewer numbers, under its own name."""

    name = "hashed words, narrow"

    def embed(self, texts: Sequence[str]) -> Matrix:
        rows = super().embed(texts)[:, :100] + np.float32(1e-3)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_tools_may_have_an_embedder_of_their_own(people: SQLiteStore, word_embedder: Embedder) -> None:
    tuner = Tuner(people, embedder=word_embedder, tools=ToolRetriever(TOOLBOX, Narrow()))
    answer = tuner.answer(Request("send_email about the kiln", "ines", NOW))
    assert answer.tools[0].tool.name == "send_email"
    assert answer.fits is None
