"""Times that the features of family `times` read: a trained ranker depends on these values."""

from datetime import datetime

import pytest

from contextune.context.signals.time_phrases import find_clock_hours, find_intervals, find_time_mentions

NOW = datetime(2024, 5, 16, 17, 40)  # a Thursday


@pytest.mark.parametrize(
    ("text", "intervals"),
    [
        ("today", [("2024-05-16", "2024-05-17")]),
        ("yesterday afternoon", [("2024-05-15", "2024-05-16")]),
        ("yesterday evening", [("2024-05-15T18:00", "2024-05-16T05:00")]),
        ("overnight", [("2024-05-15T18:00", "2024-05-16T05:00")]),
        ("tomorrow morning", [("2024-05-17T04:00", "2024-05-17T12:00")]),
        ("tomorrow night", [("2024-05-17T17:00", "2024-05-18T05:00")]),
        ("tomorrow afternoon", [("2024-05-17", "2024-05-18")]),
        ("after work", [("2024-05-16T17:00", "2024-05-17T05:00")]),
        ("over breakfast", [("2024-05-16T04:00", "2024-05-16T12:00")]),
        ("by noon", [("2024-05-16T10:00", "2024-05-16T14:00")]),
        ("last week", [("2024-05-06", "2024-05-13")]),
        ("last weekend", [("2024-05-11", "2024-05-13")]),
        ("next weekend", [("2024-05-18", "2024-05-20")]),
        ("on Friday", [("2024-05-17", "2024-05-18")]),
        ("next Friday", [("2024-05-17", "2024-05-18")]),
        ("last Friday", [("2024-05-10", "2024-05-11")]),
        ("on Thursday", [("2024-05-16", "2024-05-17")]),
        ("the Friday one", [("2024-05-17", "2024-05-18"), ("2024-05-10", "2024-05-11")]),
        ("Mondays", [("2024-05-20", "2024-05-21"), ("2024-05-13", "2024-05-14")]),
        ("What came on Monday evening?", [("2024-05-20", "2024-05-21")]),
        # phrases that are for other columns
        ("3 days ago", []),
        ("on December 13", []),
        ("next month", []),
        ("every morning", []),
    ],
)
def test_intervals(text: str, intervals: list[tuple[str, str]]) -> None:
    expected = [(datetime.fromisoformat(start), datetime.fromisoformat(end)) for start, end in intervals]
    assert find_intervals(text, NOW) == expected


def test_mentions_have_their_position() -> None:
    text = "Move it from this morning to last Monday"
    assert [text[first:last] for _, first, last in find_time_mentions(text, NOW)] == [
        "this morning",
        "last Monday",
    ]


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("at nine", [9, 21]),
        ("by 12", [12, 0]),
        ("before 9 am", [9]),
        ("at 5:30pm", [17.5]),
        ("until 23:15", [23.25]),
        ("at 45", []),
        ("nine of them", []),
    ],
)
def test_clock_hours(text: str, hours: list[float]) -> None:
    assert find_clock_hours(text) == hours
