"""Excerpts of items at different lengths."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from contextune.context.excerpt import Excerpt, Piece, TokenWeights
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


def by_value(item: Item, request: str = "") -> list[Piece]:
    excerpt = Excerpt(item)
    pieces = excerpt.pieces(TokenWeights(request, [excerpt.whole]))
    return sorted(pieces, key=lambda piece: -piece.value)


def texts_by_value(item: Item, request: str = "") -> list[str]:
    return [piece.text.strip() for piece in by_value(item, request)]


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


def test_all_pieces_render_as_the_whole_item() -> None:
    excerpt = Excerpt(EVENT)
    places = [piece.place for piece in excerpt.pieces(NO_WEIGHTS)]
    assert excerpt.render(places) == excerpt.whole
    assert places[0] == (0, 0)
    assert excerpt.render([(0, 0)]) == "Glaze night"


def test_sentence_matching_the_request_is_worth_more() -> None:
    def running(request: str) -> str:
        return next(text for text in texts_by_value(EVENT, request) if text.endswith("."))

    assert running("what was it about the apron?") == "Ask Marta about the apron."
    assert running("") == "The door code is 4417."


def test_title_people_and_times_are_worth_more_than_status_and_words() -> None:
    order = texts_by_value(EVENT)
    assert order[0] == "Glaze night"
    assert order[1] == "when: Thu 2024-05-16 19:00 to 21:00"
    assert order.index("with: marta@example.org, rui@example.com") < order.index("status: Confirmed")
    assert order[-1] == "seats: 4"


def test_time_of_creation_is_worth_less_than_when_something_is_due() -> None:
    fields = {"title": "Glaze", "created": "2024-05-01T09:00", "due": "2024-05-16T09:00"}
    reminder = Item("r1", "Reminders", fields)
    assert [text[:3] for text in texts_by_value(reminder)] == ["Gla", "due", "whe"]


def test_rendered_sentences_keep_order_and_mark_gaps() -> None:
    note = Item(
        "n1", "Notes", {"title": "T", "content": "One is 1. Word alone. Two is 2. More words. End is 3."}
    )
    assert Excerpt(note).render([(1, 4), (0, 0), (1, 0), (1, 2)]) == "T\nOne is 1. … Two is 2. … End is 3."
    assert Excerpt(note).render([(0, 0), (1, 1)]) == "T\n… Word alone. …"


def test_text_without_sentence_ends_is_split() -> None:
    words = " ".join(f"word{number}" for number in range(200))
    note = Item("n1", "Notes", {"title": "T", "content": words, "modified": "2024-05-16"})
    best = by_value(note, "word150")[1]
    assert "word150" in best.text
    assert len(best.text) <= 200
    blob = Item("n1", "Notes", {"title": "T", "content": "x" * 5000})
    assert len(by_value(blob)) == 26


@pytest.mark.parametrize(
    ("limit", "title"),
    [(20, "A long name for a …"), (8, "A long …"), (3, "A …"), (2, None)],
)
def test_title_is_cut_to_fit(limit: int, title: str | None) -> None:
    note = Item("n1", "Notes", {"title": "A long name for a note", "content": "and more"})
    assert Excerpt(note).cut_title(lambda text: len(text) <= limit) == title


def test_weights_favour_rare_words() -> None:
    weights = TokenWeights("the kiln", ["the kiln", "the door", "the cat"])
    assert weights.weigh("kiln") > weights.weigh("the") > weights.weigh("door") == 0
    assert NO_WEIGHTS.weigh("kiln") == 0
