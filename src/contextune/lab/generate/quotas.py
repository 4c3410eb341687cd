"""How much of what is made, so that the whole comes out like the paper's: Tables 4 and 5, and 5,274 queries.

Everything follows from the number of a persona and the seed alone, so a run that is broken off, or asked for
more personas later, goes on as if it had never stopped.
"""

import random
from collections.abc import Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType

from contextune.lab.generate.query_rules import KINDS
from contextune.types import Tool

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
"""Items a persona has on average (Table 4), in the order they are written in: later ones know earlier."""
APIS: Mapping[str, int] = MappingProxyType(
    {"Music": 11, "Google": 10, "Notes": 9, "Mail": 8, "PhoneCall": 8, "Calendar": 7, "Reminders": 6}
)
"""APIs of each application (Table 5)."""
_OFFERED = 3
"""APIs that a query is suggested to be for; the writer takes the one that suits."""


def item_counts(number: int, n: int, seed: int = 0) -> dict[str, int]:
    """How many items the persona of this number has in each application; `n` are made in all."""
    return {app: _share(number, average) + _swing(number, n, app, seed) for app, average in ITEMS.items()}


def query_count(number: int, average: float = QUERIES / PERSONAS) -> int:
    """How many queries the persona of this number has."""
    return _share(number, average)


def kinds(number: int, count: int, average: float = QUERIES / PERSONAS) -> list[str]:
    """The kinds of its queries: they take turns, over all personas."""
    names, start = list(KINDS), int(number * average)
    return [names[(start + place) % len(names)] for place in range(count)]


def offered(number: int, count: int, tools: Sequence[Tool], seed: int = 0) -> list[list[Tool]]:
    """For each query a few APIs to be for: they take turns too, so that none is forgotten."""
    shuffled = drawn(seed, "apis").sample(list(tools), len(tools))
    start = int(number * QUERIES / PERSONAS) * _OFFERED
    places = range(start, start + count * _OFFERED)
    turns = [shuffled[place % len(shuffled)] for place in places]
    return [turns[at : at + _OFFERED] for at in range(0, len(turns), _OFFERED)]


def drawn(*names: object) -> random.Random:
    """Chance that is the same every time for the same names."""
    digest = sha256("/".join(map(str, names)).encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))  # noqa: S311  # repeatable, not secret


def _share(number: int, average: float) -> int:
    """The next of whole numbers that are the average on average."""
    return int((number + 1) * average + 0.5) - int(number * average + 0.5)


def _swing(number: int, n: int, app: str, seed: int) -> int:
    """People differ: what one has more of, their neighbour has less of."""
    first = number - number % 2
    if first + 1 >= n:
        return 0
    most = int(ITEMS[app] / 2)
    swing = drawn(seed, app, first).randint(-most, most)
    # both keep at least one
    room = min(_share(first, ITEMS[app]), _share(first + 1, ITEMS[app])) - 1
    swing = max(-room, min(room, swing))
    return swing if number == first else -swing
