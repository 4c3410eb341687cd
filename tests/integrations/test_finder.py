"""Finding among tools that come and go."""

import pytest
from tests.counting_embedder import Counting

from contextune.embed import Embedder
from contextune.errors import InvalidDataError
from contextune.integrations._finder import ToolCallTurn, ToolFinder, UserTurn, search_each
from contextune.integrations._stable_order import StableOrder
from contextune.tools import ToolRetriever
from contextune.types import Tool


def plain(*names: str) -> list[Tool]:
    return [Tool(name, f"To {name.replace('_', ' ')}.") for name in names]


def test_each_query_has_its_turn(retriever: ToolRetriever) -> None:
    found = search_each(retriever, ["Order lunch", " ", "Water the plants"], 2)
    assert [tool.name for tool in found] == ["order_lunch", "water plants"]
    found = search_each(retriever, ["Order lunch"], 2, beside=["order_lunch"])
    assert len(found) == 2
    assert "order_lunch" not in [tool.name for tool in found]


def test_only_what_is_new_is_embedded(word_embedder: Embedder) -> None:
    counting = Counting(word_embedder)
    finder = ToolFinder(embedder=counting)
    assert finder.names(plain("fly_kite", "sail_boat"), ["sail"], 1) == ["sail_boat"]
    assert finder.names(plain("fly_kite", "sail_boat"), ["sail"], 1) == ["sail_boat"]
    assert finder.names(plain("fly_kite", "ride_horse"), ["ride"], 1) == ["ride_horse"]
    assert sum("fly kite" in text for text in counting.texts) == 1


def test_a_tool_that_changed_is_found_as_it_is_now(word_embedder: Embedder) -> None:
    finder = ToolFinder(embedder=word_embedder)
    finder.names([Tool("a", "Fly a kite."), Tool("b", "Sail.")], ["kite"], 1)
    assert finder.names([Tool("a", "Sail."), Tool("b", "Fly a kite.")], ["kite"], 1) == ["b"]


def test_no_tools_no_names(word_embedder: Embedder) -> None:
    assert ToolFinder(embedder=word_embedder).names([], ["anything"], 3) == []
    assert ToolFinder(embedder=word_embedder).names(plain("fly_kite"), ["", " "], 3) == []


def test_a_retriever_finds_only_what_is_offered(retriever: ToolRetriever) -> None:
    finder = ToolFinder(retriever, naming=lambda tool: f"{tool.app}_{tool.name}")
    offered = plain("mail_search", "rooms_book_room")
    assert finder.names(offered, ["Search the mailbox for an email"], 5)[0] == "mail_search"
    assert set(finder.names(offered, ["Cancel the booking"], 5)) <= {"mail_search", "rooms_book_room"}
    with pytest.raises(
        InvalidDataError, match=r"knows none of the tools offered, such as 'fly_kite'.*naming"
    ):
        finder.names(plain("fly_kite"), ["kite"], 5)


def test_a_talk_keeps_its_places(word_embedder: Embedder) -> None:
    finder = ToolFinder(embedder=word_embedder)
    offered = plain("fly_kite", "sail_boat", "ride_horse", "read_map")
    talk = [
        UserTurn("fly"),
        ToolCallTurn("ride_horse"),
        ToolCallTurn("no_tool"),
        UserTurn("sail"),
        UserTurn("fly"),
        UserTurn("read"),
    ]
    before: tuple[str, ...] = ()
    for end in range(1, len(talk) + 1):
        after = finder.for_talk(offered, talk[:end], StableOrder(1, 4), 1)
        assert after[: len(before)] == before
        before = after
    assert before == ("fly_kite", "ride_horse", "sail_boat", "read_map")


def test_a_long_talk_begins_elsewhere_only_now_and_then(word_embedder: Embedder) -> None:
    finder = ToolFinder(embedder=word_embedder)
    offered = plain("fly_kite", "sail_boat", "ride_horse")

    def names(*texts: str) -> tuple[str, ...]:
        return finder.for_talk(offered, [UserTurn(text) for text in texts], StableOrder(1, 3), 1)

    assert names("fly", *["sail"] * 18) == ("fly_kite", "sail_boat")
    assert names("fly", *["sail"] * 19) == ("sail_boat",)
    assert names("fly", *["sail"] * 19, *["ride"] * 9) == ("sail_boat", "ride_horse")
