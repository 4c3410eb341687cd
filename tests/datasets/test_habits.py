"""Usage events from habits: deterministic, complete, at the right hours, never in a query's future."""

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

from contextune.datasets import (
    Persona,
    bundled_personas,
    demo_personas,
    load_persona,
    parse_persona,
    usage_events,
)
from contextune.datasets.persona_format import WHEN
from contextune.store import SQLiteStore

PERSONAS = bundled_personas()
EVENTS = {persona.id: usage_events(persona) for persona in PERSONAS}
PERIOD = timedelta(days=15)
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


def matches(when: str, time: datetime) -> bool:
    """An independent reading of `when`: a day alone means its waking hours."""
    words = when.split("-")
    days = next((DAYS[word] for word in words if word in DAYS), range(7))
    hours = next((HOURS[word] for word in words if word in HOURS), range(8, 22))
    return time.weekday() in days and time.hour in hours


def first_query(persona: Persona) -> datetime:
    return min(query.time for query in persona.queries)


@each_persona
def test_events_of_bundled_personas_follow_their_habits(persona: Persona) -> None:
    end = first_query(persona)
    events = EVENTS[persona.id]
    assert events == sorted(events, key=lambda use: use.time)
    assert all(end - PERIOD <= use.time < end for use in events)
    assert Counter((use.item, use.place) for use in events) == Counter(
        {
            (item, where): sum(habit.times for habit in habits if habit.where == where)
            for item, habits in persona.habits.items()
            for where in {habit.where for habit in habits}
        }
    )
    for use in events:
        habits = [habit for habit in persona.habits[use.item] if habit.where == use.place]
        assert any(matches(habit.when, use.time) for habit in habits), (use, habits)


@each_persona
def test_mail_and_reminders_are_not_used_before_they_exist(persona: Persona) -> None:
    end = first_query(persona)
    events = EVENTS[persona.id]
    for item in persona.items:
        if item.app not in ("Mail", "Reminders") or not (made := item.made):
            continue
        times = [use.time for use in events if use.item == item.id]
        # a habit that has no hour left after the item was made keeps its events, which are too early
        early = sum(
            habit.times
            for habit in persona.habits[item.id]
            if not any(matches(habit.when, time) for time in hours(made, end))
        )
        assert sum(time < made for time in times) <= early, item


def hours(start: datetime, end: datetime) -> Iterator[datetime]:
    """One time in every hour between two times: `matches` only depends on the hour and the day."""
    time = max(start, end - PERIOD)
    while time < end:
        yield time
        time = time.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)


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
def test_random_habit_gives_events_at_its_hours(when: str, times: int, end: datetime, age: timedelta) -> None:
    made = end - age
    events = usage_events(one_habit(when, times, made, end))
    assert len(events) == times
    assert {(use.item, use.place) for use in events} == {("m1", "commute")}
    assert all(end - PERIOD <= use.time < end for use in events)
    assert all(matches(when, use.time) for use in events)
    if any(matches(when, time) for time in hours(made, end)):
        assert all(use.time >= made for use in events)


def test_a_habit_spreads_over_days_and_keeps_its_hour() -> None:
    end = datetime(2024, 5, 16, 23)  # every day is complete
    times = [use.time for use in usage_events(one_habit("weekday", 10, end - PERIOD, end))]
    assert len({time.date() for time in times}) == 10
    assert max(time.hour for time in times) - min(time.hour for time in times) <= 5  # out of 14 waking hours


def test_mail_from_the_last_hour_of_the_habit_is_used_after_it_came() -> None:
    made = datetime(2024, 5, 15, 21, 40)
    events = usage_events(one_habit("evening", 30, made, datetime(2024, 5, 16, 9)))
    assert all(made <= use.time < datetime(2024, 5, 15, 22) for use in events)


def test_events_are_the_same_on_every_call() -> None:
    assert all(usage_events(persona) == EVENTS[persona.id] for persona in PERSONAS[:9])


def test_persona_without_queries_has_no_events(data: dict[str, Any]) -> None:
    assert usage_events(parse_persona({**data, "queries": []})) == []


@pytest.mark.parametrize("seed", ["1", "2"])
def test_events_are_the_same_in_another_process(seed: str) -> None:
    script = (
        "from contextune.datasets import demo_personas, usage_events\n"
        "print([usage_events(persona) for persona in demo_personas()])"
    )
    environment = {**os.environ, "PYTHONHASHSEED": seed, "TZ": "Asia/Tokyo"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == repr([EVENTS[persona.id] for persona in demo_personas()])


def test_load_persona_is_idempotent(store: SQLiteStore) -> None:
    persona = PERSONAS[0]
    load_persona(store, persona)
    before = store.items(persona.id), store.uses(persona.id), store.user(persona.id)
    load_persona(store, persona)
    assert (store.items(persona.id), store.uses(persona.id), store.user(persona.id)) == before
    assert before[0] == sorted(persona.items, key=lambda item: item.id)
    assert sorted(before[1], key=lambda use: (use.time, use.item)) == usage_events(persona)
    assert before[2] == persona.user
