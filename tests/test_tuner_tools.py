"""Tools through the tuner: found with their context, remembered by feedback, and told in an answer."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from tests.conftest import WordEmbedder
from tests.lab.worlds.scripted_planner import FIRST, ScriptedPlanner
from tests.tools.querygen.fake_writer import FailingModel, FixedModel
from tests.tools.tiny_ranker import bundled_retriever, tiny_ranker

from contextune import Tuner
from contextune.embed import Embedder, Matrix
from contextune.errors import InvalidDataError, InvalidRequestError, UnknownUserError
from contextune.plan import PlanningInput
from contextune.store import SQLiteStore
from contextune.tools import QueryGenerator, ToolFilter, ToolMatches, ToolRetriever, bundled_toolbox
from contextune.types import Item, ItemHit, Plan, Request, ToolHit, UsageEvent, User

NOW = datetime(2024, 5, 16, 17, 40)
DAY = timedelta(days=1)
TOOLBOX = bundled_toolbox()
ITEMS = [
    Item("mail", "Mail", {"subject": "Kiln quote", "content": "The price.", "date": "2024-05-15T09:00"}),
    Item("note", "Notes", {"title": "Glaze recipe", "content": "Ash.", "modified": "2024-05-14T09:00"}),
    Item("song", "Music", {"song_name": "Barco Negro", "artist": "Mariza", "played_time": "2024-05-13"}),
]
ASKED = Request("Sort it out with her.", "ines", NOW)
UNREAD = ScriptedPlanner({ASKED.text: [(FIRST, {}, 0.9)]})
"""Calls the first tool; with it, tools stay in the order of the search."""


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


def test_answer_has_tools_fit_and_timings(tuner: Tuner) -> None:
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


def test_bundled_models_find_the_tool(people: SQLiteStore) -> None:
    tuner = Tuner(people, tools=bundled_retriever())
    served = tuner.answer(Request("Play the song Barco Negro.", "ines", NOW))
    assert served.tools[0].tool.name == "play_song"
    assert len(served.tools) == 5
    assert served.fits is not None
    assert 0.5 < served.fits < 1
    found = tuner.tools(Request("What is the square root of 81?", "ines", NOW), context=[])
    assert found.fits is not None
    assert 0 < found.fits < served.fits


def test_tools_may_be_a_catalogue(people: SQLiteStore, word_embedder: Embedder) -> None:
    tuner = Tuner(people, embedder=word_embedder, tools=iter(TOOLBOX))
    found = tuner.tools(Request("use send_email", "ines", NOW))
    assert ids(found.hits)[0] == "Mail/send_email"
    assert len(found.hits) == 5
    assert found.needs_context is None  # the ranker was made for another embedder
    assert found.fits is not None  # the reading model needs none


def test_tuner_without_tools(people: SQLiteStore, word_embedder: Embedder) -> None:
    tuner = Tuner(people, embedder=word_embedder)
    with pytest.raises(InvalidRequestError, match=r"this tuner has no tools.*tools="):
        tuner.tools(ASKED)
    answer = tuner.answer(ASKED)
    assert (answer.tools, answer.fits, set(answer.seconds)) == ((), None, {"context"})
    tuner.feedback(ASKED, tool="anything")  # who keeps tools elsewhere may tell of them all the same
    assert people.feedback("ines")[0].tool == "anything"


def test_invalid_tool_searches_are_rejected(tuner: Tuner) -> None:
    with pytest.raises(InvalidRequestError, match="k must be at least 1, not 0"):
        tuner.tools(ASKED, 0)
    with pytest.raises(InvalidRequestError, match="k must be at least 1"):
        tuner.answer(ASKED, max_tools=0)
    with pytest.raises(UnknownUserError, match="'nobody'"):
        tuner.tools(Request("Sort it out.", "nobody", NOW))
    with pytest.raises(InvalidDataError, match="no tool 'fly'"):
        tuner.tools(ASKED, always=["fly"])
    with pytest.raises(InvalidRequestError, match="no item 'gone'"):
        tuner.tools(ASKED, context=[ItemHit(Item("gone", "Mail", {"subject": "x"}), 1.0)])


def test_always_and_filter_are_passed_on(tuner: Tuner) -> None:
    found = tuner.tools(ASKED, 3, always=["get_weather"], filter=ToolFilter(servers=["Notes"]))
    assert ids(found.hits)[0] == "Google/get_weather"
    assert {hit.tool.app for hit in found.hits[1:]} == {"Notes"}
    assert tuner.tools(ASKED, filter=ToolFilter(servers=["nowhere"])) == ToolMatches(
        (), 0.0, found.needs_context
    )


def test_user_without_items_gets_tools(tuner: Tuner, people: SQLiteStore) -> None:
    people.put_user(User("eva"))
    answer = tuner.answer(Request("Sends a new email to somebody", "eva", NOW))
    assert answer.context == ()
    assert answer.tools[0].tool.name == "send_email"


def test_context_is_retrieved_unless_passed(people: SQLiteStore, word_embedder: Embedder) -> None:
    ranker = tiny_ranker("item app")
    tools = ToolRetriever(TOOLBOX, word_embedder, ranker=ranker)
    tuner = Tuner(people, embedder=word_embedder, method="bm25", tools=tools, planner=UNREAD)
    hits = {hit.item.id: hit for hit in tuner.context(ASKED, None)}
    for item in ITEMS:
        found = tuner.tools(ASKED, 3, context=[hits[item.id]])
        assert {hit.tool.app for hit in found.hits} == {item.app}
    found = tuner.tools(Request("glaze recipe", "ines", NOW), 3)  # the note, by its words
    assert {hit.tool.app for hit in found.hits} == {"Notes"}
    assert "the request refers to “Glaze recipe” in Notes" in found.hits[0].reasons
    without = tuner.tools(ASKED, 3, context=[])
    assert ids(without.hits) == ids(tools.search(ASKED.text, 3))


def test_tool_with_positive_feedback_comes_first(people: SQLiteStore, word_embedder: Embedder) -> None:
    tools = ToolRetriever(TOOLBOX, word_embedder, ranker=tiny_ranker("past", "meaning"))
    tuner = Tuner(people, embedder=word_embedder, tools=tools, planner=UNREAD)
    before = ids(tuner.tools(later()).hits)
    assert "Google/translate_text" not in before[:1]
    tuner.feedback(ASKED, tool="translate_text")
    hits = tuner.tools(later()).hits
    assert hits[0].tool.id == "Google/translate_text"
    assert "was right for similar requests before" in hits[0].reasons


def test_tool_with_positive_feedback_rises_though_others_read_better(people: SQLiteStore) -> None:
    tuner = Tuner(people, tools=bundled_retriever())
    before = ids(tuner.tools(later(), 59).hits)
    tuner.feedback(ASKED, tool="translate_text")
    after = tuner.tools(later(), 59).hits
    assert ids(after).index("Google/translate_text") < min(8, before.index("Google/translate_text"))
    told = next(hit for hit in after if hit.tool.id == "Google/translate_text")
    assert "was right for similar requests before" in told.reasons


def test_tool_with_negative_feedback_gains_nothing(tuner: Tuner) -> None:
    before = ids(tuner.tools(later(), 59).hits)
    tuner.feedback(ASKED, tool="translate_text", ok=False)
    after = tuner.tools(later(), 59).hits
    assert ids(after).index("Google/translate_text") >= before.index("Google/translate_text")
    assert not any("was right" in said for hit in after for said in hit.reasons)


def test_earlier_request_ignores_later_feedback(tuner: Tuner) -> None:
    before = tuner.tools(later(-1), 59)
    same = tuner.tools(ASKED, 59)
    tuner.feedback(ASKED, tool="translate_text")
    assert tuner.tools(later(-1), 59) == before
    assert tuner.tools(ASKED, 59) == same
    assert tuner.tools(later(0.001), 59) != same


def test_feedback_of_another_user_does_not_count(tuner: Tuner) -> None:
    before = tuner.tools(later(user="rui"), 59)
    tuner.feedback(ASKED, tool="translate_text")
    assert tuner.tools(later(user="rui"), 59) == before


def test_forget_removes_past_calls(tuner: Tuner, people: SQLiteStore) -> None:
    before = ids(tuner.tools(later(), 59).hits)
    tuner.feedback(ASKED, tool="translate_text")
    people.forget("ines")
    with pytest.raises(UnknownUserError):
        tuner.tools(later())
    people.put_user(User("ines"))
    people.put_items("ines", ITEMS)
    assert people.feedback("ines") == []
    assert ids(tuner.tools(later(), 59).hits) == before


def test_tool_feedback_is_stored_by_id(tuner: Tuner, people: SQLiteStore) -> None:
    tuner.feedback(ASKED, ["mail"], ["note"], tool="send_email")
    tuner.feedback(ASKED, tool="Mail/send_email", ok=False)
    kept = [(one.used, one.rejected, one.tool, one.ok) for one in people.feedback("ines")]
    assert kept == [(("mail",), ("note",), "Mail/send_email", True), ((), (), "Mail/send_email", False)]
    assert people.uses("ines") == [UsageEvent("mail", NOW)]


def test_feedback_on_unknown_tool_is_rejected(tuner: Tuner, people: SQLiteStore) -> None:
    with pytest.raises(InvalidDataError, match="no tool 'fly'"):
        tuner.feedback(ASKED, ["mail"], tool="fly")
    with pytest.raises(InvalidRequestError, match="no item 'gone'"):
        tuner.feedback(ASKED, ["gone"], tool="send_email")
    with pytest.raises(InvalidRequestError, match="feedback is empty"):
        tuner.feedback(ASKED)
    assert people.feedback("ines") == []
    assert people.uses("ines") == []


def writing(answer: str, **options: Any) -> tuple[FixedModel, QueryGenerator]:
    chat = FixedModel(answer)
    return chat, QueryGenerator(chat, **options)


def test_language_model_writes_queries(people: SQLiteStore, word_embedder: Embedder) -> None:
    chat, querygen = writing("1. Gets the current weather\n2. Sends a new email")
    tools = ToolRetriever(TOOLBOX, word_embedder, ranker=tiny_ranker("meaning"))
    tuner = Tuner(people, embedder=word_embedder, tools=tools, querygen=querygen, planner=UNREAD)
    answer = tuner.answer(ASKED, max_tools=3)
    assert answer.queries == ("Gets the current weather", "Sends a new email")
    assert ids(answer.tools)[:2] == ["Google/get_weather", "Mail/send_email"]
    assert answer.tools[1].reasons[0] == "found by “Sends a new email”"
    assert list(answer.seconds) == ["context", "queries", "tools", "plan"]
    found = tuner.tools(ASKED, 3, context=answer.context).hits
    assert answer.plan is not None
    assert set(ids(answer.tools)) <= {*ids(found), answer.plan.tool}  # what is called is always shown
    assert len(chat.asked) == 1
    always = tuner.tools(ASKED, 3, always=["play_song"], filter=ToolFilter(servers=["Mail"]))
    assert ids(always.hits)[0] == "Music/play_song"
    assert {hit.tool.app for hit in always.hits[1:]} == {"Mail"}


def test_no_queries_without_language_model(tuner: Tuner) -> None:
    assert tuner.answer(ASKED).queries == ()


def test_empty_model_answer_changes_nothing(people: SQLiteStore, word_embedder: Embedder) -> None:
    tools = ToolRetriever(TOOLBOX, word_embedder, ranker=tiny_ranker("past", "meaning"))
    plain = Tuner(people, embedder=word_embedder, tools=tools).answer(ASKED)
    for chat in (FixedModel("I'm sorry."), FailingModel()):
        tuner = Tuner(people, embedder=word_embedder, tools=tools, querygen=QueryGenerator(chat))
        answer = tuner.answer(ASKED)
        assert (answer.tools, answer.fits, answer.queries) == (plain.tools, plain.fits, ())


def test_past_calls_count_with_generated_queries(people: SQLiteStore, word_embedder: Embedder) -> None:
    _, querygen = writing("Gets the current weather", request_first=True)
    tools = ToolRetriever(TOOLBOX, word_embedder, ranker=tiny_ranker("past", "meaning"))
    tuner = Tuner(people, embedder=word_embedder, tools=tools, querygen=querygen, planner=UNREAD)
    tuner.feedback(ASKED, tool="translate_text")
    assert ids(tuner.tools(later()).hits)[:2] == ["Google/translate_text", "Google/get_weather"]


def test_forget_removes_generated_queries(people: SQLiteStore, word_embedder: Embedder) -> None:
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


def test_querygen_without_tools_is_rejected(people: SQLiteStore, word_embedder: Embedder) -> None:
    with pytest.raises(InvalidRequestError, match="pass tools=… as well"):
        Tuner(people, embedder=word_embedder, querygen=writing("")[1])


class Narrow(WordEmbedder):
    """The same in fewer numbers, under its own name."""

    name = "hashed words, narrow"

    def embed(self, texts: Sequence[str]) -> Matrix:
        rows = super().embed(texts)[:, :100] + np.float32(1e-3)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_tools_may_have_their_own_embedder(people: SQLiteStore, word_embedder: Embedder) -> None:
    tuner = Tuner(people, embedder=word_embedder, tools=ToolRetriever(TOOLBOX, Narrow()))
    answer = tuner.answer(Request("send_email about the kiln", "ines", NOW))
    assert answer.tools[0].tool.name == "send_email"
    assert answer.context  # whose vectors are not those of the tools
    assert answer.plan is not None


def test_min_fit_decides_what_is_refused(people: SQLiteStore, word_embedder: Embedder) -> None:
    retriever = ToolRetriever(TOOLBOX, word_embedder, ranker=tiny_ranker("past", "meaning"))
    asked = Request("Descale the espresso machine", "ines", NOW)
    fits = Tuner(people, embedder=word_embedder, tools=retriever).answer(asked).fits
    assert fits is not None
    strict = Tuner(people, embedder=word_embedder, tools=retriever, min_fit=min(1.0, fits + 0.01))
    answer = strict.answer(asked)
    assert answer.plan is not None
    assert answer.plan.decision == "none"
    assert answer.unknown_words == ("Descale", "espresso", "machine")
    assert strict.tools(asked).none_fits
    steps = strict.steps(asked, answer=answer)
    assert steps is not None
    assert [plan.decision for plan in steps] == ["none"]
    lax = Tuner(people, embedder=word_embedder, tools=retriever, min_fit=0).answer(asked)
    assert lax.plan is not None
    assert lax.plan.decision != "none"


class SurePlanner:
    """Calls the first tool for certain."""

    def plan(self, inputs: PlanningInput, tools: Sequence[ToolHit], fits: float | None = None) -> Plan | None:
        del inputs, fits
        return Plan(tools[0].tool.id)


def sure_of(name: str, people: SQLiteStore, embedder: Embedder) -> Tuner:
    tools = [tool for tool in TOOLBOX if tool.name == name]
    retriever = ToolRetriever(tools, embedder, method="bm25")
    return Tuner(people, embedder=embedder, tools=retriever, planner=SurePlanner())


def test_call_that_was_right_before_is_still_confirmed(people: SQLiteStore, word_embedder: Embedder) -> None:
    tuner = sure_of("redial_last_number", people, word_embedder)
    for days in range(3):
        asked = Request("Redial the last number", "ines", NOW + days * DAY)
        plan = tuner.answer(asked).plan
        assert plan is not None
        assert (plan.name, plan.decision) == ("PhoneCall/redial_last_number", "confirm")
        tuner.feedback(asked, tool="redial_last_number", ok=True)


def test_request_in_another_language_is_never_acted_on(people: SQLiteStore, word_embedder: Embedder) -> None:
    tuner = sure_of("get_current_song", people, word_embedder)
    texts = ("Which song is on now?", "Wie ist der Song, den ich gerade auf dem Handy habe?")
    english, german = (tuner.answer(Request(text, "ines", NOW)).plan for text in texts)
    assert english is not None
    assert english.decision == "act"
    assert german is not None
    assert german.question is not None
    assert german.decision == "confirm"
    assert german.question.text.startswith("This looks like German")
    assert german.question.choose(0).ready


def test_words_that_an_item_or_a_contact_has_are_known(people: SQLiteStore, word_embedder: Embedder) -> None:
    retriever = ToolRetriever(TOOLBOX, word_embedder, ranker=tiny_ranker("past", "meaning"))
    tuner = Tuner(people, embedder=word_embedder, tools=retriever, min_fit=1.0)
    answer = tuner.answer(Request("Descale the kiln with glaze on Friday", "ines", NOW))
    assert answer.unknown_words == ("Descale",)
    assert answer.plan is not None
    assert answer.plan.question is not None
    assert "Nothing here knows “Descale”." in answer.plan.question.text
