"""Immutable value types; depend on no other subpackage."""

from collections.abc import Callable

from contextune.types.answer import (
    Answer,
    Argument,
    ContextHits,
    Decision,
    ItemHit,
    Missing,
    Option,
    OutcomeKind,
    Plan,
    Question,
    Reasons,
    Source,
    ToolHit,
    TurnOutcome,
    TurnState,
)
from contextune.types.data import Contact, UsageEvent, User
from contextune.types.item import Item
from contextune.types.request import Feedback, Request, Turn
from contextune.types.time_place import (
    ANYWHERE,
    COMMUTE,
    NAMELESS,
    Coordinates,
    PlaceLocation,
    check_coordinates,
    coordinates_of,
    local_time,
    parse_place,
    parse_time,
)
from contextune.types.time_text import (
    UnreadTime,
    count_unread_times,
    format_item_time,
    format_time,
    user_time,
)
from contextune.types.tool import Annotations, Tool

__all__ = [
    "ANYWHERE",
    "COMMUTE",
    "NAMELESS",
    "Annotations",
    "Answer",
    "Argument",
    "Contact",
    "ContextHits",
    "Coordinates",
    "Decision",
    "Feedback",
    "Item",
    "ItemHit",
    "Missing",
    "Option",
    "OutcomeKind",
    "PlaceLocation",
    "Plan",
    "Progress",
    "Question",
    "Reasons",
    "Request",
    "Source",
    "Tool",
    "ToolHit",
    "Turn",
    "TurnOutcome",
    "TurnState",
    "UnreadTime",
    "UsageEvent",
    "User",
    "check_coordinates",
    "coordinates_of",
    "count_unread_times",
    "format_item_time",
    "format_time",
    "local_time",
    "parse_place",
    "parse_time",
    "user_time",
]

Progress = Callable[[int, int], None]
"""Called with the work done so far and the total."""
