"""The result type `TimePhrase`, and the parts (`TimeAtom`) it is composed of."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

Interval = tuple[datetime, datetime]
"""A half-open interval of wall-clock time: the end is not part of it."""

Granularity = Literal["minute", "hour", "part of day", "day", "week", "month", "year"]
Direction = Literal["past", "future", "either"]
Kind = Literal["point", "span", "recurrence", "duration"]
Bound = Literal["", "since", "until", "by", "before", "after"]
Form = Literal[
    "relative day",  # tomorrow, yesterday evening
    "weekday",  # on Friday, last Monday
    "date",  # 13 December, 2023-12-13
    "day of month",  # the 3rd
    "part of day",  # tonight, this morning: the day is known
    "bare part",  # in the evening: the day is not
    "clock",  # at 4 pm
    "week",
    "weekend",
    "month",
    "season",
    "year",
    "ago",  # 3 days ago
    "ahead",  # in 3 days
    "window",  # the last 3 days
    "duration",  # for 20 minutes
    "recurrence",  # every Monday
]
"""How a time is expressed."""


@dataclass(frozen=True, slots=True)
class TimePhrase:
    """A time expression in a text, resolved against the time of the request."""

    first: int
    """Index of its first character."""
    last: int
    """Index after its last character."""
    text: str
    start: datetime
    end: datetime
    """The end of the interval, exclusive; `datetime.max` (and `datetime.min` for `start`) if it is open."""
    granularity: Granularity
    direction: Direction
    kind: Kind
    form: Form
    confidence: float
    """How probable it is that the words mean a time, and this one: from 0 to 1."""
    anchor: datetime
    """The moment it points at: the clock time, the start of the day, the middle of "two weeks ago"."""
    alternatives: tuple[Interval, ...] = ()
    """Other readings, best first: "at three" has two, "on Friday" may be the last one."""
    bound: Bound = ""
    """The preposition that opens the interval on one side, as in "since Tuesday"."""
    rrule: str = ""
    """For a recurrence, its rule as in RFC 5545; the interval is the next occurrence."""

    @property
    def interval(self) -> Interval:
        """Start and end."""
        return self.start, self.end

    @property
    def length(self) -> timedelta:
        """From start to end; for a duration, its length."""
        return self.end - self.start

    @property
    def readings(self) -> tuple[Interval, ...]:
        """All readings, best first."""
        return (self.interval, *self.alternatives)


@dataclass(frozen=True, slots=True)
class TimeAtom:
    """A part of a time phrase that one rule recognises: a day, a clock time, a week, a duration."""

    first: int
    last: int
    form: Form
    granularity: Granularity
    confidence: float
    readings: tuple[Interval, ...] = ()
    """Best first; empty for a clock time or a part of day, whose day is not known yet."""
    direction: Direction = "either"
    modifier: str = ""
    """The word that selects the day or period: "last", "next", "on"; the part of day after "tomorrow"."""
    minutes: tuple[int, ...] = ()
    """Clock times: minutes after midnight, best first. Parts of day: start and end."""
    certain: bool = True
    """Clock times: whether morning or evening is clear."""
    given_half: str = ""
    """Clock times: "a" or "p" if am or pm is written next to it."""
    written: int = 0
    """Clock times: minutes after midnight as written, without regard to morning and evening."""
    anchor: datetime | None = None
    rrule: str = ""
    approximate: bool = False
    """"around three", "7ish"."""


@dataclass(frozen=True, slots=True)
class ParseInput:
    """A text and what is needed to resolve the times in it."""

    text: str
    low: str
    """The text in lower case, of the same length."""
    now: datetime
    day_first: bool | None = None
    """The order of 4/5/2024; None if it is not known."""

    def before(self, position: int) -> str:
        """The words before a position, in lower case: enough for a preposition and an article."""
        return self.low[max(0, position - 40) : position]

    @property
    def midnight(self) -> datetime:
        """The start of the day of the request."""
        return self.now.replace(hour=0, minute=0, second=0, microsecond=0)


def fold(text: str) -> str:
    """Lower case with straight apostrophes; as long as the text, so that positions are valid in both."""
    for folded in (text.casefold(), text.lower()):
        if len(folded) == len(text):
            return folded.replace("’", "'")
    return "".join(low if len(low := char.lower()) == 1 else char for char in text).replace("’", "'")
