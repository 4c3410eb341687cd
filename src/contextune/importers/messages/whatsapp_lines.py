"""Split WhatsApp's export into messages, and read its dates, which depend on the language of the phone."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from itertools import pairwise

from contextune.importers.parsing.localized_times import hour_of_day

_HEADER = re.compile(
    r"[\u200e\u200f\u202a-\u202e\ufeff]*(\[)?"
    r"(\d{1,4})\s?([./\-年])\s?(\d{1,2})\s?[./\-月]\s?(\d{1,4})[.日]?(?:\s?г\.)?[,،]?\s+"
    r"([^\d\[\]:,]{0,6}?)\s?(\d{1,2})[:.](\d\d)(?:[:.](\d\d))?\s?([^\d\[\]:,<>\-–]{0,6}?)"
    r"(?(1)\]|\s[-–])\s",
)
"""The beginning of a message: "[16.05.24, 17:40:12] " (iPhone) or "5/16/24, 5:40 PM - " (Android)."""
_SENDER = re.compile(
    r"[\u200e\u200f\u202a-\u202e~ \u202f\xa0]*+([^:\"“„«\n]{1,80}?)[\u202c\u2069]{0,4}: (.*)", re.DOTALL
)
_EMPTY_SENDER = re.compile(r"[\u200e\u200f~ ]*([^:\"“„«\n]{1,80}):\s*$")


@dataclass(frozen=True, slots=True)
class ChatLine:
    """A message with the numbers of its date, in the order in which they are written."""

    number: int
    date: tuple[int, int, int]
    separator: str
    is_padded: bool
    """Whether day and month have two digits each, as 05."""
    clock: tuple[int, int, int]
    half: str
    """Before or after noon, in the language of the phone; "" for 24 hours."""
    sender: str
    text: str


def is_header(line: str) -> bool:
    """Whether a message begins in this line."""
    return bool(_HEADER.match(line))


def split_lines(text: str) -> Iterator[ChatLine]:
    """The messages of a chat; a line without a date continues the message before it."""
    header: re.Match[str] | None = None
    start = 0
    parts: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        if match := _HEADER.match(line):
            if header:
                yield _chat_line(header, start, parts)
            header, start, parts = match, number, [line[match.end() :]]
        elif header:
            parts.append(line)
    if header:
        yield _chat_line(header, start, parts)


def _chat_line(header: re.Match[str], number: int, parts: Sequence[str]) -> ChatLine:
    _, first, separator, second, third, before, hour, minute, seconds, after = header.groups()
    content = "\n".join(parts).rstrip()
    named = _SENDER.match(content) or _EMPTY_SENDER.match(content)
    return ChatLine(
        number,
        (int(first), int(second), int(third)),
        separator,
        min(len(first), len(second)) > 1,
        (int(hour), int(minute), int(seconds or 0)),
        (before or after).strip(),
        named[1].strip() if named else "",
        named[2] if named and named.re is _SENDER else "" if named else content,
    )


class DateOrder(Enum):
    """Positions of year, month and day in the dates of a chat."""

    YEAR_FIRST = (0, 1, 2)
    DAY_FIRST = (2, 1, 0)
    MONTH_FIRST = (2, 0, 1)

    @classmethod
    def detect(cls, lines: Sequence[ChatLine]) -> "DateOrder":
        """The order in which all dates are valid and follow each other; else the custom of the language."""
        if lines and lines[0].date[0] > 31:
            return cls.YEAR_FIRST
        valid = [order for order in (cls.DAY_FIRST, cls.MONTH_FIRST) if all(map(order.fits, lines))]
        if not valid:
            return cls.YEAR_FIRST if all(map(cls.YEAR_FIRST.fits, lines)) else cls.DAY_FIRST
        if len(valid) == 1:
            return valid[0]
        steps_back = {order: order.steps_back(lines) for order in valid}
        if steps_back[cls.DAY_FIRST] != steps_back[cls.MONTH_FIRST]:
            return min(valid, key=lambda order: steps_back[order])
        # 5/6/24 is American; others write 05/06/2024, 5.6.24 or 5-6-24
        american = any(not line.is_padded and line.separator == "/" and line.date[2] < 100 for line in lines)
        return cls.MONTH_FIRST if american else cls.DAY_FIRST

    def fits(self, line: ChatLine) -> bool:
        """Whether month and day of a date are possible in this order."""
        _, month, day = self._date(line)
        return 1 <= month <= 12 and 1 <= day <= 31

    def steps_back(self, lines: Sequence[ChatLine]) -> int:
        """How often a message would be older than the one before it."""
        dates = [self._date(line) for line in lines]
        return sum(later < earlier for earlier, later in pairwise(dates))

    def time(self, line: ChatLine) -> datetime | None:
        """The local time of a message; None if there is no such time."""
        hour, minute, seconds = line.clock
        hour_of_24 = hour_of_day(hour, line.half)
        if hour_of_24 is None:
            return None
        try:
            return datetime(*self._date(line), hour_of_24, minute, seconds)
        except ValueError:
            return None

    def _date(self, line: ChatLine) -> tuple[int, int, int]:
        year, month, day = (line.date[position] for position in self.value)
        return year + 2000 if year < 100 else year, month, day
