"""What a question wants, and whether a passage has it: a time, a number, or the name of the item itself."""

import re
from collections.abc import Iterable
from datetime import datetime

from contextune.plan.times.phrases import find_times

_WHEN = re.compile(r"\b(?:when|(?:what|which) (?:time|day|date|month|week)|how late)\b", re.IGNORECASE)
_HOW_MANY = re.compile(r"\bhow (?:much|many|long|old|far|big|high|often)\b", re.IGNORECASE)
_WHICH = re.compile(r"\b(?:which|what)\s+(\w+)", re.IGNORECASE)
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b", re.IGNORECASE
)


def has_wanted_type(question: str, passage: str, written: datetime) -> bool:
    """Whether a passage, written at that time, has the time or the number that a question wants."""
    if _WHEN.search(question):
        times = find_times(passage, written)
        return bool(times.days or times.clocks)
    return bool(_HOW_MANY.search(question) and _NUMBER.search(passage))


def asks_for_title(question: str, nouns: Iterable[str]) -> bool:
    """Whether a question asks which item it is: "in which note did I keep the code"."""
    match = _WHICH.search(question)
    return match is not None and match[1].casefold() in nouns
