"""Finding time expressions, and resolving them to candidate times."""

from datetime import date, datetime, timedelta

import pytest

from contextune.plan.times.phrases import find_times
from contextune.plan.times.resolve import candidate_times, is_best_reading
from contextune.time_phrases import parse_time_phrases
from contextune.types import Item

NOW = datetime(2024, 5, 16, 17, 40)  # a Thursday
EVENT = Item(
    "c1",
    "Calendar",
    {"event_name": "Glaze night", "start_time": "2024-05-18T19:00", "end_time": "2024-05-18T21:00"},
)
MAIL = Item(
    "m1",
    "Mail",
    {
        "subject": "Appointment",
        "content": "We can see you on Wednesday 22 May, 5:30 pm, or on the 24th at 9.15.",
        "date": "2024-05-15T09:00",
    },
)


@pytest.mark.parametrize(
    ("said", "sign"),
    [
        ("Bring the check forward by an hour", -1),
        ("Move up the check by an hour", -1),
        ("Move the slot up by an hour", -1),
        ("Move the catch up by an hour", 1),
        ("Push the check back by an hour", 1),
        ("Push the check an hour earlier", -1),
    ],
)
def test_direction_in_which_something_is_moved(said: str, sign: int) -> None:
    assert [shift.sign for shift in find_times(said, NOW).shifts] == [sign]


def test_item_that_is_moved_by_a_week_is_not_moved_by_two() -> None:
    times = find_times("Postpone the glaze night by a week", NOW)
    days = {candidate.day for candidate in candidate_times(times, NOW, [EVENT]) if candidate.item == 0}
    assert days == {date(2024, 5, 18), date(2024, 5, 25)}


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ("tomorrow at nine", "2024-05-17"),
        ("the day after tomorrow", "2024-05-18"),
        ("on Sunday", "2024-05-19"),
        ("Wednesday 22 May", "2024-05-22"),
        ("May 22nd", "2024-05-22"),
        ("the 3rd", "2024-06-03"),
        ("2024-12-24", "2024-12-24"),
        ("tonight", "2024-05-16"),
        ("tomorrow afternoon", "2024-05-17"),
        ("13/12/2023", "2023-12-13"),
        ("Dec 13th 2025", "2025-12-13"),
        ("Tuesday next week", "2024-05-21"),
        ("next Friday", "2024-05-24"),
        ("on the twenty-first", "2024-05-21"),
        ("the fourth of June", "2024-06-04"),
        ("in two months", "2024-07-16"),
    ],
)
def test_finds_days(said: str, day: str) -> None:
    (found,) = find_times(said, NOW).days
    assert found.dates[0] == date.fromisoformat(day)


@pytest.mark.parametrize(
    ("said", "clocks"),
    [
        ("at nine", ["21:00", "09:00"]),
        ("nine tomorrow morning", ["09:00"]),
        ("at 9.15", ["09:15", "21:15"]),
        ("5:30 pm", ["17:30"]),
        ("17:30", ["17:30"]),
        ("quarter to seven", ["18:45", "06:45"]),
        ("half past two in the afternoon", ["14:30"]),
        ("at noon", ["12:00"]),
        ("ask me again at half past", ["18:30"]),
        ("Sunday, seven in the morning", ["07:00"]),
        ("Friday ten", ["22:00", "10:00"]),
        ("eight sharp", ["20:00", "08:00"]),
        ("7ish", ["19:00", "07:00"]),
        ("4.30pm", ["16:30"]),
        ("quarter to one", ["12:45", "00:45"]),
        ("twenty-five past six", ["18:25", "06:25"]),
        ("from 3 to 5", ["15:00", "03:00", "17:00", "05:00"]),
        ("two of them, for three people, in four hours", []),
    ],
)
def test_finds_clock_times(said: str, clocks: list[str]) -> None:
    found = [f"{m // 60:02}:{m % 60:02}" for clock in find_times(said, NOW).clocks for m in clock.minutes]
    assert found == clocks


def test_shifts_have_a_sign() -> None:
    assert [shift.sign for shift in find_times("an hour before it", NOW).shifts] == [-1]
    assert [shift.sign for shift in find_times("in half an hour", NOW).shifts] == [1]
    assert [shift.sign for shift in find_times("two days", NOW).shifts] == [0]
    assert [shift.length for shift in find_times("in forty-five minutes", NOW).shifts] == [
        timedelta(minutes=45)
    ]
    assert find_times("the day before we leave", NOW).day_offsets == (-1,)
    assert find_times("once it is over", NOW).refers_to_end


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Poke me an hour before it.", "2024-05-18T18:00"),
        ("Make it an hour later.", "2024-05-18T20:00"),
        ("Same time on Monday.", "2024-05-20T19:00"),
        ("At eight the evening before.", "2024-05-17T20:00"),
        ("Sunday at eleven.", "2024-05-19T11:00"),
        ("As soon as it is over.", "2024-05-18T21:00"),
        ("In half an hour.", "2024-05-16T18:10"),
        ("Next week, same hour.", "2024-05-25T19:00"),
        ("Whatever.", "2024-05-18T19:00"),
        ("Keep the hour before it free.", "2024-05-18T18:00"),
        ("Buzz me fifteen ahead.", "2024-05-18T18:45"),
        ("A day earlier, at five.", "2024-05-17T17:00"),
        ("The Friday before, ten sharp.", "2024-05-17T10:00"),
        ("On the eve, at nine.", "2024-05-17T21:00"),
    ],
)
def test_meant_time_is_a_candidate(said: str, meant: str) -> None:
    found = {one.time for one in candidate_times(find_times(said, NOW), NOW, [EVENT])}
    assert datetime.fromisoformat(meant) in found


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Remind me at three.", "2024-05-17T15:00"),
        ("Wake me at six.", "2024-05-17T06:00"),
        ("Saturday at noon.", "2024-05-18T12:00"),
        ("In forty minutes.", "2024-05-16T18:20"),
        ("Half six.", "2024-05-16T18:30"),
    ],
)
def test_one_candidate_is_the_best_reading(said: str, meant: str) -> None:
    phrases = parse_time_phrases(said, NOW)
    candidates = candidate_times(find_times(said, NOW), NOW, [])
    best = {candidate.time for candidate in candidates if is_best_reading(candidate, phrases)}
    assert best == {datetime.fromisoformat(meant)}


def test_times_in_item_texts_are_candidates() -> None:
    found = {one.time for one in candidate_times(find_times("Book it.", NOW), NOW, [MAIL])}
    assert {datetime(2024, 5, 22, 17, 30), datetime(2024, 5, 24, 9, 15)} <= found


def test_text_without_times_has_no_mentions() -> None:
    found = find_times("Play the one with the cello.", NOW)
    assert not found.days
    assert not found.clocks
    assert not found.shifts
