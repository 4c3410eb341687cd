"""Excerpts of items at different lengths."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from contextune.context.excerpt import Excerpt, TokenWeights
from contextune.types import Item

EVENT = Item(
    "c1",
    "Calendar",
    {
        "event_name": "Glaze night",
        "notes": "Bring the celadon tests. Ask Marta about the apron. The door code is 4417.",
        "location": "Rua do Barro 12",
        "participants": ["marta@example.org", "rui@example.com"],
        "status": "Confirmed",
        "start_time": "2024-05-16T19:00",
        "end_time": "2024-05-16T21:00",
        "place": "pottery_studio",
        "seats": 4,
    },
)
NO_WEIGHTS = TokenWeights("", [])


def shorten(item: Item, limit: int, request: str = "") -> str | None:
    excerpt = Excerpt(item)
    return excerpt.shortened(lambda text: len(text) <= limit, TokenWeights(request, [excerpt.whole]))


def render(**fields: Any) -> str:
    return Excerpt(Item("x", "Calendar", {"event_name": "Glaze night", **fields})).whole


def test_whole_item_has_all_fields() -> None:
    assert Excerpt(EVENT).whole == (
        "Glaze night\n"
        "Bring the celadon tests. Ask Marta about the apron. The door code is 4417.\n"
        "at: Rua do Barro 12\n"
        "with: marta@example.org, rui@example.com\n"
        "status: Confirmed\n"
        "when: Thu 2024-05-16 19:00 to 21:00\n"
        "place: pottery studio\n"
        "seats: 4"
    )


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("2024-05-16T23:00", "2024-05-17T01:00", "when: Thu 2024-05-16 23:00\nuntil: Fri 2024-05-17 01:00"),
        ("2024-05-16", "2024-05-16", "when: Thu 2024-05-16\nuntil: Thu 2024-05-16"),
        ("2024-05-16T23:00", "", "when: Thu 2024-05-16 23:00"),
        ("after <lunch>", None, "when: after ‹lunch>"),
        (datetime(2024, 5, 16, 23), None, "when: Thu 2024-05-16 23:00"),
    ],
)
def test_times_are_formatted_by_day_and_hour(start: object, end: object, expected: str) -> None:
    assert render(start_time=start, end_time=end) == f"Glaze night\n{expected}"


def test_zoned_times_are_shown_in_the_users_zone() -> None:
    item = Item("g1", "Google", {"query": "tides", "date": "2024-05-15T22:00+00:00"})
    assert Excerpt(item, ZoneInfo("Asia/Tokyo")).whole == "tides\nwhen: Thu 2024-05-16 07:00"


def test_unknown_application_shows_all_fields() -> None:
    item = Item("b1", "Birds", {"name": "Wryneck", "seen": {"count": 2, "by": ["Rui", None]}, "note": None})
    assert Excerpt(item).whole == "Wryneck\nseen: count: 2; by: Rui"
    assert Excerpt(Item("b2", "Birds", {})).whole == "(untitled)"


def test_sentences_matching_the_request_are_kept() -> None:
    text = shorten(EVENT, 60, "what was it about the apron?")
    assert text == "Glaze night\n… Ask Marta about the apron. …" or "apron" in (text or "")
    assert "celadon" not in (text or "")


def test_numbers_and_times_are_kept_before_words() -> None:
    text = shorten(EVENT, 95) or ""
    assert "when: Thu 2024-05-16 19:00 to 21:00" in text
    assert "4417" in text or "Rua do Barro 12" in text
    assert "celadon" not in text
    assert text.endswith("…")


def test_shortened_sentences_keep_order_and_mark_gaps() -> None:
    note = Item(
        "n1", "Notes", {"title": "T", "content": "One is 1. Word alone. Two is 2. More words. End is 3."}
    )
    assert shorten(note, 40) == "T\nOne is 1. … Two is 2. … End is 3."


def test_no_excerpt_if_only_the_title_fits() -> None:
    assert shorten(EVENT, 15) is None


def test_text_without_sentence_ends_is_split() -> None:
    words = " ".join(f"word{number}" for number in range(200))
    note = Item("n1", "Notes", {"title": "T", "content": words, "modified": "2024-05-16"})
    text = shorten(note, 300, "word150") or ""
    assert "word150" in text
    blob = Item("n1", "Notes", {"title": "T", "content": "x" * 5000})
    assert len(shorten(blob, 300) or "") > 200


@pytest.mark.parametrize(
    ("limit", "title"),
    [(100, "A long name for a note …"), (20, "A long name for a …"), (8, "A long …"), (3, "A …"), (2, None)],
)
def test_title_is_cut_to_fit(limit: int, title: str | None) -> None:
    note = Item("n1", "Notes", {"title": "A long name for a note", "content": "and more"})
    assert Excerpt(note).title(lambda text: len(text) <= limit) == title


def test_weights_favour_rare_words() -> None:
    weights = TokenWeights("the kiln", ["the kiln", "the door", "the cat"])
    assert weights.weigh("kiln") > weights.weigh("the") > weights.weigh("door") == 0
    assert NO_WEIGHTS.weigh("19:00") > NO_WEIGHTS.weigh("kiln")
