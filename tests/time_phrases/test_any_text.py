"""Time phrases in any text, at any time: properties that always hold."""

from datetime import date, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from contextune.time_phrases import TimePhrase, parse_time_phrases
from contextune.time_phrases.parser import MAX_ATOMS, RULES

NOW = datetime(2024, 5, 16, 17, 40)


def _only(text: str, now: datetime = NOW) -> TimePhrase:
    (phrase,) = parse_time_phrases(text, now)
    return phrase


# fmt: off
WORDS = st.sampled_from([
    "on", "at", "in", "the", "last", "next", "this", "every", "3", "13", "two", "forty-five", "a", "an",
    "half", "past", "quarter", "to", "of", "from", "between", "and", "since", "until", "by", "before",
    "after", "Monday", "Fri", "sat", "May", "March", "December", "2023", "2023-12-13", "4/5/2024", "31",
    "30", "29", "Feb", "days", "weeks", "month", "years", "9999", "ago", "night", "morning", "noon",
    "midnight", "week", "weekend", "4pm", "16:30", "25:61", "7ish", "'", '"', ",", ".", "Call", "İ", "ß",
])
# fmt: on
MOMENTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31))


@given(st.lists(WORDS, max_size=9).map(" ".join), MOMENTS)
def test_any_words_at_any_time_give_ordered_disjoint_phrases(text: str, now: datetime) -> None:
    phrases = parse_time_phrases(text, now, min_confidence=0)
    assert all(phrase.start <= phrase.end for phrase in phrases)
    assert all(0 <= phrase.confidence <= 1 for phrase in phrases)
    assert all(phrase.text == text[phrase.first : phrase.last] != "" for phrase in phrases)
    assert all(a.last <= b.first for a, b in pairwise(phrases))


@given(st.text(max_size=60))
def test_any_text_is_parsed(text: str) -> None:
    for phrase in parse_time_phrases(text, NOW):
        assert phrase.interval not in phrase.alternatives


@given(st.dates(date(2000, 1, 1), date(2049, 12, 31)), MOMENTS)
def test_full_dates_do_not_depend_on_the_time_of_the_request(day: date, now: datetime) -> None:
    for text in (f"{day:%Y-%m-%d}", f"{day:%d %B %Y}", f"{day:%b} {day.day} {day.year}"):
        assert _only(text, now).start.date() == day


@given(st.integers(1, 99), st.sampled_from(["minute", "hour", "day", "week"]))
def test_ago_and_ahead_are_symmetric(count: int, unit: str) -> None:
    ago, ahead = (_only(words.format(f"{count} {unit}s")) for words in ("{} ago", "in {}"))
    midnight = NOW.replace(hour=0, minute=0)
    base = midnight if unit in ("day", "week") else NOW
    assert base - ago.anchor == ahead.anchor - base == count * timedelta(**{f"{unit}s": 1})


def test_phrases_of_a_long_text_are_limited() -> None:
    text = " and ".join(
        f"at {hour % 12 + 1}:{hour % 60:02} on 2024-05-{hour % 28 + 1:02}" for hour in range(400)
    )
    assert 0 < len(parse_time_phrases(text, NOW)) <= len(RULES) * MAX_ATOMS
