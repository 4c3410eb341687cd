"""Search over a framework's tools, which come and go."""

import pytest
from tests.counting_embedder import CountingEmbedder

from contextune.embed import Embedder
from contextune.errors import InvalidDataError
from contextune.integrations._finder import ToolCallTurn, ToolFinder, UserTurn, search_each
from contextune.integrations._stable_order import StableOrder
from contextune.tools import ToolRetriever
from contextune.types import Tool


def make_tools(*names: str) -> list[Tool]:
    return [Tool(name, f"To {name.replace('_', ' ')}.") for name in names]


def test_results_of_several_queries_are_interleaved(retriever: ToolRetriever) -> None:
    found = search_each(retriever, ["Order lunch", " ", "Water the plants"], 2).tools
    assert [tool.name for tool in found] == ["order_lunch", "water plants"]
    found = search_each(retriever, ["Order lunch"], 2, exclude=["order_lunch"]).tools
    assert len(found) == 2
    assert "order_lunch" not in [tool.name for tool in found]


def test_only_new_tools_are_embedded(word_embedder: Embedder) -> None:
    counting = CountingEmbedder(word_embedder)
    finder = ToolFinder(embedder=counting)
    assert finder.names(make_tools("fly_kite", "sail_boat"), ["sail"], 1) == ["sail_boat"]
    assert finder.names(make_tools("fly_kite", "sail_boat"), ["sail"], 1) == ["sail_boat"]
    assert finder.names(make_tools("fly_kite", "ride_horse"), ["ride"], 1) == ["ride_horse"]
    assert sum("fly kite" in text for text in counting.texts) == 1


def test_changed_tools_are_reindexed(word_embedder: Embedder) -> None:
    finder = ToolFinder(embedder=word_embedder)
    finder.names([Tool("a", "Fly a kite."), Tool("b", "Sail.")], ["kite"], 1)
    assert finder.names([Tool("a", "Sail."), Tool("b", "Fly a kite.")], ["kite"], 1) == ["b"]


def test_no_tools_or_blank_query_finds_nothing(word_embedder: Embedder) -> None:
    assert ToolFinder(embedder=word_embedder).names([], ["anything"], 3) == []
    assert ToolFinder(embedder=word_embedder).names(make_tools("fly_kite"), ["", " "], 3) == []


def test_custom_retriever_finds_only_framework_tools(retriever: ToolRetriever) -> None:
    finder = ToolFinder(retriever, naming=lambda tool: f"{tool.app}_{tool.name}")
    offered = make_tools("mail_search", "rooms_book_room")
    assert finder.names(offered, ["Search the mailbox for an email"], 5)[0] == "mail_search"
    assert set(finder.names(offered, ["Cancel the booking"], 5)) <= {"mail_search", "rooms_book_room"}
    with pytest.raises(InvalidDataError, match=r"none of the framework's tools, such as 'fly_kite'.*naming"):
        finder.names(make_tools("fly_kite"), ["kite"], 5)


def test_continued_conversation_keeps_the_order(word_embedder: Embedder) -> None:
    finder = ToolFinder(embedder=word_embedder)
    offered = make_tools("fly_kite", "sail_boat", "ride_horse", "read_map")
    conversation = [
        UserTurn("fly"),
        ToolCallTurn("ride_horse"),
        ToolCallTurn("no_tool"),
        UserTurn("sail"),
        UserTurn("fly"),
        UserTurn("read"),
    ]
    before: tuple[str, ...] = ()
    for end in range(1, len(conversation) + 1):
        after = finder.for_conversation(offered, conversation[:end], StableOrder(1, 4), 1)
        assert after[: len(before)] == before
        before = after
    assert before == ("fly_kite", "ride_horse", "sail_boat", "read_map")


def test_window_of_a_long_conversation_moves_in_steps(word_embedder: Embedder) -> None:
    finder = ToolFinder(embedder=word_embedder)
    offered = make_tools("fly_kite", "sail_boat", "ride_horse")

    def names(*texts: str) -> tuple[str, ...]:
        return finder.for_conversation(offered, [UserTurn(text) for text in texts], StableOrder(1, 3), 1)

    assert names("fly", *["sail"] * 18) == ("fly_kite", "sail_boat")
    assert names("fly", *["sail"] * 19) == ("sail_boat",)
    assert names("fly", *["sail"] * 19, *["ride"] * 9) == ("sail_boat", "ride_horse")
