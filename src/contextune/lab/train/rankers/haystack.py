"""Personas padded with items of other personas, shifted to other times."""

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice

import numpy as np

from contextune.context.build_scene import RequestVectors
from contextune.datasets import Persona, usage_events
from contextune.embed import Matrix
from contextune.lab.train.embedder.fold_vectors import FoldVectors
from contextune.lab.train.rankers.context_examples import ContextExample, PersonaScenes, fold_classes
from contextune.types import Item, Progress, UsageEvent

_WEEKS = (-26, -2)
"""Range of the shift in whole weeks: weekday and hour, and so the enriched text, stay the same."""


def haystack_examples(
    vectors: FoldVectors, size: int, *, progress: Progress | None = None
) -> Iterator[ContextExample]:
    """The measured requests, each persona padded to `size` items.

    Padding comes from personas of the same fold, whose vectors come from the same embedder.
    """
    parts = {persona.id: (persona, vectors_by_persona) for persona, vectors_by_persona in vectors}
    for number, (persona, own) in enumerate(islice(vectors, len(vectors.personas)), 1):
        fold = vectors.fold[persona.id]
        others = [
            parts[name]
            for name, other_fold in vectors.fold.items()
            if other_fold == fold and name != persona.id
        ]
        padded, rows, events = _pad_persona(persona, own["items"], others, size)
        scenes = PersonaScenes.build(padded, rows, events)
        for n, query in enumerate(persona.queries):
            request_vectors = RequestVectors(own["bare"][n], own["around"][n])
            yield scenes.example(query, request_vectors, fold_classes(own, n), fold)
        if progress:
            progress(number, len(vectors.personas))


def _pad_persona(
    persona: Persona, vectors: Matrix, others: list[tuple[Persona, dict[str, Matrix]]], size: int
) -> tuple[Persona, Matrix, list[UsageEvent]]:
    draw = random.Random(f"haystack/{persona.id}")  # noqa: S311  # repeatable, not secret
    items, rows, habits = list(persona.items), [vectors], dict(persona.habits)
    pool = [(other, n) for other, _ in others for n in range(len(other.items))]
    vectors_by_persona = {other.id: parts["items"] for other, parts in others}
    events_by_persona = {other.id: usage_events(other) for other, _ in others}
    events = usage_events(persona)
    # every (item, week) pair occurs once: no duplicates
    weeks = range(*_WEEKS)
    copies = [(other, n, week) for week in weeks for other, n in pool]
    draw.shuffle(copies)
    for number, (other, n, week) in enumerate(copies[: max(0, size - len(items))]):
        item = _shift_item(other.items[n], f"hay-{number}", timedelta(weeks=week))
        items.append(item)
        rows.append(vectors_by_persona[other.id][n : n + 1])
        habits[item.id] = ()
        events += [
            UsageEvent(item.id, use.time + timedelta(weeks=week), use.place)
            for use in events_by_persona[other.id]
            if use.item == other.items[n].id
        ]
    return replace(persona, items=tuple(items), habits=habits), np.concatenate(rows), events


def _shift_item(item: Item, name: str, offset: timedelta) -> Item:
    """Shift an item in time, with a new id."""
    fields = dict(item.fields)
    for field in {*item.schema.times.values(), item.schema.made} - {None}:
        if value := fields.get(str(field)):
            time = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
            fields[str(field)] = (time + offset).isoformat(timespec="minutes")
    return Item(name, item.app, fields)
