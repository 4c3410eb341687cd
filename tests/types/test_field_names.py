"""Items of known applications with other names of their fields."""

from typing import Any

import pytest

from contextune.types import Item
from contextune.types.field_names import snake_case, with_own_names


@pytest.mark.parametrize(
    ("app", "fields", "expected"),
    [
        ("Calendar", {"title": "Choir", "start": "2026-01-02T19:00", "end": "2026-01-02T21:00"},
         {"event_name": "Choir", "start_time": "2026-01-02T19:00", "end_time": "2026-01-02T21:00"}),
        ("Mail", {"subject": "Roof", "from": "jan@example.com", "to": ["ines@example.com"], "body": "Yes."},
         {"subject": "Roof", "author": "jan@example.com", "recipients": ["ines@example.com"],
          "content": "Yes."}),
        ("Music", {"song": "Teardrop", "artist": "Massive Attack", "played_at": "2026-01-02T19:00"},
         {"song_name": "Teardrop", "artist": "Massive Attack", "played_time": "2026-01-02T19:00"}),
        ("Mail", {"Subject": "Roof", "From": "jan@example.com", "Date": "2026-01-02T19:00", "X-Id": "7"},
         {"subject": "Roof", "author": "jan@example.com", "date": "2026-01-02T19:00", "X-Id": "7"}),
        ("Calendar", {"eventName": "Choir", "Location": "Hall"}, {"event_name": "Choir", "location": "Hall"}),
        # as `date`, it would make the item invalid
        ("Mail", {"subject": "Roof", "Date": "yesterday"}, {"subject": "Roof", "Date": "yesterday"}),
        # a field that has its name keeps it, and so does the other one
        ("Mail", {"subject": "Roof", "title": "Mr"}, {"subject": "Roof", "title": "Mr"}),
        ("Tickets", {"title": "Tap", "start": "now"}, {"title": "Tap", "start": "now"}),
    ],
)  # fmt: skip
def test_other_names_are_replaced(app: str, fields: dict[str, Any], expected: dict[str, Any]) -> None:
    item = Item("i1", app, fields)
    assert item.fields == expected
    assert Item("i1", app, item.fields).fields is item.fields


def test_item_with_other_names_has_title_time_and_people() -> None:
    item = Item("m1", "Mail", {"title": "Roof", "sender": "jan@example.com", "sent": "2026-01-02T19:00"})
    assert (item.title, item.people) == ("Roof", ("jan@example.com",))
    assert str(item.time) == "2026-01-02 19:00:00"


def test_fields_with_their_own_names_are_not_copied() -> None:
    fields = {"event_name": "Choir"}
    assert with_own_names("Calendar", fields) is fields


def test_names_are_compared_by_their_words() -> None:
    names = ["createdAt", "Created at", "created_at", "CREATED-AT", "HTTPServer", "__x", "…"]
    assert [snake_case(name) for name in names] == [*["created_at"] * 4, "http_server", "x", "…"]
