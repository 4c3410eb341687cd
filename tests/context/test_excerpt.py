"""An item written at different lengths."""

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
NONE = TokenWeights("", [])


def shorter(item: Item, room: int, asked: str = "") -> str | None:
    excerpt = Excerpt(item)
    return excerpt.shortened(lambda text: len(text) <= room, TokenWeights(asked, [excerpt.whole]))


def lines(**fields: Any) -> str:
    return Excerpt(Item("x", "Calendar", {"event_name": "Glaze night", **fields})).whole


def test_whole() -> None:
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
    ("start", "end", "said"),
    [
        ("2024-05-16T23:00", "2024-05-17T01:00", "when: Thu 2024-05-16 23:00\nuntil: Fri 2024-05-17 01:00"),
        ("2024-05-16", "2024-05-16", "when: Thu 2024-05-16\nuntil: Thu 2024-05-16"),
        ("2024-05-16T23:00", "", "when: Thu 2024-05-16 23:00"),
        ("after <lunch>", None, "when: after ‹lunch>"),
        (datetime(2024, 5, 16, 23), None, "when: Thu 2024-05-16 23:00"),
    ],
)
def test_times(start: object, end: object, said: str) -> None:
    assert lines(start_time=start, end_time=end) == f"Glaze night\n{said}"


def test_zoned_times_are_on_the_users_wall_clock() -> None:
    item = Item("g1", "Google", {"query": "tides", "date": "2024-05-15T22:00+00:00"})
    assert Excerpt(item, ZoneInfo("Asia/Tokyo")).whole == "tides\nwhen: Thu 2024-05-16 07:00"


def test_an_application_of_ones_own() -> None:
    item = Item("b1", "Birds", {"name": "Wryneck", "seen": {"count": 2, "by": ["Rui", None]}, "note": None})
    assert Excerpt(item).whole == "Wryneck\nseen: count: 2; by: Rui"
    assert Excerpt(Item("b2", "Birds", {})).whole == "(untitled)"


def test_what_is_asked_for_stays() -> None:
    text = shorter(EVENT, 60, "what was it about the apron?")
    assert text == "Glaze night\n… Ask Marta about the apron. …" or "apron" in (text or "")
    assert "celadon" not in (text or "")


def test_numbers_and_times_stay_before_words() -> None:
    text = shorter(EVENT, 95) or ""
    assert "when: Thu 2024-05-16 19:00 to 21:00" in text
    assert "4417" in text or "Rua do Barro 12" in text
    assert "celadon" not in text
    assert text.endswith("…")


def test_sentences_keep_their_order_and_gaps_show() -> None:
    note = Item(
        "n1", "Notes", {"title": "T", "content": "One is 1. Word alone. Two is 2. More words. End is 3."}
    )
    assert shorter(note, 40) == "T\nOne is 1. … Two is 2. … End is 3."


def test_nothing_but_the_title() -> None:
    assert shorter(EVENT, 15) is None


def test_a_text_without_stops_is_taken_in_pieces() -> None:
    words = " ".join(f"word{number}" for number in range(200))
    note = Item("n1", "Notes", {"title": "T", "content": words, "modified": "2024-05-16"})
    text = shorter(note, 300, "word150") or ""
    assert "word150" in text
    blob = Item("n1", "Notes", {"title": "T", "content": "x" * 5000})
    assert len(shorter(blob, 300) or "") > 200


@pytest.mark.parametrize(
    ("room", "title"),
    [(100, "A long name for a note …"), (20, "A long name for a …"), (8, "A long …"), (3, "A …"), (2, None)],
)
def test_titles(room: int, title: str | None) -> None:
    note = Item("n1", "Notes", {"title": "A long name for a note", "content": "and more"})
    assert Excerpt(note).title(lambda text: len(text) <= room) == title


def test_weights_favour_rare_words() -> None:
    weights = TokenWeights("the kiln", ["the kiln", "the door", "the cat"])
    assert weights.of("kiln") > weights.of("the") > weights.of("door") == 0
    assert NONE.of("19:00") > NONE.of("kiln")
