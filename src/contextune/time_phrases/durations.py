"""Durations in words and digits: "an hour and a quarter", "two weeks", "90 min", "1h30"."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from contextune.time_phrases.calendar_math import add_months
from contextune.time_phrases.number_words import COUNT, HOUR, VAGUE_NUMBERS, parse_number
from contextune.time_phrases.phrase import Granularity

_UNITS: dict[str, tuple[str, Granularity]] = {
    "second": ("second", "minute"),
    "sec": ("second", "minute"),
    "minute": ("minute", "minute"),
    "min": ("minute", "minute"),
    "hour": ("hour", "hour"),
    "hr": ("hour", "hour"),
    "h": ("hour", "hour"),
    "day": ("day", "day"),
    "nights": ("day", "day"),
    "week": ("week", "week"),
    "fortnight": ("fortnight", "week"),
    "month": ("month", "month"),
    "year": ("year", "year"),
    "yr": ("year", "year"),
}
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800, "fortnight": 1209600}
_FINER: dict[Granularity, Granularity] = {"hour": "minute", "day": "hour", "week": "day", "year": "month"}
"""The granularity of a fraction: one and a half hours is exact to the minute."""
_MONTHS = {"month": 1, "year": 12}
UNIT = r"(?:(?:second|minute|fortnight|month|hour|week|year|day|sec|min|hr|yr)s?|nights)"
_SHARE = r"(?:half|quarter|three[- ]quarters?)"
_INNER = r"(?:(?: and)? (?:a )?half| and (?:a quarter|three[- ]quarters?))"
_TAIL = rf" and (?:a )?{_SHARE}(?! (?:of|past)\b| to {HOUR}\b)"
_PIECE = rf"{COUNT}{_INNER}?(?: extra| full| whole| good| more)?[ -]?{UNIT}(?:{_TAIL})?"
DURATION = (
    r"(?:(?:half an?|(?:a )?quarter of an|three quarters of an) hour|half a (?:minute|day|year)"
    rf"|\d{{1,2}} ?h(?: ?\d\d(?: ?min)?)?|{_PIECE}(?:,? and {_PIECE}|,? {_PIECE})?)(?![\w])"
)
"""A pattern for one duration, of up to two units."""
_MAX_MONTHS, _MAX_DELTA = 12 * 1000, timedelta(days=365_000)
"""A thousand years: what is longer leads out of the calendar."""
_FIND = re.compile(rf"(?<![\w.,$€£-]){DURATION}")
_HALVES = re.compile(
    r"(?P<share>half|(?:a )?quarter|three quarters)(?: of)? an? (?P<unit>minute|hour|day|year)$"
)
_H = re.compile(r"(?P<hours>\d{1,2}) ?h(?: ?(?P<minutes>\d\d))?(?: ?min)?$")
_PIECES = re.compile(
    rf"(?P<count>{COUNT})(?P<and>{_INNER})?(?: extra| full| whole| good| more)?[ -]?"
    rf"(?P<unit>{UNIT})(?P<tail>{_TAIL})?"
)


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time; months are kept apart, since their lengths differ."""

    months: float
    delta: timedelta
    unit: Granularity
    """The finest unit."""
    vague: bool = False
    """Whether the number is vague: "a few days"."""

    def add_to(self, moment: datetime, sign: int = 1) -> datetime:
        """The moment this much later (or, with `sign` -1, earlier)."""
        whole = int(self.months)
        rest = timedelta(days=round((self.months - whole) * 30))
        return add_months(moment, sign * whole) + sign * (rest + self.delta)


def parse_duration_words(words: str) -> Duration | None:
    """Parse what `DURATION` matches; None if it is too long to be one."""
    try:
        duration = _parse(words)
    except OverflowError:
        return None
    too_long = duration is not None and (duration.months > _MAX_MONTHS or duration.delta > _MAX_DELTA)
    return None if too_long else duration


def find_duration_words(low: str) -> Iterator[tuple[Duration, int, int]]:
    """The durations in a text in lower case, each with its range of characters."""
    for match in _FIND.finditer(low):
        if match.group().endswith("second") and low[max(0, match.start() - 4) : match.start()] == "the ":
            continue  # "the twenty-second"
        if duration := parse_duration_words(match.group()):
            yield duration, match.start(), match.end()


def _parse(words: str) -> Duration | None:
    if match := _HALVES.match(words):
        share = {"half": 0.5, "three quarters": 0.75}.get(match["share"], 0.25)
        if match["unit"] == "year":
            return Duration(12 * share, timedelta(), "month")
        finer: Granularity = "hour" if match["unit"] == "day" else "minute"
        return Duration(0, timedelta(seconds=share * _SECONDS[match["unit"]]), finer)
    if match := _H.match(words):
        minutes = int(match["minutes"] or 0)
        return Duration(
            0, timedelta(hours=int(match["hours"]), minutes=minutes), "minute" if minutes else "hour"
        )
    months, seconds, vague = 0.0, 0.0, False
    finest: Granularity = "year"
    for match in _PIECES.finditer(words):
        amount = parse_number(match["count"]) + _share(match["and"] or match["tail"] or "")
        word = match["unit"]
        unit, finest = _UNITS[word] if word in _UNITS else _UNITS[word.removesuffix("s")]
        if amount != int(amount):
            finest = _FINER.get(finest, finest)
        vague |= match["count"].removesuffix(" of") in VAGUE_NUMBERS
        months += amount * _MONTHS.get(unit, 0)
        seconds += amount * _SECONDS.get(unit, 0)
    return Duration(months, timedelta(seconds=seconds), finest, vague)


def _share(words: str) -> float:
    """The part of a unit that is added: 0.25 for "and a quarter"."""
    if not words:
        return 0.0
    return 0.75 if "three" in words else 0.25 if "quarter" in words else 0.5
