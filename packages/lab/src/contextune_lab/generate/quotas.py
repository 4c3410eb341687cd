"""How many items, queries and APIs to generate, to match the paper's Tables 4 and 5 and 5,274 queries.

Everything depends on a persona's number and the seed only, so an interrupted or extended run continues
consistently.
"""

import random
from collections.abc import Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType

from contextune.types import Tool
from contextune_lab.generate.query_rules import KINDS

PERSONAS = 791
QUERIES = 4_338 + 936
ITEMS: Mapping[str, float] = MappingProxyType(
    {
        "Calendar": 5.63,
        "Mail": 2.93,
        "Reminders": 4.81,
        "Notes": 2.23,
        "Google": 9.57,
        "Music": 4.38,
        "PhoneCall": 2.34,
    }
)
"""Average items per persona (Table 4), in generation order: later applications see earlier items."""
APIS: Mapping[str, int] = MappingProxyType(
    {"Music": 11, "Google": 10, "Notes": 9, "Mail": 8, "PhoneCall": 8, "Calendar": 7, "Reminders": 6}
)
"""APIs per application (Table 5)."""
_SUGGESTED = 3
"""APIs suggested per query; the model takes the one that suits."""


def item_counts(number: int, n: int, seed: int = 0) -> dict[str, int]:
    """Items per application for a persona; `n` is the total number of personas."""
    return {
        app: _nth_count(number, average) + _variation(number, n, app, seed) for app, average in ITEMS.items()
    }


def query_count(number: int, average: float = QUERIES / PERSONAS) -> int:
    """Number of queries of a persona."""
    return _nth_count(number, average)


def kinds(number: int, count: int, average: float = QUERIES / PERSONAS) -> list[str]:
    """Query kinds of a persona, rotating over all personas."""
    names, start = list(KINDS), int(number * average)
    return [names[(start + place) % len(names)] for place in range(count)]


def suggested_apis(number: int, count: int, tools: Sequence[Tool], seed: int = 0) -> list[list[Tool]]:
    """Suggested APIs per query, rotating so that all are used."""
    shuffled = seeded_random(seed, "apis").sample(list(tools), len(tools))
    start = int(number * QUERIES / PERSONAS) * _SUGGESTED
    places = range(start, start + count * _SUGGESTED)
    rotation = [shuffled[place % len(shuffled)] for place in places]
    return [rotation[offset : offset + _SUGGESTED] for offset in range(0, len(rotation), _SUGGESTED)]


def seeded_random(*names: object) -> random.Random:
    """A random generator seeded by names."""
    digest = sha256("/".join(map(str, names)).encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))  # noqa: S311  # repeatable, not secret


def _nth_count(number: int, average: float) -> int:
    """The n-th of a sequence of integers with this average."""
    return int((number + 1) * average + 0.5) - int(number * average + 0.5)


def _variation(number: int, n: int, app: str, seed: int) -> int:
    """Vary the counts: what one persona has more, its neighbour has less."""
    first = number - number % 2
    if first + 1 >= n:
        return 0
    largest = int(ITEMS[app] / 2)
    change = seeded_random(seed, app, first).randint(-largest, largest)
    # both keep at least one
    limit = min(_nth_count(first, ITEMS[app]), _nth_count(first + 1, ITEMS[app])) - 1
    change = max(-limit, min(limit, change))
    return change if number == first else -change
