"""`ToolsForTurn`: stable order and a bounded number of tools."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextune.embed import Embedder
from contextune.errors import InvalidDataError, InvalidRequestError
from contextune.integrations import ToolsForTurn
from contextune.integrations._stable_order import StableOrder
from contextune.tools import ToolFilter, ToolMatches, ToolRetriever
from contextune.types import Tool, ToolHit

NAMES = st.lists(st.sampled_from("abcdefgh"), max_size=3)


def ids(tools: list[Tool]) -> list[str]:
    return [tool.id for tool in tools]


def test_new_tools_are_appended(retriever: ToolRetriever) -> None:
    turns = ToolsForTurn(retriever, 1)
    assert ids(turns.tools("Send an email")) == ["mail/send_email"]
    assert ids(turns.tools("Order lunch")) == ["mail/send_email", "order_lunch"]
    assert ids(turns.tools("Send an email")) == ["mail/send_email", "order_lunch"]
    assert turns.offered == ("mail/send_email", "order_lunch")


def test_least_recently_used_tool_is_dropped(retriever: ToolRetriever) -> None:
    turns = ToolsForTurn(retriever, 1, keep=2)
    turns.tools("Send an email")
    turns.tools("Order lunch")
    turns.tools("Send an email")
    assert ids(turns.tools("Water the plants")) == ["mail/send_email", "water plants"]


def test_used_tool_is_kept(retriever: ToolRetriever) -> None:
    turns = ToolsForTurn(retriever, 1, keep=2)
    turns.tools("Send an email")
    turns.tools("Order lunch")
    turns.mark_used("send_email")
    assert ids(turns.tools("Water the plants")) == ["mail/send_email", "water plants"]


def test_always_tools_come_first(retriever: ToolRetriever) -> None:
    turns = ToolsForTurn(retriever, 1, always=["order_lunch"], keep=2)
    assert ids(turns.tools("Send an email")) == ["order_lunch", "mail/send_email"]
    assert ids(turns.tools("Water the plants")) == ["order_lunch", "water plants"]


def test_filter_applies_to_one_turn(retriever: ToolRetriever) -> None:
    turns = ToolsForTurn(retriever, 2, always=["order_lunch"])
    turns.tools("Send an email")
    filtered = turns.tools("Search for a meeting room", filter=ToolFilter(servers=["rooms"], read_only=True))
    assert ids(filtered) == ["order_lunch", "rooms/search"]
    assert "mail/send_email" in ids(turns.tools("Search for a meeting room"))


class ReversedRetriever(ToolRetriever):
    """Returns all tools with equal scores, in reverse order of the catalogue."""

    def find(self, text: str, k: int = 10, **_: Any) -> ToolMatches:  # noqa: ARG002
        return ToolMatches(tuple(ToolHit(tool, 0.5) for tool in [*self.catalog][::-1])[:k])


def test_ties_follow_the_catalogue(tools: list[Tool], word_embedder: Embedder) -> None:
    turns = ToolsForTurn(ReversedRetriever(tools, word_embedder), len(tools))
    assert turns.tools("open the door") == tools


def test_conversation_can_be_restored(retriever: ToolRetriever) -> None:
    first = ToolsForTurn(retriever, 1, always=["order_lunch"])
    first.tools("Send an email")
    first.tools("Water the plants")
    again = ToolsForTurn(retriever, 1, always=["order_lunch"], offered=[*first.offered, "gone/tool"])
    assert ids(again.tools("Book a meeting room")) == [*first.offered, "rooms/book_room"]


def test_deleted_tools_are_dropped(
    retriever: ToolRetriever, tools: list[Tool], word_embedder: Embedder
) -> None:
    turns = ToolsForTurn(retriever, 1)
    turns.tools("Send an email")
    turns.tools("Order lunch")
    turns.retriever = ToolRetriever(tools[1:], word_embedder)
    assert ids(turns.tools("Water the plants")) == ["order_lunch", "water plants"]


def test_invalid_settings_are_errors(retriever: ToolRetriever) -> None:
    with pytest.raises(InvalidRequestError, match="k=0"):
        ToolsForTurn(retriever, 0)
    with pytest.raises(InvalidRequestError, match="keep=4 is too small: k=4 and 1 of"):
        ToolsForTurn(retriever, 4, always=["order_lunch"], keep=4)
    with pytest.raises(InvalidDataError, match="use an id"):
        ToolsForTurn(retriever, always=["search"])
    with pytest.raises(InvalidRequestError, match="text is empty"):
        ToolsForTurn(retriever).tools(" ")


@settings(deadline=None)
@given(st.lists(NAMES, max_size=12), st.integers(3, 6))
def test_order_is_stable(turns: list[list[str]], keep: int) -> None:
    order = StableOrder(3, keep)
    before: tuple[str, ...] = ()
    for found in turns:
        after = order.update(found)
        stayed = [name for name in before if name in after]
        assert list(after[: len(stayed)]) == stayed
        assert set(found) <= set(after)
        assert len(after) <= keep
        if len({*before, *found}) <= keep:
            assert after == (*before, *(name for name in dict.fromkeys(found) if name not in before))
        before = after
