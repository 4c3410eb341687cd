"""Faults of a persona file, located by line."""

import json
import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_STEP = re.compile(r"\[\d+\]$|\.?[^.\[\]]+$")


@dataclass(frozen=True, slots=True)
class RuleFault:
    """One violated rule."""

    where: str
    """JSON path such as `queries[2].args.title`; empty for the whole file."""
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what


class JsonLines:
    """Line numbers of the values of a JSON text, by path."""

    def __init__(self, text: str) -> None:
        breaks = [match.start() for match in re.finditer("\n", text)]
        self._at = {path: bisect_right(breaks, start) + 1 for path, start in _value_positions(text)}

    def line_of(self, path: str) -> int:
        """The line of a path, or of its nearest existing parent."""
        while path and path not in self._at:
            path = _STEP.sub("", path)
        return self._at.get(path, 1)


def _value_positions(text: str) -> list[tuple[str, int]]:
    """Path and start position of every value."""
    positions: list[tuple[str, int]] = []
    open_values: list[tuple[str, int]] = []
    """Open containers: path, and the index of the next entry, or -1 for an object."""
    name = ""
    for match, after in pairwise([*_TOKEN.finditer(text), None]):
        if match is None:
            break
        lexeme = match.group()
        if lexeme in "}]":
            if open_values:
                open_values.pop()
            continue
        if lexeme in ",:":
            continue
        path, number = open_values[-1] if open_values else ("", -1)
        if number < 0 and after is not None and after.group() == ":":
            name = _name(lexeme)
            continue
        if number >= 0:
            open_values[-1] = (path, number + 1)
            path = f"{path}[{number}]"
        elif open_values:
            path = f"{path}.{name}" if path else name
        positions.append((path, match.start()))
        if lexeme in "{[":
            open_values.append((path, 0 if lexeme == "[" else -1))
    return positions


def _name(lexeme: str) -> str:
    """Decode a JSON key; a malformed one is returned as it is."""
    try:
        return str(json.loads(lexeme, strict=False))
    except ValueError:
        return lexeme
