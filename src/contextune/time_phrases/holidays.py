"""Holidays with a known date: "Christmas Eve", "New Year's Day", "before Easter", "on Halloween"."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta

from contextune.time_phrases.calendar_math import day_interval, nearest_first, tense_at
from contextune.time_phrases.phrase import ParseInput, TimeAtom

_DateOfYear = Callable[[int], date]


def easter(year: int) -> date:
    """Easter Sunday of the Gregorian calendar (the algorithm of Meeus, Jones and Butcher)."""
    century, rest = divmod(year, 100)
    leap_centuries, century_rest = divmod(century, 4)
    correction = (century - (century + 8) // 25 + 1) // 3
    golden = year % 19
    epact = (19 * golden + century - leap_centuries - correction + 15) % 30
    quarter, quarter_rest = divmod(rest, 4)
    weekday = (32 + 2 * century_rest + 2 * quarter - epact - quarter_rest) % 7
    late = (golden + 11 * epact + 22 * weekday) // 451
    month, day = divmod(epact + weekday - 7 * late + 114, 31)
    return date(year, month, day + 1)


def _fixed(month: int, day: int) -> _DateOfYear:
    return lambda year: date(year, month, day)


def _after_easter(days: int) -> _DateOfYear:
    return lambda year: easter(year) + timedelta(days=days)


def _thanksgiving(year: int) -> date:
    """The fourth Thursday of November."""
    first = date(year, 11, 1)
    return first + timedelta(days=(3 - first.weekday()) % 7 + 21)


_WHOLE_NAMES: Mapping[str, _DateOfYear] = {
    r"(?:christmas|xmas) eve": _fixed(12, 24),
    r"(?:christmas|xmas) day": _fixed(12, 25),
    r"boxing day|(?:saint|st\.?) stephen'?s(?:'s)? day": _fixed(12, 26),
    r"new year'?s'? eve": _fixed(12, 31),
    r"new year'?s'? day": _fixed(1, 1),
    r"(?:(?:saint|st\.?) )?valentine'?s'? day": _fixed(2, 14),
    r"(?:saint|st\.?) (?:patrick|paddy)'?s day|paddy'?s day": _fixed(3, 17),
    r"april fools?'?s?'? day": _fixed(4, 1),
    r"shrove tuesday|pancake day": _after_easter(-47),
    r"ash wednesday": _after_easter(-46),
    r"palm sunday": _after_easter(-7),
    r"maundy thursday": _after_easter(-3),
    r"good friday": _after_easter(-2),
    r"easter sunday|easter day": _after_easter(0),
    r"easter monday": _after_easter(1),
    r"whit monday": _after_easter(50),
    r"thanksgiving day": _thanksgiving,
    r"black friday": lambda year: _thanksgiving(year) + timedelta(days=1),
    r"cyber monday": lambda year: _thanksgiving(year) + timedelta(days=4),
}
_SHORT_NAMES: Mapping[str, _DateOfYear] = {
    r"christmas|xmas": _fixed(12, 25),
    r"new year'?s'?": _fixed(1, 1),
    r"valentine'?s'?": _fixed(2, 14),
    r"hallowe'?en": _fixed(10, 31),
    r"easter": _after_easter(0),
    r"thanksgiving": _thanksgiving,
}
"""Names that are often part of another: they need a preposition, and no noun behind them."""
_DATES = (*_WHOLE_NAMES.values(), *_SHORT_NAMES.values())
_WHOLE = "|".join(f"(?P<w{number}>{name})" for number, name in enumerate(_WHOLE_NAMES))
_SHORT = "|".join(f"(?P<s{number}>{name})" for number, name in enumerate(_SHORT_NAMES, len(_WHOLE_NAMES)))
_LEAD = r"on|at|by|before|after|until|till|'til|since|for|from|over|around|this|next|last|of"
_NO_NOUN = (
    r"(?!['-]?\w)(?=\s*(?:$|[.,;:!?)–-])"
    r"|\s+(?:to|at|and|or|in|on|with|please|so|that|if|when|we|i|\d{4})\b)"
)
_DESCRIBING = re.compile(
    r" (?:e-?mails?|mails?|messages?|newsletters?|notes?|lists?|reminders?|deals?|sales?|offers?|discounts?"
    r"|codes?|vouchers?|songs?|playlists?|recipes?|agreement)\b"
)
"""What a holiday describes, without being its date: "the Black Friday email"."""
_HOLIDAY = re.compile(
    rf"\b(?:(?P<lead>{_LEAD}) )?(?:{_WHOLE})(?!['\w])(?: (?P<year>(?:19|20)\d\d)\b)?"
    rf"|\b(?P<lead2>{_LEAD}) (?:{_SHORT}){_NO_NOUN}(?: (?P<year2>(?:19|20)\d\d)\b)?"
)
_ANY = re.compile(
    r"christmas|xmas|boxing|new year|stephen|valentine|pat|padd|fool|good fri|east|whit|hallow|thanks"
    r"|shrove|pancake|ash wed|palm|maundy|black fri|cyber mon"
)
_TENSES = {"last": -1, "since": -1, "from": 0, "next": 1, "by": 1, "until": 1, "till": 1, "'til": 1}


def find_holidays(source: ParseInput) -> Iterator[TimeAtom]:
    """Holidays, as dates; without a year, of the year that the tense of the request asks for."""
    if not _ANY.search(source.low):
        return
    for match in _HOLIDAY.finditer(source.low):
        name = next(group for group, text in match.groupdict().items() if text and group[1:].isdigit())
        lead = match["lead"] or match["lead2"] or ""
        if lead and name[0] == "s" and source.text[match.start()].isupper() and match.start():
            continue  # "Play Last Christmas"
        if (not lead or lead in ("of", "for")) and _DESCRIBING.match(source.low, match.end()):
            continue
        year = match["year"] or match["year2"]
        years = [int(year)] if year else [source.now.year + offset for offset in (-1, 0, 1)]
        days = [
            day_interval(source.midnight.replace(year=day.year, month=day.month, day=day.day))
            for day in map(_DATES[int(name[1:])], years)
        ]
        said_tense = tense_at(source.low, match.start())
        tense = _TENSES.get(lead, said_tense or 1)
        if lead in ("last", "next"):
            days = [day for day in days if (day[1] <= source.now) == (lead == "last")]
        readings = nearest_first(days, source.now, tense)
        first = match.start(name) if lead not in ("last", "next", "this") else match.start()
        yield TimeAtom(
            first,
            match.end(),
            form="date",
            granularity="day",
            confidence=(0.93 if lead else 0.6) if name[0] == "w" else 0.7,
            readings=readings,
            direction="past"
            if lead == "last"
            else "future"
            if lead == "next" or said_tense > 0
            else "either",
        )
