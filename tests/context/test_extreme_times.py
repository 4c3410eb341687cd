"""Requests whose time is near the end of what `datetime` can hold."""

from datetime import datetime

import pytest

from contextune.context.signals.time_phrases import find_intervals

TEXTS = (
    "what's on tomorrow morning?",
    "what did I do yesterday?",
    "cancel the meeting on Friday",
    "the one from last Tuesday",
    "what happened last weekend, and next week?",
)


@pytest.mark.parametrize("now", [datetime.min, datetime.max], ids=["first", "last"])
@pytest.mark.parametrize("text", TEXTS)
def test_phrases_near_the_ends_of_the_calendar_do_not_overflow(text: str, now: datetime) -> None:
    assert all(start <= end for start, end in find_intervals(text, now))


@pytest.mark.parametrize("text", TEXTS)
def test_the_same_phrases_are_found_at_other_times(text: str) -> None:
    assert find_intervals(text, datetime(2024, 5, 16, 17, 40))
