"""Remove invented tool names from generated queries.

Models trained on tool texts write them in the same form, with a name in front: "Cronos — live traffic — Get
live flight traffic", or "PartyPlanningAPI: Create a checklist". Where no such tool exists, the name only
attracts tools with similar names (Kachuee et al., appendix D).
"""

import re
from collections.abc import Iterable, Iterator

from contextune.search.tokenize import alnum_key
from contextune.types import Tool

_SEPARATOR = re.compile(r"(?<!\s)\s+[—–-]\s+|:\s+")
_MAX_NAME_WORDS = 6


class KnownNames:
    """The names of a catalogue's servers and tools, compared by letters and digits only."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._keys = frozenset(key for tool in tools for key in _name_keys(tool))

    def is_invented(self, name: str, request: str) -> bool:
        """Whether no tool or server has this name, nor does the request mention it."""
        key = alnum_key(name)
        return bool(key) and key not in self._keys and key not in alnum_key(request)

    def strip(self, query: str, request: str) -> str:
        """The query without an invented name in front, and without later parts that begin with it."""
        name, *rest = _SEPARATOR.split(query)
        if not rest or not _looks_like_a_name(name) or not self.is_invented(name, request):
            return query
        key = alnum_key(name)
        described = [part for part in rest if alnum_key(part) and not alnum_key(part).startswith(key)]
        return " — ".join(described) or query


def leading_name(query: str) -> str:
    """The name in front of a query; empty if there is none."""
    name, *rest = _SEPARATOR.split(query)
    return name if rest and _looks_like_a_name(name) else ""


def _looks_like_a_name(text: str) -> bool:
    """Whether a short text has a capital letter in every long word: "Flight Radar", "PartyPlanningAPI"."""
    words = re.findall(r"[^\W\d_]{4,}", text) or re.findall(r"[^\W\d_]+", text)
    return (
        len(text.split()) <= _MAX_NAME_WORDS and bool(words) and all(word != word.lower() for word in words)
    )


def _name_keys(tool: Tool) -> Iterator[str]:
    return (key for key in map(alnum_key, (tool.app, tool.name, tool.title)) if key)
