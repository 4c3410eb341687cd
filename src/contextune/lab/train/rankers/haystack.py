"""Personas among many more items than they have: those of other personas, of other times."""

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice

import numpy as np

from contextune.context.build_scene import RequestVectors
from contextune.context.signals.request_classifier import reading
from contextune.datasets import Persona, uses
from contextune.embed import Matrix
from contextune.lab.train.embedder.fold_vectors import FoldVectors
from contextune.lab.train.rankers.context_examples import ContextExample, PersonaStage
from contextune.tools import bundled_toolbox
from contextune.types import Item, Progress, UsageEvent

_WEEKS = (-26, -2)
"""How far others' items are moved, in whole weeks: weekday and hour, and so the portrait, stay."""


def haystack(
    vectors: FoldVectors, size: int, *, progress: Progress | None = None
) -> Iterator[ContextExample]:
    """The requests measured on, each persona with so many items.

    Others are taken from the persona's own fold, since their vectors come from the same embedder.
    """
    parts = {persona.id: (persona, found) for persona, found in vectors}
    tool_apps = [tool.app for tool in bundled_toolbox()]
    for number, (persona, own) in enumerate(islice(vectors, len(vectors.personas)), 1):
        fold = vectors.fold[persona.id]
        others = [parts[name] for name, its in vectors.fold.items() if its == fold and name != persona.id]
        padded, rows, used = _padded(persona, own["items"], others, size)
        stage = PersonaStage.of(padded, rows, used)
        for n, query in enumerate(persona.queries):
            asked = RequestVectors(own["bare"][n], own["around"][n])
            read = reading(own["kinds"][n], own["apps"][n], own["tools"] @ asked.bare, tool_apps)
            yield stage.example(query, asked, read, fold)
        if progress:
            progress(number, len(vectors.personas))


def _padded(
    persona: Persona, vectors: Matrix, others: list[tuple[Persona, dict[str, Matrix]]], size: int
) -> tuple[Persona, Matrix, list[UsageEvent]]:
    draw = random.Random(f"haystack/{persona.id}")  # noqa: S311  # repeatable, not secret
    items, rows, habits = list(persona.items), [vectors], dict(persona.habits)
    pool = [(other, n) for other, _ in others for n in range(len(other.items))]
    found = {other.id: parts["items"] for other, parts in others}
    uses_of = {other.id: uses(other) for other, _ in others}
    used = uses(persona)
    # the weeks are a whole number of rounds, so that no item comes twice at one time
    weeks = range(*_WEEKS)
    copies = [(other, n, week) for week in weeks for other, n in pool]
    draw.shuffle(copies)
    for number, (other, n, week) in enumerate(copies[: max(0, size - len(items))]):
        item = _moved(other.items[n], f"hay-{number}", timedelta(weeks=week))
        items.append(item)
        rows.append(found[other.id][n : n + 1])
        habits[item.id] = ()
        used += [
            UsageEvent(item.id, use.time + timedelta(weeks=week), use.place)
            for use in uses_of[other.id]
            if use.item == other.items[n].id
        ]
    return replace(persona, items=tuple(items), habits=habits), np.concatenate(rows), used


def _moved(item: Item, name: str, by: timedelta) -> Item:
    """The same item at another time."""
    fields = dict(item.fields)
    for field in {*item.schema.times.values(), item.schema.made} - {None}:
        if value := fields.get(str(field)):
            time = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
            fields[str(field)] = (time + by).isoformat(timespec="minutes")
    return Item(name, item.app, fields)
