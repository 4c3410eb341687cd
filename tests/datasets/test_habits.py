"""Dated uses out of summaries: repeatable, complete, in the right hours, never of a query's future."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextune.datasets import Persona, bundled_personas, load_persona, parse_persona, uses
from contextune.datasets.persona_format import WHEN
from contextune.store import SQLiteStore

PERSONAS = bundled_personas()
USES = {persona.id: uses(persona) for persona in PERSONAS}
FORTNIGHT = timedelta(days=15)
HOURS = {
    "morning": range(6, 11),
    "afternoon": range(12, 17),
    "evening": range(17, 22),
    "night": (22, 23, 0, 1),
}
DAYS = {
    "weekday": range(5),
    "weekend": range(5, 7),
    **{
        day: [number]
        for number, day in enumerate(
            ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
        )
    },
}

each_persona = pytest.mark.parametrize("persona", PERSONAS, ids=lambda persona: persona.id)


def fits(when: str, time: datetime) -> bool:
    """What the words mean, said once more: a day alone means the waking hours."""
    words = when.split("-")
    days = next((DAYS[word] for word in words if word in DAYS), range(7))
    hours = next((HOURS[word] for word in words if word in HOURS), range(8, 22))
    return time.weekday() in days and time.hour in hours


def first_query(persona: Persona) -> datetime:
    return min(query.time for query in persona.queries)


@each_persona
def test_bundled_uses(persona: Persona) -> None:
    end = first_query(persona)
    found = USES[persona.id]
    assert found == sorted(found, key=lambda use: use.time)
    assert all(end - FORTNIGHT <= use.time < end for use in found)
    assert Counter((use.item, use.place) for use in found) == Counter(
        {
            (item, where): sum(habit.times for habit in habits if habit.where == where)
            for item, habits in persona.habits.items()
            for where in {habit.where for habit in habits}
        }
    )
    for use in found:
        habits = [habit for habit in persona.habits[use.item] if habit.where == use.place]
        assert any(fits(habit.when, use.time) for habit in habits), (use, habits)


@each_persona
def test_nothing_is_opened_before_it_is_there(persona: Persona) -> None:
    end = first_query(persona)
    found = USES[persona.id]
    for item in persona.items:
        if item.app not in ("Mail", "Reminders") or not (made := item.made):
            continue
        times = [use.time for use in found if use.item == item.id]
        # where one of its habits has no hour left, that habit's uses are early: its word counts
        early = sum(
            habit.times
            for habit in persona.habits[item.id]
            if not any(fits(habit.when, minute) for minute in minutes(made, end))
        )
        assert sum(time < made for time in times) <= early, item


def minutes(start: datetime, end: datetime) -> Iterator[datetime]:
    start = max(start, end - FORTNIGHT)
    for number in range(int((end - start) / timedelta(minutes=1))):
        yield start + timedelta(minutes=number)


def one_habit(when: str, times: int, made: datetime, end: datetime) -> Persona:
    mail = {
        "id": "m1",
        "app": "Mail",
        "author": "a",
        "recipients": [],
        "subject": "s",
        "content": "c",
        "date": made.isoformat(),
        "use": [[when, "commute", times]],
    }
    data: dict[str, Any] = {"id": "z01", "profile": {}, "places": {}, "contacts": {}, "items": [mail]}
    query = {"id": "q1", "query": "q", "time": end.isoformat(), "place": "commute"}
    return parse_persona({**data, "queries": [{**query, "time": "2030-01-01T00:00", "id": "q0"}, query]})


@given(
    st.sampled_from(WHEN),
    st.integers(1, 40),
    st.datetimes(datetime(2023, 1, 1), datetime(2025, 1, 1)),
    st.timedeltas(timedelta(), timedelta(days=20)),
)
def test_any_habit(when: str, times: int, end: datetime, age: timedelta) -> None:
    made = end - age
    found = uses(one_habit(when, times, made, end))
    assert len(found) == times
    assert {(use.item, use.place) for use in found} == {("m1", "commute")}
    assert all(end - FORTNIGHT <= use.time < end for use in found)
    assert all(fits(when, use.time) for use in found)
    if any(fits(when, minute) for minute in minutes(made, end)):
        assert all(use.time >= made for use in found)


def test_a_habit_spreads_over_days_and_keeps_its_hour() -> None:
    end = datetime(2024, 5, 16, 23)  # so that no day is cut short
    times = [use.time for use in uses(one_habit("weekday", 10, end - FORTNIGHT, end))]
    assert len({time.date() for time in times}) == 10
    assert max(time.hour for time in times) - min(time.hour for time in times) <= 5  # of fourteen


def test_a_mail_that_came_within_the_last_hour_of_the_habit() -> None:
    made = datetime(2024, 5, 15, 21, 40)
    found = uses(one_habit("evening", 30, made, datetime(2024, 5, 16, 9)))
    assert all(made <= use.time < datetime(2024, 5, 15, 22) for use in found)


def test_asking_again_gives_the_same() -> None:
    assert all(uses(persona) == USES[persona.id] for persona in PERSONAS[:9])


def test_without_queries_there_is_no_fortnight_to_fill(data: dict[str, Any]) -> None:
    assert uses(parse_persona({**data, "queries": []})) == []


@pytest.mark.parametrize("seed", ["1", "2"])
def test_another_process_finds_the_same(seed: str) -> None:
    script = (
        "from contextune.datasets import bundled_personas, uses\n"
        "print([uses(persona) for persona in bundled_personas()[:9]])"
    )
    environment = {**os.environ, "PYTHONHASHSEED": seed, "TZ": "Asia/Tokyo"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == repr([USES[persona.id] for persona in PERSONAS[:9]])


def test_loading_twice_changes_nothing(store: SQLiteStore) -> None:
    persona = PERSONAS[0]
    load_persona(store, persona)
    before = store.items(persona.id), store.uses(persona.id), store.user(persona.id)
    load_persona(store, persona)
    assert (store.items(persona.id), store.uses(persona.id), store.user(persona.id)) == before
    assert before[0] == sorted(persona.items, key=lambda item: item.id)
    assert sorted(before[1], key=lambda use: (use.time, use.item)) == uses(persona)
    assert before[2] == persona.user
