"""Personas padded with items of other personas, shifted to other times."""

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice

import numpy as np

from contextune.datasets import Persona, usage_events
from contextune.embed import Matrix
from contextune.types import Item, Progress, UsageEvent
from contextune_lab.train.embedder.fold_vectors import PersonaVectors
from contextune_lab.train.rankers.context.examples import ContextExample, PersonaScenes

_WEEKS = (-26, -2)
"""Range of the shift in whole weeks: weekday and hour, and so the enriched text, stay the same."""


def haystack_examples(
    vectors: PersonaVectors, size: int, *, progress: Progress | None = None
) -> Iterator[ContextExample]:
    """The measured requests, each persona padded to `size` items.

    Padding comes from personas of the same fold, whose vectors come from the same embedder.
    """
    measured = islice(vectors, len(vectors.personas))
    for number, (persona, own) in enumerate(measured, 1):
        scenes = padded_scenes(vectors, persona, own, size)
        for n, query in enumerate(persona.queries):
            yield scenes.fold_example(query, own, n, vectors.fold[persona.id])
        if progress:
            progress(number, len(vectors.personas))


def padded_scenes(
    vectors: PersonaVectors, persona: Persona, own: dict[str, Matrix], size: int
) -> PersonaScenes:
    """A persona with its vectors, prepared for scenes with `size` items."""
    fold = vectors.fold[persona.id]
    others = [
        (other, parts)
        for other, parts in vectors
        if vectors.fold[other.id] == fold and other.id != persona.id
    ]
    return padded_with(persona, own, others, size)


def padded_with(
    persona: Persona, own: dict[str, Matrix], others: list[tuple[Persona, dict[str, Matrix]]], size: int
) -> PersonaScenes:
    """A persona prepared for scenes with `size` items, its own and copies of those of other personas."""
    padded, rows, contents, events = _pad_persona(persona, own, others, size)
    return PersonaScenes.build(padded, rows, events, contents=contents)


def _pad_persona(
    persona: Persona, own: dict[str, Matrix], others: list[tuple[Persona, dict[str, Matrix]]], size: int
) -> tuple[Persona, Matrix, Matrix, list[UsageEvent]]:
    """The padded persona, vectors of its items with and without habits, and its usage events."""
    draw = random.Random(f"haystack/{persona.id}")  # noqa: S311  # repeatable, not secret
    items, habits = list(persona.items), dict(persona.habits)
    rows, contents = [own["items"]], [own["contents"]]
    pool = [(other, n) for other, _ in others for n in range(len(other.items))]
    vectors_by_persona = {other.id: parts for other, parts in others}
    events_by_persona = {other.id: usage_events(other) for other, _ in others}
    events = usage_events(persona)
    # every (item, week) pair occurs once: no duplicates
    weeks = range(*_WEEKS)
    copies = [(other, n, week) for week in weeks for other, n in pool]
    draw.shuffle(copies)
    for number, (other, n, week) in enumerate(copies[: max(0, size - len(items))]):
        item = _shift_item(other.items[n], f"hay-{number}", timedelta(weeks=week))
        items.append(item)
        rows.append(vectors_by_persona[other.id]["items"][n : n + 1])
        contents.append(vectors_by_persona[other.id]["contents"][n : n + 1])
        habits[item.id] = ()
        events += [
            UsageEvent(item.id, use.time + timedelta(weeks=week), use.place)
            for use in events_by_persona[other.id]
            if use.item == other.items[n].id
        ]
    padded = replace(persona, items=tuple(items), habits=habits)
    return padded, np.concatenate(rows), np.concatenate(contents), events


def _shift_item(item: Item, name: str, offset: timedelta) -> Item:
    """Shift an item in time, with a new id."""
    fields = dict(item.fields)
    for field in {*item.schema.times.values(), item.schema.made} - {None}:
        if value := fields.get(str(field)):
            time = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
            fields[str(field)] = (time + offset).isoformat(timespec="minutes")
    return Item(name, item.app, fields)
