"""Texts that make a backtracking pattern slow: repeated pieces, some of them derived from the pattern."""

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

codes: Any = import_module("re._constants")  # they have no types
parser: Any = import_module("re._parser")

_PIECES = [
    " ",
    "\n",
    "\t",
    "\xa0",
    "a",
    "A",
    "1",
    "中",
    '"',
    "'",
    "“",
    "‘",
    "<",
    ">",
    "(",
    "[",
    "{",
    "-",
    ".",
    ",",
    "_",
    "=",
    "/",
    "\\",
    "@",
    ":",
    ";",
    "&",
    "%",
    "*",
    "#",
    "a ",
    "A ",
    "1 ",
    "1.",
    "a.",
    "a, ",
    "a@",
    "<a ",
    "<a style= ",
    "<style = ",
    "the ",
    "to ",
    "a\n",
    " \n",
    "\r\n",
    "a1",
    "1-",
    "1:",
    "'s ",
    "a's ",
    "Aa",
    "# ",
    "* ",
    "> ",
    "http://a.",
    "<think>",
    "{{",
    "is it ",
    "and the ",
    "at 3 ",
    "every ",
    "on monday ",
]
_MANY = 8
"""A repeat of at least so many is repeated further."""
_CATEGORIES: dict[Any, tuple[str, str]] = {
    codes.CATEGORY_DIGIT: (r"\d", "1"),
    codes.CATEGORY_NOT_DIGIT: (r"\D", "a"),
    codes.CATEGORY_SPACE: (r"\s", " "),
    codes.CATEGORY_NOT_SPACE: (r"\S", "a"),
    codes.CATEGORY_WORD: (r"\w", "a"),
    codes.CATEGORY_NOT_WORD: (r"\W", " "),
}


@dataclass(frozen=True)
class HostileText:
    """A beginning and a piece that is repeated."""

    start: str
    piece: str

    def of_length(self, length: int) -> str:
        """The text, with an end that most patterns do not expect."""
        return (self.start + self.piece * (length // len(self.piece) + 1))[:length] + "\x00"


def hostile_texts(pattern: "re.Pattern[Any]", seeds: Iterable[int]) -> list[HostileText]:
    """Repeated pieces of general kind, then those that the pattern's own repetitions suggest."""
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    tree = parser.parse(text, pattern.flags & ~re.DEBUG)
    texts = dict.fromkeys(HostileText("", piece) for piece in _PIECES)
    for seed in seeds:
        example = _Example(random.Random(seed))
        whole = example.of(tree)
        found = [HostileText("", whole)]
        for start, body in example.repeats:
            before = start[-200:]
            found += [
                HostileText(before, body),
                HostileText("", before + body),
                HostileText("", before + body + " "),
            ]
        texts |= dict.fromkeys(one for one in found if one.piece)
    return list(texts)


class _Example:
    """Makes a text that a pattern matches, roughly, and notes what it may repeat."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._groups: dict[int, str] = {}
        self.repeats: list[tuple[str, str]] = []

    def of(self, tree: Iterable[Any], before: str = "") -> str:
        text = ""
        for code, value in tree:
            text += self._part(code, value, before + text)
        return text

    def _part(self, code: Any, value: Any, before: str) -> str:
        if code is codes.LITERAL:
            return chr(value)
        if code is codes.NOT_LITERAL:
            return "a" if value != ord("a") else " "
        if code is codes.ANY:
            return self._chance.choice(" a1")
        if code is codes.IN:
            return self._character(value)
        if code is codes.BRANCH:
            return self.of(self._chance.choice(value[1]), before)
        if code is codes.SUBPATTERN:
            group = self.of(value[3], before)
            self._groups[value[0]] = group
            return group
        if code is codes.ATOMIC_GROUP:
            return self.of(value, before)
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            least, most, repeated = value
            body = self.of(repeated, before)
            if most is codes.MAXREPEAT or most >= _MANY:
                self.repeats.append((before, body))
            return body * min(_MANY, least or (self._chance.random() < 0.7))
        if code is codes.GROUPREF:
            return self._groups.get(value, "")
        if code is codes.ASSERT and value[0] > 0:
            self.of(value[1], before)  # its repeats count, its text is matched again
        return ""

    def _character(self, members: list[tuple[Any, Any]]) -> str:
        if members and members[0][0] is codes.NEGATE:
            return next((c for c in " a1<.,-_\"A'é:/\n(" if not _is_member(c, members)), "中")
        code, value = self._chance.choice(members)
        if code is codes.RANGE:
            return chr(self._chance.choice(value))
        return _CATEGORIES[value][1] if code is codes.CATEGORY else chr(value)


def _is_member(character: str, members: list[tuple[Any, Any]]) -> bool:
    number = ord(character)
    for code, value in members:
        if code is codes.LITERAL and value == number:
            return True
        if code is codes.RANGE and value[0] <= number <= value[1]:
            return True
        if code is codes.CATEGORY and re.match(_CATEGORIES[value][0], character):
            return True
    return False
