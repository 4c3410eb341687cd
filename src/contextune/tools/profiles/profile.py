"""`ToolProfile`: the effect of a tool and what its parameters take, from its words and its schema."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from contextune.search.tokenize import identifier_words
from contextune.tools.profiles.effects import EFFECTS, first_effect, name_effect, tool_effect
from contextune.types import Tool

_TIME_WORDS = frozenset(
    [
        *("date", "day", "time", "datetime", "timestamp", "when", "start", "end", "due", "until", "since"),
        *("before", "after", "deadline", "from", "to", "at"),
    ]
)
_PERSON_WORDS = frozenset(
    [
        *(
            "to",
            "recipient",
            "recipients",
            "contact",
            "contacts",
            "person",
            "people",
            "attendee",
            "attendees",
        ),
        *("participant", "participants", "member", "members", "guest", "guests", "who", "with", "user"),
        *("assignee", "sender", "email", "emails", "phone", "number", "callee", "name"),
    ]
)
_FREE_WORDS = frozenset(
    [
        *("body", "text", "message", "content", "note", "comment", "description", "query", "q", "search"),
        *("prompt", "question", "term", "keywords", "reason", "summary"),
    ]
)
_NUMBER_TYPES = ("number", "integer")


@dataclass(frozen=True, slots=True)
class ToolProfile:
    """What a tool does and takes; a name of a tool or of a server decides nothing."""

    effect: int
    """The worst of `EFFECTS` that its words say, as a number; -1 if they say none."""
    is_read: bool
    """Whether its words say that it reads and nothing else."""
    arguments: int
    required: int
    takes_time: int
    """2 if a required argument takes a time, 1 if an optional one does."""
    takes_person: int
    takes_free_text: int
    takes_number: int
    takes_choice: int


PROFILE_FEATURES: tuple[str, ...] = (
    *("effect", "is read", "parameters", "required parameters", "takes time", "takes person"),
    *("takes free text", "takes number", "takes choice"),
)
"""The names of `profile_row`."""


def tool_profile(tool: Tool) -> ToolProfile:
    """The profile of a tool."""
    return _profile(tool.name, tool.description, _ParametersKey(tool.parameters), tool)


def profile_row(tool: Tool) -> list[float]:
    """A profile as features."""
    profile = tool_profile(tool)
    return [
        float(profile.effect),
        float(profile.is_read),
        float(profile.arguments),
        float(profile.required),
        float(profile.takes_time),
        float(profile.takes_person),
        float(profile.takes_free_text),
        float(profile.takes_number),
        float(profile.takes_choice),
    ]


class _ParametersKey:
    """A cache key by object identity, as schemas are not hashable; it keeps the schema alive."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self.parameters = parameters

    def __hash__(self) -> int:
        return id(self.parameters)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ParametersKey) and other.parameters is self.parameters


@lru_cache(maxsize=4096)
def _profile(name: str, description: str, schema: _ParametersKey, tool: Tool) -> ToolProfile:
    del name, description  # parts of the key
    effects = [
        *tool_effect(tool).kinds,
        *filter(None, (name_effect(tool.name), first_effect(tool.description))),
    ]
    worst = max((EFFECTS.index(effect) for effect in effects), default=-1)
    properties = cast("Mapping[str, Any]", schema.parameters.get("properties") or {})
    required = frozenset(cast("Iterable[str]", schema.parameters.get("required") or ()))
    takes: dict[str, int] = dict.fromkeys(("time", "person", "free", "number", "choice"), 0)
    for argument, about in properties.items():
        for kind in _kinds(argument, about):
            takes[kind] = max(takes[kind], 2 if argument in required else 1)
    return ToolProfile(
        worst,
        bool(effects) and worst == 0,
        len(properties),
        len(required & properties.keys()),
        takes["time"],
        takes["person"],
        takes["free"],
        takes["number"],
        takes["choice"],
    )


def _kinds(argument: str, about: object) -> Iterable[str]:
    """What an argument takes, by its type, its format and the words of its name."""
    schema: Mapping[str, Any] = cast("Mapping[str, Any]", about) if isinstance(about, Mapping) else {}
    words = frozenset(identifier_words(argument))
    kind = schema.get("type")
    if schema.get("enum") or kind == "boolean":
        yield "choice"
    elif kind in _NUMBER_TYPES:
        yield "number"
    elif schema.get("format") in ("date-time", "date", "time"):
        yield "time"
    else:
        if words & _TIME_WORDS - _PERSON_WORDS:
            yield "time"
        if words & _PERSON_WORDS:
            yield "person"
        if words & _FREE_WORDS:
            yield "free"
