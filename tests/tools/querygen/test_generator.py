"""QueryGenerator and search_all with fake language models."""

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import WordEmbedder
from tests.llm.chat_server import ChatServer
from tests.tools.querygen.fake_writer import FailingModel, FixedModel, SilentModel
from tests.tools.tiny_ranker import tiny_ranker

from contextune.errors import InvalidDataError, InvalidRequestError
from contextune.llm import CachedChat, ChatReply, Draft, EndpointChat, Message, Sampling
from contextune.tools import QueryGenerator, ToolFilter, ToolMatches, ToolQueries, ToolRetriever, search_all
from contextune.tools.query import PastCalls
from contextune.tools.querygen.generator import KINDS
from contextune.tools.querygen.names import KnownNames
from contextune.tools.querygen.prompts import describe_messages, intent_messages
from contextune.types import Tool, ToolHit

PARTY = "I'm planning a small party"
GUESTS, FOOD = "Invites guests by mail", "Orders food for delivery"
BOTH = f"{GUESTS}\n{FOOD}"
TOOLS = [
    Tool("invite", "Invites guests by mail"),
    Tool("write", "Writes mail to guests"),
    Tool("order", "Orders food for delivery"),
    Tool("cook", "Finds recipes to cook food"),
    Tool("small_talk", "Planning small talk at a party"),
    Tool("alarm", "Sets an alarm"),
]


@pytest.fixture
def retriever() -> ToolRetriever:
    return ToolRetriever(TOOLS, WordEmbedder(), method="semantic")


def names(hits: Sequence[ToolHit]) -> list[str]:
    return [hit.tool.name for hit in hits]


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        ({}, (GUESTS, FOOD, PARTY)),
        ({"request_first": True}, (PARTY, GUESTS, FOOD)),
        ({"with_request": False}, (GUESTS, FOOD)),
    ],
)
def test_request_is_added_to_the_queries(options: dict[str, Any], texts: tuple[str, ...]) -> None:
    queries = QueryGenerator(FixedModel(BOTH), **options).queries(PARTY)
    assert queries == ToolQueries(PARTY, (GUESTS, FOOD), texts)


@pytest.mark.parametrize("with_request", [True, False])
@pytest.mark.parametrize(
    "chat", [FailingModel(), SilentModel(), FixedModel(""), FixedModel("Sure!"), FixedModel(PARTY)]
)
def test_request_alone_if_the_answer_is_unusable(chat: FixedModel, with_request: bool) -> None:
    queries = QueryGenerator(chat, with_request=with_request).queries(PARTY)
    assert queries == ToolQueries(PARTY, (), (PARTY,))


def test_messages_and_sampling() -> None:
    chat = FixedModel(BOTH)
    QueryGenerator(chat).queries(PARTY)
    QueryGenerator(chat, kind="intents", sampling=Sampling(1.3, 0.9, 10, drafts=24)).queries(PARTY)
    (descriptions, greedy), (intents, sampled) = chat.asked
    assert descriptions == describe_messages(PARTY)
    assert intents == intent_messages(PARTY)
    assert greedy.temperature == 0
    assert greedy.max_tokens < 256
    assert sampled == Sampling(1.3, 0.9, 10, drafts=1)  # only one answer is used


def test_invalid_arguments_are_errors() -> None:
    with pytest.raises(InvalidRequestError, match="'poems': use descriptions, intents, both"):
        QueryGenerator(FixedModel(BOTH), kind="poems")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidRequestError, match="text is empty"):
        QueryGenerator(FixedModel(BOTH)).queries(" ")
    assert set(KINDS) == {"descriptions", "intents", "both"}


def test_descriptions_and_intents_are_combined_in_turn() -> None:
    class Both(FixedModel):
        def ask(self, messages: Sequence[Message], *args: Any, **kwargs: Any) -> ChatReply:
            super().ask(messages, *args, **kwargs)
            intents = list(messages) == intent_messages(PARTY)
            return ChatReply((Draft("Eat well\nSee friends" if intents else BOTH),))

    chat = Both("")
    queries = QueryGenerator(chat, kind="both").queries(PARTY)
    assert queries.generated == (GUESTS, "Eat well", FOOD, "See friends")
    assert queries.texts[-1] == PARTY
    assert len(chat.asked) == 2


def test_invented_names_are_removed_from_queries() -> None:
    known = KnownNames(TOOLS)
    chat = FixedModel(f"PartyPlanner: {GUESTS}\nOrder — {FOOD}")
    assert QueryGenerator(chat, known_names=known).queries(PARTY).generated == (GUESTS, f"Order — {FOOD}")
    assert QueryGenerator(chat).queries(PARTY).generated == (f"PartyPlanner: {GUESTS}", f"Order — {FOOD}")


def test_failure_is_counted_and_logged_without_the_request(caplog: pytest.LogCaptureFixture) -> None:
    generator = QueryGenerator(FailingModel())
    with caplog.at_level(logging.WARNING):
        generator.queries(PARTY)
        generator.queries(PARTY)  # failures are not cached
    assert generator.failures == 2
    assert "the server is asleep" in caplog.text
    assert "party" not in caplog.text


def test_truncated_answer_loses_its_last_line() -> None:
    assert QueryGenerator(FixedModel(f"{GUESTS}\nOrders f", whole=False)).queries(PARTY).generated == (
        GUESTS,
    )
    assert QueryGenerator(FixedModel("Orders f", whole=False)).queries(PARTY).generated == ("Orders f",)


def test_answers_are_cached_by_user_and_forgotten() -> None:
    chat = FixedModel(BOTH)
    generator = QueryGenerator(chat)
    for user in ("ines", "rui", "ines", "rui"):
        generator.queries(PARTY, user)
    assert len(chat.asked) == 2
    generator.forget("ines")
    generator.queries(PARTY, "rui")
    assert len(chat.asked) == 2
    generator.queries(PARTY, "ines")
    assert len(chat.asked) == 3
    generator.forget()
    generator.queries(PARTY, "rui")
    assert len(chat.asked) == 4


def test_answers_are_cached_on_disk(tmp_path: Path) -> None:
    chat = FixedModel(BOTH)
    kept = QueryGenerator(CachedChat(chat, folder=tmp_path))
    wrote = kept.queries(PARTY, "ines")
    again = QueryGenerator(CachedChat(chat, folder=tmp_path))
    assert again.queries(PARTY, "ines") == wrote
    assert len(chat.asked) == 1
    again.forget("ines")
    QueryGenerator(CachedChat(chat, folder=tmp_path)).queries(PARTY, "ines")
    assert len(chat.asked) == 2


def test_openai_compatible_server(retriever: ToolRetriever) -> None:
    with ChatServer() as server:
        server.texts = [f"Sure, here you are:\n\n1. **{GUESTS}**\n2. **{FOOD}**\n\nI hope this helps!"]
        chat = EndpointChat("tiny", base_url=server.url, api_key="key", retries=0)
        generator = QueryGenerator(chat)
        found = search_all(retriever, generator.queries(PARTY), 3)
        generator.queries(PARTY)
        assert names(found.hits) == ["invite", "order", "small_talk"]
        (asked,) = server.asked
        assert asked["messages"][1] == {"role": "user", "content": f"<request> {PARTY} </request>"}
        assert asked["temperature"] == 0
        server.answer = lambda _: (500, {"error": PARTY})
        assert generator.queries("Wake me at six").texts == ("Wake me at six",)
        assert generator.failures == 1


def test_generator_is_thread_safe() -> None:
    generator = QueryGenerator(FixedModel(BOTH))
    texts = [f"party {n % 5}" for n in range(200)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(generator.queries, texts))
    assert [queries.request for queries in found] == texts


def test_result_lists_are_interleaved(retriever: ToolRetriever) -> None:
    found = search_all(retriever, QueryGenerator(FixedModel(BOTH)).queries(PARTY), 5)
    assert names(found.hits) == ["invite", "order", "small_talk", "write", "cook"]
    assert [hit.score for hit in found.hits] == [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]
    by_request = retriever.find(PARTY, 5).hits[0]
    assert found.hits[0].reasons == (f"found by “{GUESTS}”", "semantic similarity 0.89")
    assert found.hits[1].reasons[0] == f"found by “{FOOD}”"
    assert found.hits[2].reasons == by_request.reasons
    assert names(search_all(retriever, ToolQueries(PARTY, (GUESTS, FOOD), (GUESTS, FOOD)), 2).hits) == [
        "invite",
        "order",
    ]


def test_request_alone_equals_find(retriever: ToolRetriever) -> None:
    alone = ToolQueries.from_answer(PARTY, "")
    assert search_all(retriever, alone, 3, always=["alarm"]) == retriever.find(PARTY, 3, always=["alarm"])


def test_always_and_filter(retriever: ToolRetriever) -> None:
    queries = ToolQueries.from_answer(PARTY, BOTH)
    found = search_all(retriever, queries, 3, always=["order", "alarm", "order"])
    assert names(found.hits) == ["order", "alarm", "invite", "small_talk"]
    assert found.hits[0].reasons == ("always offered",)
    assert search_all(retriever, queries, filter=ToolFilter(servers=["nowhere"])) == ToolMatches(())
    with pytest.raises(InvalidDataError, match="no tool 'fly'"):
        search_all(retriever, queries, always=["fly"])
    with pytest.raises(InvalidRequestError, match="at least 1, not 0"):
        search_all(retriever, queries, 0)


def test_fits_depends_on_the_request_alone() -> None:
    ranker = tiny_ranker("past", "meaning")
    retriever = ToolRetriever(TOOLS, WordEmbedder(), ranker=ranker)
    plain = retriever.find(PARTY, 3)
    assert plain.fits is not None
    for first in (True, False):
        found = search_all(retriever, ToolQueries.from_answer(PARTY, BOTH, first=first), 3)
        assert (found.fits, found.needs_context) == (plain.fits, plain.needs_context)
    without = search_all(retriever, ToolQueries.from_answer(PARTY, BOTH, with_request=False), 3)
    assert (without.fits, without.needs_context) == (None, None)


def test_past_calls_apply_to_the_request_alone() -> None:
    retriever = ToolRetriever(TOOLS, WordEmbedder(), ranker=tiny_ranker("past", "meaning"))
    vectors = retriever.embedder.embed([PARTY])
    past = PastCalls(np.array([5]), vectors, np.array([1.0]), np.array([True]))
    found = search_all(retriever, ToolQueries.from_answer(PARTY, GUESTS, first=True), 2, past_calls=past)
    assert names(found.hits) == ["alarm", "invite"]
    as_query = PastCalls(np.array([5]), retriever.embedder.embed([GUESTS]), np.array([1.0]), np.array([True]))
    found = search_all(
        retriever, ToolQueries.from_answer(PARTY, GUESTS, with_request=False), 2, past_calls=as_query
    )
    assert names(found.hits)[0] == "invite"


@given(
    answer=st.lists(st.sampled_from([GUESTS, FOOD, "alarm", "talk", "cook", "unknown words"])).map("\n".join),
    k=st.integers(1, 8),
    with_request=st.booleans(),
    first=st.booleans(),
)
def test_search_all_returns_k_distinct_tools(answer: str, k: int, with_request: bool, first: bool) -> None:
    retriever = ToolRetriever(TOOLS, WordEmbedder(), method="semantic")
    queries = ToolQueries.from_answer(PARTY, answer, with_request=with_request, first=first)
    found = search_all(retriever, queries, k)
    assert len(found.hits) == len(set(names(found.hits))) == min(k, len(TOOLS))
    best = [retriever.find(query, 1).hits[0].tool.name for query in queries.texts]
    assert found.hits[0].tool.name == best[0]
    assert set(best[:k]) <= set(names(found.hits))
