"""Users with as much data as one has after years: the personas' lives put together, week after week."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice

import numpy as np

from contextune.context.enriched_text import Relations, enriched_text
from contextune.datasets import Persona, uses
from contextune.embed import Embedder, Matrix
from contextune.store import Store, text_digest
from contextune.types import NAMELESS, Contact, Item, Request, UsageEvent, User

_EMBEDDED = 1000
"""How many items are embedded; the rest are their copies."""
_MONDAY = datetime(2024, 5, 13)
"""All requests are made in the week of this day, a wall clock."""
_AHEAD = 2
"""Weeks in which there is something to come."""
_WEEK = timedelta(weeks=1)


@dataclass(frozen=True, eq=False)
class LargeUsers:
    """Items that users are made of, with their uses and the vectors of their portraits."""

    user: User
    items: Sequence[Item]
    uses: Sequence[Sequence[UsageEvent]]
    """Of each item."""
    vectors: Matrix

    @classmethod
    def of(cls, personas: Sequence[Persona], embedder: Embedder) -> "LargeUsers":
        """Out of the first of the personas, each moved by whole weeks, so that all live at one time."""
        lives: list[tuple[Item, list[UsageEvent]]] = []
        contacts: list[Contact] = []
        for one in personas:
            if len(lives) < _EMBEDDED:
                lives += _life(one)
                contacts += one.user.contacts
        everyone = User("crowd", places=personas[0].user.places, contacts=tuple(contacts))
        relations = Relations(everyone)
        said = [enriched_text(item, everyone, its, relations) for item, its in lives]
        return cls(everyone, [item for item, _ in lives], [its for _, its in lives], embedder.embed(said))

    def settle(self, store: Store, size: int, model: str) -> User:
        """Put a user of `size` items into the store.

        A copy's title differs from the original's in a number, and it takes over the original's vector turned
        a little, for its text as well as its portrait, so that nobody waits for thousands of embeddings.
        """
        user = replace(self.user, id=f"crowd-{size}")
        copies = list(islice(self._copies(), size))
        items = [item for item, _ in copies]
        store.put_user(user)
        store.put_items(user.id, items)
        store.put_uses(user.id, [use for _, used in copies for use in used])
        rows, relations = _turned(self.vectors, size), Relations(user)
        digests = [text_digest(item.text) for item in items]
        store.put_vectors(user.id, model, dict(zip(digests, rows, strict=True)))
        portraits = {
            item.id: (text_digest(enriched_text(item, user, used, relations)), row)
            for (item, used), row in zip(copies, rows, strict=True)
        }
        store.put_portraits(user.id, model, portraits)
        return user

    def _copies(self) -> Iterator[tuple[Item, Sequence[UsageEvent]]]:
        number = week = 0
        while True:
            week += 1
            for item, used in zip(self.items, self.uses, strict=True):
                # what was made or used lies behind every request; what is planned may lie ahead
                ahead = 0 if used or item.made else _AHEAD
                copy = moved(item, (ahead - week) * _WEEK, f"i{number:06}", str(number))
                yield copy, [UsageEvent(copy.id, use.time - week * _WEEK, use.place) for use in used]
                number += 1


def requests_of(personas: Sequence[Persona], count: int, user: User) -> list[Request]:
    """The personas' requests as another user's: in one week, at the same hour, where the user may be."""
    places = {*user.places, *NAMELESS}
    found = (
        replace(
            asked,
            user=user.id,
            time=asked.time + _shift(one),
            place=asked.place if asked.place in places else None,
        )
        for one in personas
        for asked in map(one.request, one.queries)
    )
    return list(islice(found, count))


def _life(persona: Persona) -> Iterator[tuple[Item, list[UsageEvent]]]:
    by = _shift(persona)
    used: dict[str, list[UsageEvent]] = {}
    for use in uses(persona):
        used.setdefault(use.item, []).append(replace(use, time=use.time + by))
    for item in persona.items:
        yield moved(item, by), used.get(item.id, [])


def _shift(persona: Persona) -> timedelta:
    """Whole weeks, so that day and hour, and with them the portraits, stay."""
    first = min((query.time.date() for query in persona.queries), default=_MONDAY.date())
    return _MONDAY.date() - first + timedelta(days=first.weekday())


def moved(item: Item, by: timedelta, name: str | None = None, mark: str = "") -> Item:
    """The same item at another time; with another id, and a mark behind its title, where they are given."""
    fields = dict(item.fields)
    for field in {*item.schema.times.values(), item.schema.made} - {None}:
        if value := fields.get(str(field)):
            time = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
            fields[str(field)] = (time + by).isoformat(timespec="minutes")
    if mark:
        fields[item.schema.title] = f"{item.title} {mark}"
    return Item(name or item.id, item.app, fields)


def _turned(rows: Matrix, size: int) -> Matrix:
    noise = np.random.default_rng(0)
    found = rows[np.arange(size) % len(rows)]
    found += noise.normal(0, 0.01, found.shape).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)
