"""The values that travel through Contextune: frozen, comparable, free of behaviour that needs other rooms."""

from collections.abc import Callable

from contextune.types.answer import Answer, Argument, Hit, Missing, Plan, Reasons, Source
from contextune.types.data import Contact, Item, Use, User
from contextune.types.moment import (
    ANYWHERE,
    COMMUTE,
    NAMELESS,
    Coordinates,
    check_coordinates,
    local_time,
    parse_place,
    parse_time,
)
from contextune.types.request import Feedback, Request, Turn
from contextune.types.tool import Annotations, Tool

__all__ = [
    "ANYWHERE",
    "COMMUTE",
    "NAMELESS",
    "Annotations",
    "Answer",
    "Argument",
    "Contact",
    "Coordinates",
    "Feedback",
    "Hit",
    "Item",
    "Missing",
    "Plan",
    "Progress",
    "Reasons",
    "Request",
    "Source",
    "Tool",
    "Turn",
    "Use",
    "User",
    "check_coordinates",
    "local_time",
    "parse_place",
    "parse_time",
]

Progress = Callable[[int, int], None]
"""Is told how much of a long job is done, of how much."""
