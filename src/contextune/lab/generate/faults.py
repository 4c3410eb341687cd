"""What is wrong with a persona, and the line of its file where it stands."""

import json
import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

_MARK = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_STEP = re.compile(r"\[\d+\]$|\.?[^.\[\]]+$")


@dataclass(frozen=True, slots=True)
class RuleFault:
    """One thing that breaks a rule."""

    where: str
    """The place as a path, such as `queries[2].args.title`; empty for the whole."""
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what


class JsonLines:
    """Where in a JSON text things begin, so that a fault can be gone to."""

    def __init__(self, text: str) -> None:
        breaks = [match.start() for match in re.finditer("\n", text)]
        self._at = {path: bisect_right(breaks, start) + 1 for path, start in _starts(text)}

    def of(self, path: str) -> int:
        """The line of a path; of what is not there, that of the nearest thing around it."""
        while path and path not in self._at:
            path = _STEP.sub("", path)
        return self._at.get(path, 1)


def _starts(text: str) -> list[tuple[str, int]]:
    """The path and the beginning of every value."""
    found: list[tuple[str, int]] = []
    around: list[tuple[str, int]] = []
    """What is open: its path, and the number of the entry that comes next, or -1 in an object."""
    name = ""
    for match, after in pairwise([*_MARK.finditer(text), None]):
        if match is None:
            break
        mark = match.group()
        if mark in "}]":
            if around:
                around.pop()
            continue
        if mark in ",:":
            continue
        path, number = around[-1] if around else ("", -1)
        if number < 0 and after is not None and after.group() == ":":
            name = _name(mark)
            continue
        if number >= 0:
            around[-1] = (path, number + 1)
            path = f"{path}[{number}]"
        elif around:
            path = f"{path}.{name}" if path else name
        found.append((path, match.start()))
        if mark in "{[":
            around.append((path, 0 if mark == "[" else -1))
    return found


def _name(mark: str) -> str:
    """A name as it is meant, whichever way its letters are written. In a broken text it may be broken."""
    try:
        return str(json.loads(mark, strict=False))
    except ValueError:
        return mark
