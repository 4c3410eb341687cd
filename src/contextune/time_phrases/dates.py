"""Calendar dates: "13 December", "Dec 13th 2023", "2023-12-13", "13/12/2023", "the 3rd"."""

import re
from collections.abc import Iterator

from contextune.time_phrases.calendar_math import (
    DAY,
    MONTHS,
    add_months,
    day_interval,
    nearest_first,
    tense_at,
)
from contextune.time_phrases.number_words import ORDINAL, parse_ordinal
from contextune.time_phrases.phrase import Direction, Interval, ParseInput, TimeAtom

_SHORT_MONTHS = r"jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
MONTH = rf"(?:{'|'.join(MONTHS)}|(?:{_SHORT_MONTHS})\b\.?)"
_DAY = rf"(?:{ORDINAL}|\d{{1,2}})"
_YEAR = r"(?:,? (?P<{name}>(?:19|20)\d\d)\b(?!-\d))?"
_WRITTEN = re.compile(
    rf"\b(?:(?P<day>{_DAY})(?: day)?(?: of|-)?[ -]?(?P<month>{MONTH})(?!\w){_YEAR.format(name='year')}"
    rf"|(?P<month2>{MONTH})(?: the)? ?(?P<day2>{_DAY})(?![\w%:]|[.,]\d| ?(?:am|pm|a\.m|p\.m)\b)"
    rf"{_YEAR.format(name='year2')})"
)
_ISO = re.compile(r"(?<![\d-])(?P<year>(?:1[6-9]|20|21)\d\d)-(?P<month>\d\d)-(?P<day>\d\d)(?!\d|-\d)")
_NUMERIC = re.compile(
    r"(?<![\d/.])(?P<a>\d{1,2})(?P<sep>[/.])(?P<b>\d{1,2})(?P=sep)(?P<year>(?:19|20)?\d\d)(?![\d/]|\.\d)"
)
_NO_YEAR = re.compile(
    r"\b(?:on|by|until|till|since|before|after|from|for|due) (?P<a>\d{1,2})/(?P<b>\d{1,2})(?![\d/%])"
)
_BARE = re.compile(
    r"(?<![\w/.,:$€£-])(?P<a>\d{1,2})/(?P<b>\d{1,2})(?![\w/%\"″]|[.,-]\d"
    r"| ?(?:inch|in\b|cup|sec|tsp|tbsp|mm|of\b))"
)
"""Without a preposition only a day above twelve tells a date: "12/13", but no "1/2", "3/6" or "24/7"."""
_BEHIND_SHORT = "|".join(
    rf"(?<=\b{name}{end})"
    for name in ("mon", "tue", "tues", "wed", "weds", "thu", "thur", "thurs", "fri", "sat", "sun")
    for end in (" ", ", ", "\\. ")
)
_NTH = re.compile(
    rf"(?:\bthe |(?<=day )|(?<=day, )|(?<=\bon )|(?<=\bby )|{_BEHIND_SHORT})"
    rf"(?P<day>\d{{1,2}}(?:st|nd|rd|th)|(?:(?<=on the )|(?<=day the )){ORDINAL}"
    rf"|(?:(?<=for the )|(?<=by the )|(?<=till the )|(?<=until the )|(?<=since the ))"
    rf"(?!first|second|third){ORDINAL})\b"
    r"(?! (?:time|floor|street|avenue|ave|grade|row|edition|century|place|birthday|one|man|day|week"
    r"|anniversary|class|gate|year|try|thing|amendment|hole|door|house|item|song"
    r"|of (?!this|next|last|the month)))"
    r"(?P<of> of (?:(?P<mod>this|next|last) month|the month))?"
)
_ANY = re.compile(r"\d|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|the)")
_THE_MONTHS = {"this": 0, "next": 1, "last": -1}


def find_dates(source: ParseInput) -> Iterator[TimeAtom]:
    """All calendar dates."""
    if not _ANY.search(source.low):
        return
    for match in _ISO.finditer(source.low):
        yield from _atom(source, match, [(int(match["year"]), int(match["month"]), int(match["day"]))], 0.98)
    for match in _WRITTEN.finditer(source.low):
        yield from _written(source, match)
    for match in _NUMERIC.finditer(source.low):
        year = int(match["year"])
        yield from _numeric(source, match, [year if year > 99 else 2000 + year])
    for match in _NO_YEAR.finditer(source.low):
        yield from _numeric(source, match, _near_years(source))
    for match in _BARE.finditer(source.low):
        low, high = sorted((int(match["a"]), int(match["b"])))
        if 1 <= low <= 12 < high <= 31 and match.group() != "24/7":
            yield from _numeric(source, match, _near_years(source), 0.75)
    for match in _NTH.finditer(source.low):
        yield from _nth(source, match)


def month_number(name: str) -> int:
    """1 for January, from the full or the abbreviated name."""
    return next(number for number, month in enumerate(MONTHS, 1) if month.startswith(name[:3]))


def _near_years(source: ParseInput) -> list[int]:
    return [source.now.year + offset for offset in (-1, 0, 1)]


def _written(source: ParseInput, match: re.Match[str]) -> Iterator[TimeAtom]:
    words = match["day"] or match["day2"]
    name = (match["month"] or match["month2"]).rstrip(".")
    if name == "may" and source.text[match.start("month" if match["month"] else "month2")] == "m":
        return
    if match["month2"] and words in ("second", "first") and "the" not in match.group():
        return  # "March second" is rare, "March first" is mostly a verb
    day = int(words) if words.isdigit() else parse_ordinal(words)
    year = match["year"] or match["year2"]
    years = [int(year)] if year else _near_years(source)
    month = month_number(name)
    yield from _atom(source, match, [(year, month, day) for year in years], 0.97 if year else 0.93)


def _numeric(
    source: ParseInput, match: re.Match[str], years: list[int], share: float = 1.0
) -> Iterator[TimeAtom]:
    """Day and month in the order of the locale, or in both orders if it is not known."""
    a, b = int(match["a"]), int(match["b"])
    orders = {True: [(b, a)], False: [(a, b)], None: [(b, a), (a, b)]}[source.day_first]
    valid = [(month, day) for month, day in orders if 1 <= month <= 12 and 1 <= day <= 31]
    if not valid:  # an impossible month shows that the locale's order is not followed
        valid = [(month, day) for month, day in ((a, b), (b, a)) if 1 <= month <= 12 and 1 <= day <= 31]
    dates = [(year, month, day) for month, day in dict.fromkeys(valid) for year in years]
    confidence = (0.9 if len(years) == 1 else 0.75) * (0.7 if len(set(valid)) > 1 else 1) * share
    start = match.start("a")
    yield from _atom(source, match, dates, confidence, start)


def _nth(source: ParseInput, match: re.Match[str]) -> Iterator[TimeAtom]:
    day = parse_ordinal(match["day"])
    offsets = [_THE_MONTHS[match["mod"] or "this"]] if match["of"] else [0, 1, -1]
    months = [add_months(source.midnight.replace(day=1), offset) for offset in offsets]
    dates = [(month.year, month.month, day) for month in months]
    preposition = source.before(match.start()).endswith(
        ("on ", "by ", "until ", "till ", "for ", "from ", "since ")
    )
    confidence = 0.9 if match["of"] or preposition else 0.6
    for atom in _atom(source, match, dates, confidence):
        readings = atom.readings
        if tense_at(source.low, atom.first) >= 0:  # the next such day, else the nearest
            readings = tuple(
                sorted(readings, key=lambda r: (r[1] <= source.now, abs(r[0] - source.midnight)))
            )
        yield TimeAtom(
            atom.first, atom.last, "day of month", "day", confidence, readings, direction=atom.direction
        )


def _atom(
    source: ParseInput,
    match: re.Match[str],
    dates: list[tuple[int, int, int]],
    confidence: float,
    first: int | None = None,
) -> Iterator[TimeAtom]:
    days: list[Interval] = []
    for year, month, day in dates:
        try:
            start = source.midnight.replace(year=year, month=month, day=day)
            days.append(day_interval(start))
        except (ValueError, OverflowError):
            continue
    if not days:
        return
    readings = nearest_first(days, source.now, tense_at(source.low, match.start()) if len(days) > 1 else 0)
    start = readings[0][0]
    direction: Direction = "either"
    if len(days) == 1:
        direction = (
            "past" if start < source.midnight else "future" if start >= source.midnight + DAY else "either"
        )
    yield TimeAtom(
        match.start() if first is None else first,
        match.end(),
        form="date",
        granularity="day",
        confidence=confidence,
        readings=readings,
        direction=direction,
    )
