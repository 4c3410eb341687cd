"""Expand usage summaries such as ("weekday-morning", "commute", 9) into dated usage events.

Deterministic: each habit draws from a generator seeded by the ids alone. All events lie in the 15 days before
the persona's first query, so that no query sees its own future.
"""

import hashlib
import random
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import lru_cache

from contextune.datasets.persona import ADDITIONAL, Habit, Persona
from contextune.store import Store
from contextune.types import Item, UsageEvent

DAYS = 15
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WAKING_HOURS = range(8, 22)
_HOURS = {
    "morning": range(6, 11),
    "afternoon": range(12, 17),
    "evening": range(17, 22),
    "night": (22, 23, 0, 1),
}
_CREATED_LATER = frozenset({"Mail", "Reminders"})
"""Applications whose items cannot be used before they were made."""


def load_persona(store: Store, persona: Persona) -> None:
    """Put the persona's user, items and usage events into a store; idempotent."""
    store.put_user(persona.user)
    store.put_items(persona.id, persona.items)
    store.put_uses(persona.id, usage_events(persona))


def usage_events(persona: Persona) -> list[UsageEvent]:
    """The usage events that follow from the persona's habits, by time."""
    own = [query for query in persona.queries if not query.more.get(ADDITIONAL)]
    if not own:
        return []
    end = min(query.time.replace(tzinfo=None) for query in own)
    events = [
        event
        for item in persona.items
        for number, habit in enumerate(persona.habits[item.id])
        for event in _expand(item, habit, end, _seeded_random(persona.id, item.id, number))
    ]
    return sorted(events, key=lambda event: (event.time, event.item))


def _seeded_random(*parts: object) -> random.Random:
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))  # noqa: S311  # repeatable, not secret


def _expand(item: Item, habit: Habit, end: datetime, rng: random.Random) -> Iterator[UsageEvent]:
    slots = _slots(habit.when, end)
    if item.app in _CREATED_LATER and item.made:
        made = item.made.replace(tzinfo=None)
        fallback = [made] if made < end and _matches(habit.when, made) else []
        # where the item is too young for its summary, the summary wins over the date
        slots = [slot for slot in slots if slot >= made] or fallback or slots
    usual = rng.random()
    # dict.fromkeys, not set: the order of a set varies between processes
    days = sorted(dict.fromkeys(slot.date() for slot in slots), key=lambda _: rng.random())
    for number in range(habit.times):
        hours = [slot for slot in slots if slot.date() == days[number % len(days)]]
        # one usual hour per habit, with some jitter each day
        position = min(1.0, max(0.0, usual + (rng.random() - 0.5) * 0.3))
        start = hours[int(position * (len(hours) - 1) + 0.5)]
        span = min(3600.0 - start.minute * 60 - start.second, (end - start).total_seconds())
        yield UsageEvent(item.id, start + timedelta(seconds=int(rng.random() * span)), habit.where)


@lru_cache(maxsize=64)  # the habits of a persona share a few values
def _slots(when: str, end: datetime) -> Sequence[datetime]:
    """The start of every hour in the 15 days before `end` that `when` covers."""
    first = (end - timedelta(days=DAYS)).replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    hours = int((end - first) / timedelta(hours=1)) + 1
    all_slots = (first + timedelta(hours=n) for n in range(hours))
    return tuple(slot for slot in all_slots if slot < end and _matches(when, slot))


def _matches(when: str, slot: datetime) -> bool:
    days, _, part = when.rpartition("-") if "-" in when else (when, "", "")
    if days in _HOURS:
        days, part = "", days
    weekday = slot.weekday()
    day_matches = {"": True, "weekday": weekday < 5, "weekend": weekday >= 5}.get(
        days, _DAYS[weekday] == days
    )
    return day_matches and slot.hour in _HOURS.get(part, _WAKING_HOURS)
