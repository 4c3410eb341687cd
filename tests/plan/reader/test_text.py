"""Tests of the text that the reader reads."""

from datetime import UTC, datetime, timedelta, timezone

from contextune.plan.reader.text import MAX_ITEMS, reader_text
from contextune.types import Item, Request

NOW = datetime(2024, 5, 14, 16, 45, tzinfo=UTC)


def event(hours: float, name: str = "Choir") -> Item:
    return Item.event(name=name, start=NOW + timedelta(hours=hours), end=NOW + timedelta(hours=hours + 1))


def request(place: str | None = None) -> Request:
    return Request("I'm running late.", "ana", NOW, place)


def test_says_request_day_hour_and_place() -> None:
    assert reader_text(request("north_office"), [], UTC) == "I'm running late. | Tue 16:45, at north office"
    assert reader_text(request(), [], UTC) == "I'm running late. | Tue 16:45"


def test_uses_the_users_clock() -> None:
    assert reader_text(request(), [], timezone(timedelta(hours=9))).endswith("| Wed 01:45")


def test_items_say_how_far_away_they_are() -> None:
    spans = {0.5: "in 30 min", -1: "60 min ago", 5: "in 5 h", 35: "in 35 h", -72: "3 days ago"}
    for hours, span in spans.items():
        text = reader_text(request(), [event(hours)], UTC)
        assert text.endswith(f"({span})"), text
        assert "Calendar: " in text
        assert "Choir" in text


def test_items_without_a_time_have_none() -> None:
    item = Item("t1", "Tasks", {"title": "Buy strings"})
    assert reader_text(request(), [item], UTC).endswith(f"| Tasks: {item.text}")


def test_long_and_many_items_are_cut() -> None:
    items = [
        Item(f"n{number}", "Notes", {"title": f"n{number}", "content": "x" * 999}) for number in range(9)
    ]
    told = reader_text(request(), items, UTC).split(" | ")[2:]
    assert len(told) == MAX_ITEMS
    assert max(map(len, told)) < 200
