"""The tools of a turn: each keeps its place, and there are never too many."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextune.embed import Embedder
from contextune.errors import InvalidDataError, InvalidRequestError
from contextune.integrations import ToolsForTurn
from contextune.integrations._stable_order import StableOrder
from contextune.tools import ToolFilter, ToolRetriever
from contextune.types import Tool, ToolHit

NAMES = st.lists(st.sampled_from("abcdefgh"), max_size=3)


def ids(tools: list[Tool]) -> list[str]:
    return [tool.id for tool in tools]


def test_new_tools_come_after_those_offered_before(retriever: ToolRetriever) -> None:
    turns = ToolsForTurn(retriever, 1)
    assert ids(turns.tools("Send an email")) == ["mail/send_email"]
    assert ids(turns.tools("Order lunch")) == ["mail/send_email", "order_lunch"]
    assert ids(turns.tools("Send an email")) == ["mail/send_email", "order_lunch"]
    assert turns.offered == ("mail/send_email", "order_lunch")


def test_the_longest_of_no_use_goes_first(retriever: ToolRetriever) -> None:
    turns = ToolsForTurn(retriever, 1, keep=2)
    turns.tools("Send an email")
    turns.tools("Order lunch")
    turns.tools("Send an email")
    assert ids(turns.tools("Water the plants")) == ["mail/send_email", "water plants"]


def test_a_tool_that_was_called_stays(retriever: ToolRetriever) -> None:
    turns = ToolsForTurn(retriever, 1, keep=2)
    turns.tools("Send an email")
    turns.tools("Order lunch")
    turns.used("send_email")
    assert ids(turns.tools("Water the plants")) == ["mail/send_email", "water plants"]


def test_some_are_always_offered_and_stand_in_front(retriever: ToolRetriever) -> None:
    turns = ToolsForTurn(retriever, 1, always=["order_lunch"], keep=2)
    assert ids(turns.tools("Send an email")) == ["order_lunch", "mail/send_email"]
    assert ids(turns.tools("Water the plants")) == ["order_lunch", "water plants"]


def test_a_turn_may_be_narrowed(retriever: ToolRetriever) -> None:
    turns = ToolsForTurn(retriever, 2, always=["order_lunch"])
    turns.tools("Send an email")
    narrow = turns.tools("Search for a meeting room", only=ToolFilter(servers=["rooms"], read_only=True))
    assert ids(narrow) == ["order_lunch", "rooms/search"]
    assert "mail/send_email" in ids(turns.tools("Search for a meeting room"))


class Backwards(ToolRetriever):
    """Finds all tools equally good, the last of the catalogue first."""

    def search(self, text: str, k: int = 10, **_: Any) -> list[ToolHit]:  # noqa: ARG002
        return [ToolHit(tool, 0.5) for tool in [*self.catalog][::-1]][:k]


def test_ties_are_in_the_order_of_the_catalogue(tools: list[Tool], word_embedder: Embedder) -> None:
    turns = ToolsForTurn(Backwards(tools, word_embedder), len(tools))
    assert turns.tools("open the door") == tools


def test_a_talk_is_taken_up_elsewhere(retriever: ToolRetriever) -> None:
    first = ToolsForTurn(retriever, 1, always=["order_lunch"])
    first.tools("Send an email")
    first.tools("Water the plants")
    again = ToolsForTurn(retriever, 1, always=["order_lunch"], offered=[*first.offered, "gone/tool"])
    assert ids(again.tools("Book a meeting room")) == [*first.offered, "rooms/book_room"]


def test_tools_that_are_gone_are_offered_no_more(
    retriever: ToolRetriever, tools: list[Tool], word_embedder: Embedder
) -> None:
    turns = ToolsForTurn(retriever, 1)
    turns.tools("Send an email")
    turns.tools("Order lunch")
    turns.retriever = ToolRetriever(tools[1:], word_embedder)
    assert ids(turns.tools("Water the plants")) == ["order_lunch", "water plants"]


def test_what_does_not_go_together_is_refused(retriever: ToolRetriever) -> None:
    with pytest.raises(InvalidRequestError, match="k=0"):
        ToolsForTurn(retriever, 0)
    with pytest.raises(InvalidRequestError, match="keep=4 is too few: a turn finds 4 tools, beside 1"):
        ToolsForTurn(retriever, 4, always=["order_lunch"], keep=4)
    with pytest.raises(InvalidDataError, match="say which of"):
        ToolsForTurn(retriever, always=["search"])
    with pytest.raises(InvalidRequestError, match="no text"):
        ToolsForTurn(retriever).tools(" ")


@given(st.lists(NAMES, max_size=12), st.integers(3, 6))
def test_places_hold(turns: list[list[str]], keep: int) -> None:
    places = StableOrder(3, keep)
    before: tuple[str, ...] = ()
    for found in turns:
        after = places.turn(found)
        stayed = [name for name in before if name in after]
        assert list(after[: len(stayed)]) == stayed
        assert set(found) <= set(after)
        assert len(after) <= keep
        if len({*before, *found}) <= keep:
            assert after == (*before, *(name for name in dict.fromkeys(found) if name not in before))
        before = after
