"""What a short line says to a question: a number, a name, yes or no; or that it is small talk."""

import re
from collections.abc import Sequence
from functools import cache

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.turns.words import any_of, compiled, one_of, reply_words
from contextune.search import tokenize
from contextune.types import Option

_MAX_WORDS = 8
"""Words of a reply to a question for one value; a longer line is a request of its own."""
_CHOICE = (
    r"\W*(?:{choosing}(?!\w)\W*){0,4}(?:(?P<number>\d{1,2})|(?P<ordinal>{ordinals}|last))"
    r"(?:\s+(?:one|option))?(?:,? please)?\W*"
)
_YES = r"\W*(?:{yes}\b\W*){1,4}"
_NO = r"\W*(?:{no}\b\W*){1,4}(?:{thanks}\b\W*)?"
_ASKS = r"\W*(?:{continuations}\b[\s,]*){0,4}{questions}(?:['’]?(?:s|re|m|ll|d))?\b"


def small_talk(line: str) -> str | None:
    """The reply to a line that asks for nothing; None if it may be a request."""
    for start, pattern, reply in _talk():
        if start.search(line) and pattern.fullmatch(line):
            return reply
    return None


@cache
def _talk() -> list[tuple[re.Pattern[str], re.Pattern[str], str]]:
    filler = one_of("filler")
    return [
        (
            re.compile(rf"\b{any_of(kind['words'])}\b", re.IGNORECASE),
            re.compile(rf"\A\W*(?:(?:{any_of(kind['words'])}|{filler})\b\W*){{1,5}}", re.IGNORECASE),
            kind["reply"],
        )
        for kind in reply_words()["talk"]
    ]


def is_assent(line: str) -> bool:
    """Whether a line only says yes."""
    return compiled(_YES).fullmatch(line) is not None


def is_refusal(line: str) -> bool:
    """Whether a line only says no."""
    return compiled(_NO).fullmatch(line) is not None


def is_question(line: str) -> bool:
    """Whether a line asks something."""
    return compiled(_ASKS).match(line) is not None


def is_value(line: str, verbs: frozenset[str]) -> bool:
    """Whether a line gives a value and is neither a question nor an order, which begins with a verb."""
    words = line.split()
    first = words[0].strip(",.!").casefold() if words else ""
    is_order = first in verbs and len(words) > 1
    return 0 < len(words) <= _MAX_WORDS and not is_question(line) and not is_order


def chosen_number(line: str, count: int) -> int:
    """The number of the option that a line says: "2", "the second one", "the last"; 0 if it says none."""
    match = compiled(_CHOICE).fullmatch(line)
    if match is None:
        return 0
    number = int(match["number"]) if match["number"] else ordinal(match["ordinal"], count)
    return number if number <= count else 0


def ordinal(word: str, count: int) -> int:
    """The number that an ordinal says of `count` things."""
    word = word.casefold()
    return count if word == "last" else reply_words()["ordinals"].index(word) + 1


def named_option(line: str, options: Sequence[Option]) -> Option | None:
    """The only option whose label has all the words that a line says beside "I mean", "please", …."""
    words = frozenset(tokenize(line)) - STOP_WORDS - {"mean", "meant"}
    if not words or len(options) < 2 or is_question(line):
        return None
    named = [option for option in options if words <= frozenset(tokenize(option.label))]
    return named[0] if len(named) == 1 else None
