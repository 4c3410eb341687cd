"""The last request with another time: "make it 7", "no, Sunday", "actually at half past eight"."""

import re
from collections.abc import Sequence
from datetime import datetime

from contextune.plan.times.phrases import TimeMention, find_times

_CORRECTS = re.compile(
    r"\W*(?:(?:no|nope|sorry|wait|actually|i mean|i meant|rather|better|make it|make that|change it to"
    r"|change that to|move it to|let's say|not that,?|instead)\b[\s,:–-]*)+(?:(?:for|to|the)\s+)?",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\W*(?:(?:ok|okay|so|and|hey|please|then)\b[\s,]*)*(?:what|when|where|who|which|how|why|is|are|do|does|did|am|was"
    r"|were|will|any|have|has)(?:['’]?(?:s|re|m|ll|d))?\b",
    re.IGNORECASE,
)
_END = re.compile(r"(?<![\s,])[\s,]*(?:please|instead|then|rather)?$", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,2}(?:[:.]\d\d)?")
_PREPOSITION = re.compile(r"(?:on|in|at|for|by|to)\s+", re.IGNORECASE)
_MAX_HOUR = 24


def correct_time(last: str, line: str, now: datetime) -> str | None:
    """The last request with the day or the clock time that a line says; None if it says anything else.

    After an order, a time alone completes or corrects it; after a question, it asks for another time.
    """
    opening = _CORRECTS.match(line)
    if opening is None and _ASKS.match(last):
        return None
    said = _END.sub("", line[opening.end() if opening else 0 :].rstrip(" \t\r\n.!?"))
    if _NUMBER.fullmatch(said):
        is_clock = int(re.split(r"[:.]", said)[0]) <= _MAX_HOUR
        return _with_number(last, said, now) if opening and is_clock else None
    times = find_times(said, now)
    mentions = sorted((*times.days, *times.clocks), key=lambda mention: mention.start)
    if not mentions or not _says_only(said, mentions):
        return None
    before = find_times(last, now)
    for new, old, preposition in ((times.clocks, before.clocks, "at"), (times.days, before.days, "on")):
        if new:
            words = _PREPOSITION.sub("", new[0].words.strip(), count=1)
            last = _replace(last, old[0] if old else None, words, preposition)
            before = find_times(last, now)
    return last


def _with_number(last: str, number: str, now: datetime) -> str | None:
    """The last request with another number: that of its clock time, else the only one it has."""
    clocks = find_times(last, now).clocks
    start, end = (clocks[0].start, clocks[0].end) if clocks else (0, len(last))
    numbers = list(_NUMBER.finditer(last, start, end))
    if len(numbers) == 1:
        return last[: numbers[0].start()] + number + last[numbers[0].end() :]
    return _replace(last, clocks[0], number, "at") if clocks else None


def _replace(text: str, mention: TimeMention | None, words: str, preposition: str) -> str:
    if mention is None:
        return f"{text.rstrip(' .!?')} {words if words.startswith(_RELATIVE) else f'{preposition} {words}'}"
    old = text[mention.start : mention.end]
    kept = _PREPOSITION.match(old)
    return f"{text[: mention.start]}{kept[0] if kept else ''}{words}{text[mention.end :]}"


_RELATIVE = ("today", "tomorrow", "tonight", "next", "this", "in ", "noon", "midnight")


def _says_only(text: str, mentions: Sequence[TimeMention]) -> bool:
    rest = text
    for mention in reversed(mentions):
        rest = f"{rest[: mention.start]} {rest[mention.end :]}"
    return re.fullmatch(r"\W*(?:(?:on|at|in|for|by|the)\b\W*)*", rest, re.IGNORECASE) is not None
