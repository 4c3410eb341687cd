"""Habit benchmark: how many days the ranking needs to follow a changed habit.

A simulated user has played one song on weekday mornings for weeks, then switches to another. Every morning
they ask for their usual song. What they play is recorded (`Tuner.record`); or they also say which one was
wrong (`Tuner.feedback`).
"""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from contextune.datasets import Persona, load_persona
from contextune.store import SQLiteStore
from contextune.tuner import Tuner
from contextune.types import Item, Progress, Request, UsageEvent

REQUEST = "Put on what I always ride in to."
_DAYS = 30
_OLD, _NEW = "the old song", "the new song"


def simulate_habit_change(
    personas: Sequence[Persona],
    mornings: int = 15,
    *,
    corrected: bool = False,
    progress: Progress | None = None,
) -> list[list[tuple[int, int]]]:
    """Per persona and number of mornings: the ranks of the new and the old song.

    With `corrected`, the user says every morning that the old one is wrong.
    """
    ranks: list[list[tuple[int, int]]] = []
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "habits.db") as store:
        for number, persona in enumerate(personas, 1):
            ranks.append(_simulate_user(store, persona, mornings, corrected=corrected))
            if progress:
                progress(number, len(personas))
    return ranks


def leading_shares(ranks: Sequence[Sequence[tuple[int, int]]]) -> tuple[list[float], list[float]]:
    """Per number of mornings: the share of users whose new song outranks the old one, and is first."""
    steps = range(len(ranks[0]))
    above = [sum(user[n][0] < user[n][1] for user in ranks) / len(ranks) for n in steps]
    first = [sum(user[n][0] == 1 for user in ranks) / len(ranks) for n in steps]
    return above, first


def _simulate_user(
    store: SQLiteStore, persona: Persona, mornings: int, *, corrected: bool
) -> list[tuple[int, int]]:
    load_persona(store, persona)
    start = max(query.time for query in persona.queries).replace(tzinfo=None) + timedelta(days=40)
    songs = [_song(_OLD, "Harbour Lights", start), _song(_NEW, "Paper Lanterns", start)]
    store.put_items(persona.id, songs)
    tuner = Tuner(store)
    habit = [day for day in range(2, 2 + _DAYS) if (start - timedelta(days=day)).weekday() < 5]
    tuner.record(persona.id, *(UsageEvent(_OLD, _morning(start, -day), "commute") for day in habit[:20]))
    ranks: list[tuple[int, int]] = []
    request = Request(REQUEST, persona.id, start, "commute")
    day = 0
    while len(ranks) <= mornings:
        now = _morning(start, day)
        day += 1
        if now.weekday() >= 5:
            continue
        request_now = replace(request, time=now)
        order = [hit.item.id for hit in tuner.context(request_now, None)]
        ranks.append((order.index(_NEW) + 1, order.index(_OLD) + 1))
        if corrected:
            tuner.feedback(request_now, used=[_NEW], rejected=[_OLD])
        else:
            tuner.record(persona.id, UsageEvent(_NEW, now, "commute"))
    return ranks


def _song(name: str, title: str, start: datetime) -> Item:
    made = (start - timedelta(days=100)).isoformat(timespec="minutes")
    fields = {"song_name": title, "artist": "The Ferrymen", "album_title": "Crossings", "played_time": made}
    return Item(name, "Music", fields)


def _morning(start: datetime, days: int) -> datetime:
    return start.replace(hour=7, minute=50, second=0, microsecond=0) + timedelta(days=days)
