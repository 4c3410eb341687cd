"""Weeks, months, seasons, years, and numbers of units: "next month", "last 3 days", "two weeks ago"."""

import re
from collections.abc import Iterator
from datetime import datetime

from contextune.time_phrases.calendar_math import (
    DAY,
    HOUR,
    MINUTE,
    SEASONS,
    add_months,
    day_interval,
    month_interval,
    nearest_first,
    tense_at,
    week_interval,
    weekend_interval,
    year_interval,
)
from contextune.time_phrases.dates import MONTH, month_number
from contextune.time_phrases.durations import DURATION, Duration, parse_duration_words
from contextune.time_phrases.phrase import Direction, Granularity, Interval, ParseInput, TimeAtom

_PERIOD = re.compile(
    r"\b(?:(?P<far>week|weekend|month|year) (?P<beyond>after next|before last)"
    r"|(?P<modifier>this|next|last|past|coming|previous|current|following)"
    r" (?P<unit>weekend|week|month|quarter|year|fortnight)"
    r"|(?P<weekend>weekend))\b(?! (?:end|long|to week))"
)
_STEPS = {
    "last": -1,
    "past": -1,
    "previous": -1,
    "this": 0,
    "current": 0,
    "next": 1,
    "coming": 1,
    "following": 1,
}
_GRANULARITIES: dict[str, Granularity] = {
    "week": "week",
    "fortnight": "week",
    "month": "month",
    "quarter": "month",
    "year": "year",
}
_MONTH_CUES = (
    r"last|next|this|in|since|until|till|by|before|after|of|from|for|during|through|throughout|early in|early"
    r"|late in|late|mid|all|through|to|between|and"
)
_MONTH = re.compile(
    rf"\b(?:(?P<modifier>{_MONTH_CUES})[ -])?(?P<name>{MONTH})(?!\w)"
    r"(?:,?(?: of)? (?P<year>(?:19|20)\d\d|next year|last year|this year)\b)?"
)
_PERSON_MONTHS = frozenset(["april", "may", "june", "jan", "march", "august", "jun", "mar", "jul", "dec"])
"""Months whose names are also people's names or other words: they need a preposition or a year."""
_SURE_CUES = frozenset(
    [
        "last",
        "next",
        "this",
        "in",
        "since",
        "until",
        "till",
        "during",
        "through",
        "throughout",
        "early",
        "early in",
        "late",
        "late in",
        "mid",
        "before",
        "after",
        "by",
    ]
)
_EDGE = re.compile(
    r"\b(?:the )?(?P<edge>end|beginning|start|middle) of (?:(?:the|this) )?"
    r"(?P<unit>week|month|quarter|year|day)\b"
)
_SEASON = re.compile(
    r"\b(?P<modifier>last|next|this|in|since|until|till|by|during) (?:the )?"
    r"(?P<name>spring|summer|autumn|fall|winter)\b(?: of)?(?: (?P<year>(?:19|20)\d\d)\b)?"
)
_YEAR = re.compile(
    r"(?<![\w$€£#+./:-])(?:(?P<cue>in|since|during|of|from|until|till|by|before|after|for|year|the"
    r"|summer|winter|spring|autumn|fall) )?(?P<year>(?:19|20)\d\d)"
    r"(?![\w%:/-]|[.,]\d| (?:\d|euros?|dollars?|pounds?|kg|km|m|people|steps|words|street|road))"
)
_YEAR_CONFIDENCE = {
    "in": 0.9,
    "since": 0.9,
    "during": 0.9,
    "year": 0.9,
    "until": 0.7,
    "till": 0.7,
    "by": 0.6,
    "before": 0.6,
    "after": 0.6,
    "of": 0.6,
    "from": 0.6,
    "for": 0.5,
    "summer": 0.8,
    "winter": 0.8,
    "spring": 0.8,
    "autumn": 0.8,
    "fall": 0.8,
    "the": 0.4,
}
_COUNTED = re.compile(
    r"\b(?:"
    rf"(?P<ago>{DURATION}) (?:ago|back)\b"
    rf"|(?:(?:in|within|over|during|for|from) )?(?:the )?(?P<side>last|past|previous|next|coming|following)"
    rf" (?P<window>{DURATION})"
    rf"|(?P<ahead>{DURATION}) (?:from (?:now|today)|hence)\b"
    rf"|in(?: about| around| just| roughly| another)? (?P<in>{DURATION})"
    r"(?! (?:before|after|ago|or less))(?:'?s? time\b)?"
    rf"|within (?:the )?(?P<within>{DURATION})"
    rf"|(?P<lead>for|lasting|takes?)(?: about| around| another| at least| up to)? (?P<for>{DURATION})"
    rf"|(?P<bare>{DURATION})"
    r")"
)
_EDGE_WORDS = re.compile(r"\b(?:end|beginning|start|middle|\d|first|last|month) $")
_DIGIT_BEFORE = re.compile(r"[\d$€£.,]$")


_ANY_MONTH = re.compile(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)")
_ANY_UNIT = re.compile(
    r"second|minute|hour|day|night|week|month|year|\b(?:\d+ ?)?(?:sec|min|hr|h|yr)s?\b|\dh\d"
)


def find_periods(source: ParseInput) -> Iterator[TimeAtom]:
    """Weeks, months, seasons, years, and counted units."""
    yield from find_calendar_periods(source)
    if _ANY_MONTH.search(source.low):
        for match in _MONTH.finditer(source.low):
            yield from _month(source, match)
    for match in _EDGE.finditer(source.low):
        yield _edge(source, match)
    for match in _SEASON.finditer(source.low):
        yield _season(source, match)
    for match in _YEAR.finditer(source.low):
        year = int(match["year"])
        confidence = _YEAR_CONFIDENCE.get(match["cue"] or "", 0.2)
        yield _atom(
            match.start("year"),
            match.end(),
            "year",
            [year_interval(source.midnight, year)],
            source,
            confidence,
        )
    if _ANY_UNIT.search(source.low):
        for match in _COUNTED.finditer(source.low):
            yield from _counted(source, match)


def find_calendar_periods(source: ParseInput) -> Iterator[TimeAtom]:
    """Weeks, weekends, months and years relative to the present one."""
    for match in _PERIOD.finditer(source.low):
        yield _period(source, match)


def _atom(
    first: int,
    last: int,
    unit: Granularity,
    readings: list[Interval] | tuple[Interval, ...],
    source: ParseInput,
    confidence: float = 0.95,
) -> TimeAtom:
    start, end = readings[0]
    direction: Direction = "past" if end <= source.now else "future" if start > source.now else "either"
    form = unit if unit in ("week", "month", "year") else "week"
    return TimeAtom(first, last, form, unit, confidence, tuple(readings), direction)


def _period(source: ParseInput, match: re.Match[str]) -> TimeAtom:
    midnight = source.midnight
    if match["far"]:
        step, unit = (2 if match["beyond"] == "after next" else -2), match["far"]
    else:
        step, unit = _STEPS[match["modifier"] or "this"], match["unit"] or "weekend"
    modifier = match["modifier"] or ""
    first, last = match.span()
    if unit == "weekend":
        current = weekend_interval(midnight)
        readings = [weekend_interval(midnight, step)]
        if not modifier and source.now < current[0] and tense_at(source.low, first) < 0:
            readings = [weekend_interval(midnight, -1), current]
        elif modifier == "next" and source.now < current[0]:
            readings.append(current)
        atom = _atom(first, last, "day", readings, source, 0.9)
        return TimeAtom(first, last, "weekend", "day", 0.9, atom.readings, atom.direction, modifier=modifier)
    if modifier == "past":  # "the past week" ends now
        start = {"week": midnight - 7 * DAY, "fortnight": midnight - 14 * DAY}.get(unit)
        months = {"month": 1, "quarter": 3, "year": 12}.get(unit, 0)
        begin = start or add_months(midnight, -months)
        atom = _atom(first, last, _GRANULARITIES[unit], [(begin, source.now)], source)
    else:
        atom = _atom(first, last, _GRANULARITIES[unit], [_calendar_period(midnight, unit, step)], source)
    return TimeAtom(
        first, last, atom.form, atom.granularity, 0.95, atom.readings, atom.direction, modifier=modifier
    )


def _edge(source: ParseInput, match: re.Match[str]) -> TimeAtom:
    """The end of the week, the month or the working day."""
    unit, edge = match["unit"], match["edge"]
    if unit == "day":
        first, last = {"end": (17, 24), "middle": (11, 15)}.get(edge, (4, 10))
        interval = (source.midnight + first * HOUR, source.midnight + last * HOUR)
        return TimeAtom(*match.span(), "part of day", "part of day", 0.7, (interval,))
    part = edge_of(_calendar_period(source.midnight, unit, 0), edge)
    return _atom(*match.span(), "week" if unit in ("week", "month") else "month", [part], source, 0.9)


def edge_of(interval: Interval, edge: str) -> Interval:
    """The beginning, middle or end of a period: three tenths of it, in whole days."""
    days = (interval[1] - interval[0]).days
    if days < 2:
        return interval
    share = 3 if days == 7 and edge == "end" else max(1, round(days * 0.3))  # a week ends on Friday
    start = interval[0] + {"end": days - share, "middle": (days - share) // 2}.get(edge, 0) * DAY
    return start, start + share * DAY


def _calendar_period(midnight: datetime, unit: str, step: int) -> Interval:
    if unit == "week":
        return week_interval(midnight, step)
    if unit == "fortnight":
        monday = week_interval(midnight, 2 * step)[0]
        return monday, monday + 14 * DAY
    if unit == "year":
        return year_interval(midnight, midnight.year + step)
    size = 3 if unit == "quarter" else 1
    month = add_months(midnight.replace(day=1), step * size - (midnight.month - 1) % size)
    return month_interval(month, month.year, month.month, size)


def _month(source: ParseInput, match: re.Match[str]) -> Iterator[TimeAtom]:
    name, modifier = match["name"].rstrip("."), match["modifier"] or ""
    at = match.start("name")
    capital = source.text[at].isupper()
    short = len(name) <= 4 and name not in ("may", "june", "july")
    if not capital and (
        name in ("may", "march", "mar", "dec", "jan", "sep") or not (modifier or match["year"])
    ):
        return
    if not modifier and not match["year"] and (short or name in _PERSON_MONTHS):
        return
    if name == "march" and re.match(
        r" (?:with|to|on|up|in|through|over|against)\b", source.low[match.end() :]
    ):
        return
    sure = modifier in _SURE_CUES or bool(match["year"])
    sure |= modifier == "of" and bool(_EDGE_WORDS.search(source.before(match.start())))
    confidence = 0.9 if sure else 0.4 if name in _PERSON_MONTHS else 0.65
    month, this_year = month_number(name), source.now.year
    year = match["year"]
    if year and year[0].isdigit():
        readings = [month_interval(source.midnight, int(year), month)]
    elif year:
        readings = [month_interval(source.midnight, this_year + _STEPS[year.split()[0]], month)]
    else:
        years = [month_interval(source.midnight, this_year + offset, month) for offset in (-1, 0, 1)]
        tense = {"last": -1, "since": -1, "next": 1, "until": 1, "till": 1, "by": 1}.get(
            modifier, tense_at(source.low, at)
        )
        if modifier == "last":
            years = [month for month in years if month[1] <= source.now]
        elif modifier == "next":
            years = [month for month in years if month[0] > source.now]
        readings = list(nearest_first(years, source.now, tense))
    first = (
        match.start()
        if modifier in ("last", "next", "this", "in", "early", "late", "mid", "early in", "late in")
        else at
    )
    if modifier.startswith(("early", "late", "mid")):
        third = {"e": 0, "m": 10, "l": 20}[modifier[0]]
        readings = [
            (start + third * DAY, end if third == 20 else start + (third + 10) * DAY)
            for start, end in readings
        ]
    yield _atom(first, match.end(), "month", readings[:2], source, confidence)


def _season(source: ParseInput, match: re.Match[str]) -> TimeAtom:
    month, modifier = SEASONS[match["name"]], match["modifier"]
    if match["year"]:
        readings = [month_interval(source.midnight, int(match["year"]), month, 3)]
    else:
        years = [month_interval(source.midnight, source.now.year + n, month, 3) for n in (-2, -1, 0, 1)]
        if modifier == "last":
            years = [season for season in years if season[1] <= source.now]
        elif modifier == "next":
            years = [season for season in years if season[0] > source.now]
        readings = list(nearest_first(years, source.now, tense_at(source.low, match.start())))
    first = match.start() if modifier in ("last", "next", "this", "in") else match.start("name")
    atom = _atom(first, match.end(), "month", readings[:2], source, 0.7)
    return TimeAtom(first, match.end(), "season", "month", 0.7, atom.readings, atom.direction)


def _counted(source: ParseInput, match: re.Match[str]) -> Iterator[TimeAtom]:
    role = next(name for name in ("ago", "window", "ahead", "in", "within", "for", "bare") if match[name])
    words = match[role]
    duration = parse_duration_words(words)
    if duration is None or _DIGIT_BEFORE.search(source.before(match.start())):
        return
    first, last = match.span()
    sure = 0.75 if duration.vague else 0.95
    now = source.now
    if role in ("ago", "ahead", "in"):
        sign = -1 if role == "ago" else 1
        moment = duration.add_to(now, sign)
        yield TimeAtom(
            first,
            last,
            "ago" if role == "ago" else "ahead",
            duration.unit,
            sure,
            (_window_around(moment, duration.unit, sign),),
            "past" if role == "ago" else "future",
            anchor=moment if duration.unit in ("minute", "hour") else _midnight(moment),
        )
    elif role in ("window", "within"):
        past = match["side"] in ("last", "past", "previous")
        interval = _window(source, duration, past)
        yield TimeAtom(first, last, "window", duration.unit, sure, (interval,), "past" if past else "future")
    else:
        if role == "for":
            sure *= 0.6 if words.startswith("a ") else 1.0  # "for a minute" is mostly a figure of speech
        else:
            sure *= 0.2 if words.startswith(("a ", "an ")) else 0.6
        interval = (now, duration.add_to(now))
        yield TimeAtom(first, last, "duration", duration.unit, sure, (interval,))


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _window_around(moment: datetime, unit: Granularity, sign: int) -> Interval:
    """An interval as wide as the unit: "two weeks ago" is some day of that week."""
    minute = moment.replace(second=0, microsecond=0)
    day = _midnight(moment)
    match unit:
        case "minute":
            return minute, minute + MINUTE
        case "hour":
            return (minute, minute + HOUR) if sign > 0 else (minute - HOUR / 2, minute + HOUR / 2)
        case "week":
            return day - 3 * DAY, day + 4 * DAY
        case "month":
            return day - 15 * DAY, day + 16 * DAY
        case "year":
            return add_months(day, -6), add_months(day, 6)
        case _:
            return day_interval(day)


def _window(source: ParseInput, duration: Duration, past: bool) -> Interval:
    """From the start of the first day (or minute, for hours and minutes) until now, or from now."""
    fine = duration.unit in ("minute", "hour")
    edge = duration.add_to(source.now if fine else source.midnight, -1 if past else 1)
    if past:
        return edge, source.now
    return source.now, edge if fine else edge + DAY
