"""Synthetic users with years of data, made by repeating the personas' items week after week."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice

import numpy as np

from contextune.context.enriched.habits import HabitHistory
from contextune.context.enriched.text import Relations, content_text
from contextune.datasets import Persona, usage_events
from contextune.embed import Embedder, Matrix
from contextune.store import Store, text_digest
from contextune.types import NAMELESS, Contact, Item, Request, UsageEvent, User

_EMBEDDED_ITEMS = 1000
"""Number of items that are embedded; all others are copies of them."""
_MONDAY = datetime(2024, 5, 13)
"""All requests are made in the week of this day (local time)."""
_WEEKS_AHEAD = 2
"""Number of weeks ahead that contain planned items."""
_WEEK = timedelta(weeks=1)


@dataclass(frozen=True, eq=False)
class LargeUsers:
    """Items to build users from, with their uses and enriched-text vectors."""

    user: User
    items: Sequence[Item]
    uses: Sequence[Sequence[UsageEvent]]
    """Uses of each item."""
    vectors: Matrix
    phrases: Mapping[str, Matrix]
    """Vectors of all phrases on the habits of the items."""

    @classmethod
    def from_personas(cls, personas: Sequence[Persona], embedder: Embedder) -> "LargeUsers":
        """Build from the first personas, each shifted by whole weeks into the same period."""
        items: list[tuple[Item, list[UsageEvent]]] = []
        contacts: list[Contact] = []
        for persona in personas:
            if len(items) < _EMBEDDED_ITEMS:
                items += shifted_items(persona)
                contacts += persona.user.contacts
        user = User("crowd", places=personas[0].user.places, contacts=tuple(contacts))
        relations = Relations(user)
        texts = [content_text(item, user, relations) for item, _ in items]
        histories = [HabitHistory.build(item, user, uses_of_item) for item, uses_of_item in items]
        phrases = list(dict.fromkeys(p for history in histories for each in history.phrases for p in each))
        return cls(
            user,
            [item for item, _ in items],
            [uses_of_item for _, uses_of_item in items],
            embedder.embed(texts),
            dict(zip(phrases, embedder.embed(phrases), strict=True)),
        )

    def store_user(self, store: Store, size: int, model: str) -> User:
        """Store a user of `size` items.

        A copy's title gets a number, and its vectors are the original's, slightly perturbed, so that
        thousands of embeddings need not be computed.
        """
        user = replace(self.user, id=f"crowd-{size}")
        copies = list(islice(self._copies(), size))
        items = [item for item, _ in copies]
        store.put_user(user)
        store.put_items(user.id, items)
        store.put_uses(user.id, [use for _, item_uses in copies for use in item_uses])
        rows, relations = _perturbed(self.vectors, size), Relations(user)
        digests = [text_digest(item.text) for item in items]
        store.put_vectors(user.id, model, dict(zip(digests, rows, strict=True)))
        store.put_vectors(user.id, model, {text_digest(p): row for p, row in self.phrases.items()})
        enriched_vectors = {
            item.id: (text_digest(content_text(item, user, relations)), row)
            for (item, _), row in zip(copies, rows, strict=True)
        }
        store.put_enriched_vectors(user.id, model, enriched_vectors)
        return user

    def _copies(self) -> Iterator[tuple[Item, Sequence[UsageEvent]]]:
        number = week = 0
        while True:
            week += 1
            for item, item_uses in zip(self.items, self.uses, strict=True):
                # past items must precede every request; planned ones may follow it
                ahead = 0 if item_uses or item.made else _WEEKS_AHEAD
                copy = shift_item(item, (ahead - week) * _WEEK, f"i{number:06}", str(number))
                yield copy, [UsageEvent(copy.id, use.time - week * _WEEK, use.place) for use in item_uses]
                number += 1


def requests_for(personas: Sequence[Persona], count: int, user: User) -> list[Request]:
    """The personas' requests as another user's: in one week, at the same hour, at a place the user has."""
    places = {*user.places, *NAMELESS}
    rows = (
        replace(
            request,
            user=user.id,
            time=request.time + _weeks_to_monday(persona),
            place=request.place if request.place in places else None,
        )
        for persona in personas
        for request in map(persona.request, persona.queries)
    )
    return list(islice(rows, count))


def shifted_items(persona: Persona) -> Iterator[tuple[Item, list[UsageEvent]]]:
    """Items with their uses, shifted by whole weeks into the week of the requests."""
    offset = _weeks_to_monday(persona)
    item_uses: dict[str, list[UsageEvent]] = {}
    for use in usage_events(persona):
        item_uses.setdefault(use.item, []).append(replace(use, time=use.time + offset))
    for item in persona.items:
        yield shift_item(item, offset), item_uses.get(item.id, [])


def _weeks_to_monday(persona: Persona) -> timedelta:
    """Shift by whole weeks: weekday and hour, and so the enriched texts, stay the same."""
    first = min((query.time.date() for query in persona.queries), default=_MONDAY.date())
    return _MONDAY.date() - first + timedelta(days=first.weekday())


def shift_item(item: Item, offset: timedelta, name: str | None = None, suffix: str = "") -> Item:
    """Shift an item in time; optionally with a new id and a suffix after its title."""
    fields = dict(item.fields)
    for field in {*item.schema.times.values(), item.schema.made} - {None}:
        if value := fields.get(str(field)):
            time = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
            fields[str(field)] = (time + offset).isoformat(timespec="minutes")
    if suffix:
        fields[item.schema.title] = f"{item.title} {suffix}"
    return Item(name or item.id, item.app, fields)


def _perturbed(rows: Matrix, size: int) -> Matrix:
    generator = np.random.default_rng(0)
    rows = rows[np.arange(size) % len(rows)]
    rows += generator.normal(0, 0.01, rows.shape).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
