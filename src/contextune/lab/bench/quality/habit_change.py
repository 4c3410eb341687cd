"""How soon the ranking follows somebody whose habits change.

A simulated user has played one song on weekday mornings on the commute for weeks, and takes to
another. Every morning they ask for what they always ride in to, and tell which one it was.
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

ASKED = "Put on what I always ride in to."
_DAYS = 30
_OLD, _NEW = "the old song", "the new song"


def ranks_after(
    personas: Sequence[Persona], mornings: int = 15, *, progress: Progress | None = None
) -> list[list[tuple[int, int]]]:
    """For each persona and number of mornings told: the ranks of the new song and of the old one."""
    found: list[list[tuple[int, int]]] = []
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "habits.db") as store:
        for number, persona in enumerate(personas, 1):
            found.append(_followed(store, persona, mornings))
            if progress:
                progress(number, len(personas))
    return found


def leading(ranks: Sequence[Sequence[tuple[int, int]]]) -> tuple[list[float], list[float]]:
    """By number of mornings told, the share of users for whom the new song leads the old, and is first."""
    steps = range(len(ranks[0]))
    above = [sum(user[n][0] < user[n][1] for user in ranks) / len(ranks) for n in steps]
    first = [sum(user[n][0] == 1 for user in ranks) / len(ranks) for n in steps]
    return above, first


def _followed(store: SQLiteStore, persona: Persona, mornings: int) -> list[tuple[int, int]]:
    load_persona(store, persona)
    start = max(query.time for query in persona.queries).replace(tzinfo=None) + timedelta(days=40)
    songs = [_song(_OLD, "Harbour Lights", start), _song(_NEW, "Paper Lanterns", start)]
    store.put_items(persona.id, songs)
    tuner = Tuner(store)
    habit = [day for day in range(2, 2 + _DAYS) if (start - timedelta(days=day)).weekday() < 5]
    tuner.record(persona.id, *(UsageEvent(_OLD, _morning(start, -day), "commute") for day in habit[:20]))
    ranks: list[tuple[int, int]] = []
    request = Request(ASKED, persona.id, start, "commute")
    day = 0
    while len(ranks) <= mornings:
        now = _morning(start, day)
        day += 1
        if now.weekday() >= 5:
            continue
        asked = replace(request, time=now)
        order = [hit.item.id for hit in tuner.context(asked, None)]
        ranks.append((order.index(_NEW) + 1, order.index(_OLD) + 1))
        tuner.feedback(asked, used=[_NEW], rejected=[_OLD])
    return ranks


def _song(name: str, title: str, start: datetime) -> Item:
    made = (start - timedelta(days=100)).isoformat(timespec="minutes")
    fields = {"song_name": title, "artist": "The Ferrymen", "album_title": "Crossings", "played_time": made}
    return Item(name, "Music", fields)


def _morning(start: datetime, days: int) -> datetime:
    return start.replace(hour=7, minute=50, second=0, microsecond=0) + timedelta(days=days)
