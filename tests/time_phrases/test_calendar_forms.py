"""Holidays, counted weekdays, weeks from a day, four-digit hours, and fractions of units."""

from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextune.plan.times.phrases import find_times
from contextune.time_phrases import TimePhrase, parse_time_phrases
from contextune.time_phrases.holidays import easter

NOW = datetime(2024, 5, 17, 10, 0)  # a Friday


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _only(text: str, now: datetime = NOW) -> TimePhrase:
    (phrase,) = parse_time_phrases(text, now)
    return phrase


DAYS = [
    ("on Christmas Eve", "2024-12-24"),
    ("on Christmas Day", "2024-12-25"),
    ("at Christmas", "2024-12-25"),
    ("on New Year's Eve", "2024-12-31"),
    ("on New Year’s Day", "2025-01-01"),
    ("on Valentine's Day", "2025-02-14"),
    ("on Halloween", "2024-10-31"),
    ("on Boxing Day", "2024-12-26"),
    ("on Easter Monday", "2025-04-21"),
    ("last Christmas", "2023-12-25"),
    ("What came on Christmas Eve?", "2023-12-24"),
    ("Christmas Eve 2026", "2026-12-24"),
    ("Remind me on the first Monday in July", "2024-07-01"),
    ("the last Friday of the month", "2024-05-31"),
    ("the second Tuesday of next month", "2024-06-11"),
    ("on the first Monday", "2024-06-03"),
    ("the 3rd Thursday in August 2025", "2025-08-21"),
    ("a week on Monday", "2024-05-27"),
    ("a week from Friday", "2024-05-31"),
    ("two weeks from Monday", "2024-06-03"),
    ("a fortnight on Saturday", "2024-06-01"),
    ("a week tomorrow", "2024-05-25"),
    ("Monday fortnight", "2024-06-03"),
    ("Remind me 12/13", "2024-12-13"),
    ("25/12", "2023-12-25"),
    ("Move the tasting to Wednesday 29th", "2024-05-29"),
    ("Wednesday the 29th", "2024-05-29"),
    ("Wed, 29th", "2024-05-29"),
    ("on Tuesday, 4th", "2024-06-04"),
    ("book the hall on 23rd", "2024-05-23"),
    ("What's on on Black Friday?", "2024-11-29"),
    ("on Ash Wednesday", "2025-03-05"),
]


@pytest.mark.parametrize(("text", "day"), DAYS)
def test_days(text: str, day: str) -> None:
    phrase = _only(text)
    assert (phrase.start, phrase.granularity) == (_time(day), "day")
    assert find_times(text, NOW).days[0].dates[0] == phrase.start.date()


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("Remind me in an hour and a quarter to leave", "2024-05-17T11:15"),
        ("Remind me in an hour and a half to call", "2024-05-17T11:30"),
        ("in an hour and three quarters", "2024-05-17T11:45"),
        ("in two and a quarter hours", "2024-05-17T12:15"),
        ("in half a minute", "2024-05-17T10:00"),
        ("at 1730", "2024-05-17T17:30"),
        ("at 1130", "2024-05-17T11:30"),
        ("1730 hours", "2024-05-17T17:30"),
        ("tomorrow 0715", "2024-05-18T07:15"),
        ("Wake me at 0630", "2024-05-18T06:30"),
        ("from 1400 to 1530", "2024-05-17T14:00"),
        ("at 17.30h", "2024-05-17T17:30"),
    ],
)
def test_moments(text: str, start: str) -> None:
    assert _only(text).start == _time(start)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("first thing tomorrow", "2024-05-18T04:00", "2024-05-18T12:00"),
        ("first thing in the morning", "2024-05-18T06:00", "2024-05-18T10:00"),
        ("Remind me before bed", "2024-05-17T20:00", "2024-05-18T00:00"),
        ("Remind me on Sunday before bed", "2024-05-19T20:00", "2024-05-20T00:00"),
        ("Remind me before Christmas", "2024-05-17T10:00", "2024-12-25"),
    ],
)
def test_spans(text: str, start: str, end: str) -> None:
    assert _only(text).interval == (_time(start), _time(end))


@pytest.mark.parametrize(
    "text",
    [
        "Play Last Christmas",
        "Open the Christmas playlist",
        "Play White Christmas",
        "It runs 24/7",
        "Half is 1/2",
        "A 5/16 inch bolt",
        "Swap the pillows from 1103",
        "The PIN is 1730",
        "Pay 1250 euros",
        "The first thing I saw",
    ],
)
def test_no_time(text: str) -> None:
    assert parse_time_phrases(text, NOW) == []


def test_length_of_weeks_is_no_distance() -> None:
    assert [phrase.kind for phrase in parse_time_phrases("Book the car for a week from Monday", NOW)] == [
        "duration",
        "span",
    ]
    assert _only("twice a week on Monday").start == _time("2024-05-20")


def test_every_first_monday_repeats() -> None:
    phrase = _only("on the first Monday of every month")
    assert (phrase.rrule, phrase.start) == ("FREQ=MONTHLY;BYDAY=1MO", _time("2024-06-03"))


def test_since_never_means_a_day_to_come() -> None:
    phrase = _only("since Monday")
    assert phrase.readings == ((_time("2024-05-13"), NOW),)


def test_range_of_days_may_be_over() -> None:
    last_week = (_time("2024-05-13"), _time("2024-05-16"))
    assert last_week in _only("mails from Monday to Wednesday").readings
    assert _only("What did I play from Monday to Wednesday?").interval == last_week


@pytest.mark.parametrize(
    "text",
    [
        "Find the Cyber Monday newsletter",
        "the good friday playlist",
        "Who wrote about casual friday?",
        "Recipe for a sunday roast",
        "Open monday.com",
        "Turn left on 5th avenue",
    ],
)
def test_weekdays_within_names_are_no_times(text: str) -> None:
    assert not parse_time_phrases(text, NOW)
    assert not find_times(text, NOW).days


@pytest.mark.parametrize("text", ["on Tuesday evening next week", "next week on Tuesday evening"])
def test_part_of_a_day_between_weekday_and_week(text: str) -> None:
    assert _only(text).start == datetime(2024, 5, 21, 17)
    assert [day.dates[0] for day in find_times(text, NOW).days] == [date(2024, 5, 21)]


def test_week_on_monday_moves_no_event() -> None:
    times = find_times("Remind me a week on Monday to call the bank", NOW)
    assert (times.shifts, times.day_offsets) == ((), ())


@given(st.integers(1583, 9998))
def test_easter_is_a_sunday_in_spring(year: int) -> None:
    day = easter(year)
    assert day.weekday() == 6
    assert date(year, 3, 22) <= day <= date(year, 4, 25)


def test_easter_of_known_years() -> None:
    assert [easter(year) for year in (2000, 2024, 2025, 2038)] == [
        date(2000, 4, 23),
        date(2024, 3, 31),
        date(2025, 4, 20),
        date(2038, 4, 25),
    ]
