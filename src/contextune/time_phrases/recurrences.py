"""Recurring times: "every Monday", "each morning", "on Tuesdays", "every other week", "daily"."""

import re
from collections.abc import Iterator
from dataclasses import replace

from contextune.time_phrases.calendar_math import (
    DAY,
    HOUR,
    MINUTE,
    WEEKDAYS,
    day_interval,
    month_interval,
    week_interval,
    weekend_interval,
    year_interval,
)
from contextune.time_phrases.days import PARTS
from contextune.time_phrases.number_words import CARDINAL, parse_number
from contextune.time_phrases.phrase import Granularity, Interval, ParseInput, TimeAtom

_NAMES = "|".join(WEEKDAYS)
_UNIT = "weekday|weekend|day|morning|afternoon|evening|night|week|month|year|hour|minute"
_EVERY = re.compile(
    rf"\b(?:every|each)(?: (?P<other>other|second))?(?: single)?"
    rf"(?: (?P<names>(?:{_NAMES})s?(?:(?:, | and |, and | or )(?:{_NAMES})s?)*)| (?P<unit>{_UNIT})s?"
    rf"| (?P<count>{CARDINAL}) (?P<units>minute|hour|day|week|month|year)s)\b"
)
_PLURAL = re.compile(rf"\b(?:on )?(?P<names>(?:{_NAMES})s(?:(?:, | and |, and )(?:{_NAMES})s)*|weekdays)\b")
_ADVERB = re.compile(r"\b(?P<adverb>hourly|daily|nightly|weekly|fortnightly|monthly|yearly|annually)\b")
_ADVERBS = {
    "hourly": ("hour", 1),
    "daily": ("day", 1),
    "nightly": ("night", 1),
    "weekly": ("week", 1),
    "fortnightly": ("week", 2),
    "monthly": ("month", 1),
    "yearly": ("year", 1),
    "annually": ("year", 1),
}
_FREQUENCIES = {
    "minute": "MINUTELY",
    "hour": "HOURLY",
    "week": "WEEKLY",
    "month": "MONTHLY",
    "year": "YEARLY",
}
_ANY = re.compile(r"\bevery |\beach |days\b|ly\b")
_CODES = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


def find_recurrences(source: ParseInput) -> Iterator[TimeAtom]:
    """All recurrences; the interval of each is its next occurrence, or the one under way."""
    if not _ANY.search(source.low):
        return
    for match in _EVERY.finditer(source.low):
        if match["names"]:
            yield _on_weekdays(source, match, _weekdays(match["names"]), 2 if match["other"] else 1, 0.95)
        elif match["unit"]:
            yield _by_unit(source, match, match["unit"], 2 if match["other"] else 1, 0.95)
        else:
            yield _by_unit(source, match, match["units"], max(1, int(parse_number(match["count"]))), 0.95)
    for match in _PLURAL.finditer(source.low):
        names = match["names"]
        if (
            source.low[match.end() : match.end() + 1] != "'"
            and source.low[match.end() - 2 : match.end()] != "'s"
        ):
            days = list(range(5)) if names == "weekdays" else _weekdays(names)
            yield _on_weekdays(source, match, days, 1, 0.85)
    for match in _ADVERB.finditer(source.low):
        unit, step = _ADVERBS[match["adverb"]]
        yield _by_unit(source, match, unit, step, 0.6)


def _weekdays(names: str) -> list[int]:
    return sorted({number for number, name in enumerate(WEEKDAYS) if name in names})


def _on_weekdays(
    source: ParseInput, match: re.Match[str], days: list[int], step: int, confidence: float
) -> TimeAtom:
    offset = min((day - source.now.weekday()) % 7 for day in days)
    rule = (
        f"FREQ=WEEKLY{f';INTERVAL={step}' if step > 1 else ''};BYDAY={','.join(_CODES[day] for day in days)}"
    )
    after = min((day - source.now.weekday() - offset - 1) % 7 for day in days) + offset + 1
    occurrences = (day_interval(source.midnight, offset), day_interval(source.midnight, after))
    return replace(_atom(match, occurrences[0], "day", confidence, rule), readings=occurrences)


def _by_unit(source: ParseInput, match: re.Match[str], unit: str, step: int, confidence: float) -> TimeAtom:
    midnight, now = source.midnight, source.now
    if unit == "weekday":
        return _on_weekdays(source, match, [0, 1, 2, 3, 4], step, confidence)
    interval = f";INTERVAL={step}" if step > 1 else ""
    if unit == "weekend":
        rule = f"FREQ=WEEKLY{interval};BYDAY=SA,SU"
        return _atom(match, weekend_interval(midnight), "day", confidence, rule)
    if unit in PARTS:
        first, last = PARTS[unit]
        day = midnight if now < midnight + last * HOUR else midnight + DAY
        part = (day + first * HOUR, day + last * HOUR)
        return _atom(match, part, "part of day", confidence, f"FREQ=DAILY{interval}", unit)
    rule = f"FREQ={_FREQUENCIES.get(unit, 'DAILY')}{interval}"
    minute = now.replace(second=0, microsecond=0)
    match unit:
        case "minute":
            return _atom(match, (minute, minute + MINUTE), "minute", confidence, rule)
        case "hour":
            return _atom(match, (minute, minute + HOUR), "hour", confidence, rule)
        case "week":
            return _atom(match, week_interval(midnight), "week", confidence, rule)
        case "month":
            return _atom(match, month_interval(midnight, now.year, now.month), "month", confidence, rule)
        case "year":
            return _atom(match, year_interval(midnight, now.year), "year", confidence, rule)
        case _:
            occurrences = (day_interval(midnight), day_interval(midnight, step))
            return replace(_atom(match, occurrences[0], "day", confidence, rule), readings=occurrences)


def _atom(
    match: re.Match[str],
    interval: Interval,
    granularity: Granularity,
    confidence: float,
    rule: str,
    part: str = "",
) -> TimeAtom:
    return TimeAtom(
        *match.span(),
        form="recurrence",
        granularity=granularity,
        confidence=confidence,
        readings=(interval,),
        direction="future",
        modifier=part,
        rrule=rule,
    )
