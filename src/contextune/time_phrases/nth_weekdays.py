"""Weekdays counted within a month or from a day: "the first Monday in July", "a week on Monday"."""

import re
from collections.abc import Iterator
from datetime import datetime

from contextune.time_phrases.calendar_math import (
    DAY,
    WEEKDAYS,
    add_months,
    day_interval,
    month_interval,
    nearest_first,
    tense_at,
)
from contextune.time_phrases.dates import MONTH, month_number
from contextune.time_phrases.number_words import CARDINAL, parse_number
from contextune.time_phrases.phrase import Direction, ParseInput, TimeAtom

_NUMBERS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": -1}
_DIGITS = {"1st": 1, "2nd": 2, "3rd": 3, "4th": 4}
_CODES = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_NAMES = "|".join(WEEKDAYS)
_NTH = re.compile(
    rf"(?P<every>\b(?:every|each) )?(?:\b(?:the|on) )?\b(?P<number>{'|'.join((*_NUMBERS, *_DIGITS))})"
    rf" (?P<name>{_NAMES})\b"
    rf"(?:,? (?:in|of) (?:(?P<month>{MONTH})(?!\w)(?:,? (?P<year>(?:19|20)\d\d)\b)?"
    r"|(?P<relative>the|this|next|last|each|every) month\b))?"
)
_STEPS = {"the": 0, "this": 0, "next": 1, "last": -1}
_WEEKS = rf"(?:(?P<count>{CARDINAL}|a) weeks?|a fortnight)"
_WEEKS_FROM = re.compile(
    rf"\b(?:{_WEEKS} (?:(?:on|from|after|this|next|coming) ){{1,2}}(?P<name>{_NAMES})\b"
    rf"|{_WEEKS.replace('count', 'count2')} (?P<day>today|(?:from )?tomorrow)\b"
    rf"|(?P<name2>{_NAMES}) fortnight\b)"
)
_NOT_FROM = re.compile(
    r"(?:\b(?:for|once|twice|times?|hours?|days?|minutes?|per|every|each|lasting|takes?)|\d) $"
)
"""A length of time or a rate: "for a week from Monday", "twice a week on Monday"."""
_ANY = re.compile(r"\b(?:first|second|third|fourth|last|1st|2nd|3rd|4th) \w+day\b")
_ANY_WEEKS = re.compile(r"week|fortnight")


def find_nth_weekdays(source: ParseInput) -> Iterator[TimeAtom]:
    """Weekdays that are counted: within a month, or in weeks from a day."""
    if _ANY.search(source.low):
        for match in _NTH.finditer(source.low):
            yield from _nth(source, match)
    yield from find_weeks_from(source)


def find_weeks_from(source: ParseInput) -> Iterator[TimeAtom]:
    """Days some weeks after another: "a week on Monday", "a fortnight tomorrow"."""
    if not _ANY_WEEKS.search(source.low):
        return
    for match in _WEEKS_FROM.finditer(source.low):
        if _NOT_FROM.search(source.before(match.start())):
            continue
        count = match["count"] or match["count2"]
        weeks = int(parse_number(count)) if count else 2
        name = match["name"] or match["name2"]
        offset = int("tomorrow" in (match["day"] or ""))
        if name:
            offset = (WEEKDAYS.index(name) - source.now.weekday()) % 7 or 7
        day = day_interval(source.midnight, offset + 7 * weeks)
        yield TimeAtom(
            *match.span(), "weekday", "day", 0.92, readings=(day,), direction="future", modifier="week"
        )


def _nth(source: ParseInput, match: re.Match[str]) -> Iterator[TimeAtom]:
    number, weekday = _NUMBERS.get(match["number"]) or _DIGITS[match["number"]], WEEKDAYS.index(match["name"])
    relative = match["relative"] or ""
    every = bool(match["every"]) or relative in ("each", "every")
    alone = not (match["month"] or relative)
    if alone and (number < 0 or not match.group().startswith(("the", "on", "every", "each"))):
        return  # "last Monday" is the previous one
    midnight = source.midnight
    if match["month"]:
        month = month_number(match["month"].rstrip("."))
        years = [int(match["year"])] if match["year"] else [source.now.year + n for n in (-1, 0, 1)]
        months = [month_interval(midnight, year, month)[0] for year in years]
    else:
        steps = (0, 1) if alone or every else (_STEPS[relative],)
        months = [add_months(midnight.replace(day=1), step) for step in steps]
    days = [day_interval(day) for month in months if (day := _nth_day(month, weekday, number))]
    ahead = [day for day in days if day[1] > source.now]
    tense = tense_at(source.low, match.start()) or (alone or every)
    readings = nearest_first(days if not (alone or every) else ahead, source.now, int(tense))
    if not readings:
        return
    direction: Direction = "either"
    if len(readings) == 1:
        direction = "future" if readings[0][0] > source.now else "past"
    yield TimeAtom(
        match.start() if every else match.start("number"),
        match.end(),
        "recurrence" if every else "date",
        "day",
        0.75 if alone else 0.95,
        readings,
        direction="future" if every else direction,
        rrule=f"FREQ=MONTHLY;BYDAY={number}{_CODES[weekday]}" if every else "",
    )


def _nth_day(month: datetime, weekday: int, number: int) -> datetime | None:
    """The n-th such weekday of the month that begins then; the last for -1."""
    if number < 0:
        last = add_months(month, 1) - DAY
        return last - (last.weekday() - weekday) % 7 * DAY
    return month + ((weekday - month.weekday()) % 7 + 7 * (number - 1)) * DAY
