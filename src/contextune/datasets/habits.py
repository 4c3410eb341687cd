"""Turns a summary such as ("weekday-morning", "commute", 9) into dated uses.

The same persona always gives the same uses: each habit draws from a generator seeded
by the ids alone. All of them fall into the fortnight before the persona's first query,
so that no query can see a use of its own future.
"""

import hashlib
import random
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import lru_cache

from contextune.datasets.persona import Habit, Persona
from contextune.types import Item, UsageEvent

DAYS = 15
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_AWAKE = range(8, 22)
_HOURS = {
    "morning": range(6, 11),
    "afternoon": range(12, 17),
    "evening": range(17, 22),
    "night": (22, 23, 0, 1),
}
_ARRIVING = frozenset({"Mail", "Reminders"})  # cannot be opened before they are there


def uses(persona: Persona) -> list[UsageEvent]:
    """Every use the persona's habits speak of, in order of time."""
    if not persona.queries:
        return []
    end = min(query.time.replace(tzinfo=None) for query in persona.queries)
    found = [
        use
        for item in persona.items
        for number, habit in enumerate(persona.habits[item.id])
        for use in _expand(item, habit, end, _seeded(persona.id, item.id, number))
    ]
    return sorted(found, key=lambda use: (use.time, use.item))


def _seeded(*names: object) -> random.Random:
    digest = hashlib.sha256("/".join(map(str, names)).encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))  # noqa: S311  # repeatable, not secret


def _expand(item: Item, habit: Habit, end: datetime, draw: random.Random) -> Iterator[UsageEvent]:
    slots = _slots(habit.when, end)
    if item.app in _ARRIVING and item.made:
        made = item.made.replace(tzinfo=None)
        rest = [made] if made < end and _fits(habit.when, made) else []
        # a summary may claim more than the item's short life allows; then its word counts, not the date
        slots = [slot for slot in slots if slot >= made] or rest or slots
    usual = draw.random()
    # no set of dates: its order changes from process to process
    days = sorted(dict.fromkeys(slot.date() for slot in slots), key=lambda _: draw.random())
    for number in range(habit.times):
        hours = [slot for slot in slots if slot.date() == days[number % len(days)]]
        # people do a thing at about the same hour: one draw a habit, a little off each day
        at = min(1.0, max(0.0, usual + (draw.random() - 0.5) * 0.3))
        start = hours[int(at * (len(hours) - 1) + 0.5)]
        room = min(3600.0 - start.minute * 60 - start.second, (end - start).total_seconds())
        yield UsageEvent(item.id, start + timedelta(seconds=int(draw.random() * room)), habit.where)


@lru_cache(maxsize=64)  # a persona's habits share a few
def _slots(when: str, end: datetime) -> Sequence[datetime]:
    """The beginnings of all hours of the fortnight before `end` that `when` speaks of."""
    first = (end - timedelta(days=DAYS)).replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    hours = int((end - first) / timedelta(hours=1)) + 1
    all_slots = (first + timedelta(hours=n) for n in range(hours))
    return tuple(slot for slot in all_slots if slot < end and _fits(when, slot))


def _fits(when: str, slot: datetime) -> bool:
    days, _, part = when.rpartition("-") if "-" in when else (when, "", "")
    if days in _HOURS:
        days, part = "", days
    weekday = slot.weekday()
    right_day = {"": True, "weekday": weekday < 5, "weekend": weekday >= 5}.get(days, _DAYS[weekday] == days)
    return right_day and slot.hour in _HOURS.get(part, _AWAKE)
