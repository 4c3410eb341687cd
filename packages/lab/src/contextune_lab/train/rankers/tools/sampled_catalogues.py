"""Sample smaller catalogues from a large one, so that models do not learn a catalogue's size or style.

A model trained on three public catalogues knows them by their number of tools and by the length of their
descriptions. Half of the requests are therefore moved to a catalogue of random size that holds the tools of
some 40 requests and tools of random other servers.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from contextune.tools import Catalog
from contextune.tools.index import ToolIndex
from contextune.tools.query import PastCalls
from contextune_lab.train.rankers.tools.examples import ToolExample

MIN_TOOLS, MAX_TOOLS = 20, 5_000
_MIN_SOURCE = 100
"""Smaller catalogues are not sampled from."""
_REQUESTS = 40
"""Per sampled catalogue."""


def sample_catalogues(examples: Sequence[ToolExample], *, seed: int = 0) -> list[ToolExample]:
    """The same requests, half of them to smaller catalogues; the order is kept."""
    rng = np.random.default_rng(seed)
    by_index: dict[int, list[int]] = {}
    for number, example in enumerate(examples):
        by_index.setdefault(id(example.index), []).append(number)
    result = list(examples)
    for numbers in by_index.values():
        index = examples[numbers[0]].index
        if len(index.catalog) < _MIN_SOURCE:
            continue
        for start in range(_REQUESTS, len(numbers), 2 * _REQUESTS):
            chunk = numbers[start : start + _REQUESTS]
            smaller = _smaller([examples[number] for number in chunk], rng)
            for number, example in zip(chunk, smaller, strict=True):
                result[number] = example
    return result


def sample_places(index: ToolIndex, needed: Sequence[int], size: int, rng: np.random.Generator) -> list[int]:
    """The tools needed, of every other one the whole server, and random servers up to about `size`."""
    by_app: dict[int, list[int]] = {}
    for place, app in enumerate(map(int, index.app)):
        # tools without a server are servers of their own
        by_app.setdefault(app if index.apps[app] else -1 - place, []).append(place)
    chosen = set(needed)
    for place in needed:
        app = int(index.app[place])
        if index.apps[app] and rng.random() < 0.5:
            chosen.update(by_app[app])
    servers = list(by_app.values())
    for number in map(int, rng.permutation(len(servers))):
        if len(chosen) >= size:
            break
        chosen.update(servers[number])
    return sorted(chosen)


def _smaller(examples: Sequence[ToolExample], rng: np.random.Generator) -> Iterator[ToolExample]:
    """Move requests to one catalogue of log-uniform random size."""
    index = examples[0].index
    largest = min(MAX_TOOLS, len(index.catalog))
    size = int(math.exp(rng.uniform(math.log(MIN_TOOLS), math.log(largest))))
    needed = sorted({place for example in examples for place in example.grades})
    places = sample_places(index, needed, size, rng)
    new_place = {place: number for number, place in enumerate(places)}
    smaller = ToolIndex.from_vectors(
        Catalog([index.catalog[place] for place in places]), index.vectors[places]
    )
    for example in examples:
        past = example.query.past_calls
        query = replace(example.query, past_calls=_known_calls(past, new_place) if past else None)
        grades = {new_place[place]: grade for place, grade in example.grades.items()}
        yield replace(example, index=smaller, query=query, grades=grades)


def _known_calls(past: PastCalls, new_place: dict[int, int]) -> PastCalls | None:
    """The past calls of the tools that are left."""
    kept = np.array([int(tool) in new_place for tool in past.tool], bool)
    if not kept.any():
        return None
    tools = np.array([new_place[int(tool)] for tool in past.tool[kept]], np.int64)
    return PastCalls(tools, past.vectors[kept], past.age[kept], past.ok[kept])
