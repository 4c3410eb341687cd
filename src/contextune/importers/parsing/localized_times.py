"""Parse localised times such as "16. mai 2024, 17:40:12 CEST", in the languages of Takeout."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo

_MONTHS = (
    "jan ene gen sty янв січ oca led tammi ιαν",
    "feb fév fev lut фев лют şub úno helmi φεβ",
    "mar mär mrt бер мар bře maalis μαρ",
    "apr abr avr kwi апр кві nis dub huhti απρ",
    "may mai mag mei maj мая май тра kvě touko μαΐ μαι",
    "jun juin giu cze июн чер haz čvn kesä ιουν",
    "jul juil lug lip июл лип tem čvc heinä ιουλ",
    "aug ago août aoû sie авг сер ağu srp elo αυγ",
    "sep set wrz сен вер eyl zář syys σεπ",
    "oct okt out ott paź окт жов eki říj loka οκτ",
    "nov lis ноя лис kas marras νοε",
    "dec dez déc dic gru дек гру ara pro joulu des δεκ",
)
_STEMS: Mapping[str, int] = {
    stem: number for number, stems in enumerate(_MONTHS, 1) for stem in stems.split()
}
_OFFSETS = {
    **dict.fromkeys(("GMT", "UTC", "WET", "Z"), 0), **dict.fromkeys(("WEST", "BST", "CET", "MEZ"), 1),
    **dict.fromkeys(("CEST", "MESZ", "EET", "OEZ", "SAST"), 2),
    **dict.fromkeys(("EEST", "OESZ", "MSK", "TRT"), 3),
    **dict.fromkeys(("JST", "KST"), 9), "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13,
    "BRT": -3, "ART": -3, "EDT": -4, "EST": -5, "CDT": -5, "MDT": -6, "MST": -7, "PDT": -7, "PST": -8,
}  # fmt: skip
"""UTC offsets in hours of unambiguous abbreviations; CST and IST are ambiguous."""
_MAX_LENGTH = 100
_CLOCK = re.compile(r"(\d{1,2})[:.](\d\d)(?:[:.](\d\d))?(?![\d.])")
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]+")
_AFTERNOON = re.compile(r"\bp\.? ?m\b|오후|下午|午後|μ\.μ|\bös\b|\bم\b|\bnm\b|ب\.ظ", re.IGNORECASE)
_MORNING = re.compile(r"\ba\.? ?m\b|오전|上午|午前|π\.μ|\böö\b|\bص\b|\bvm\b|ق\.ظ", re.IGNORECASE)
_UTC_OFFSET = re.compile(r"\b(?:GMT|UTC) ?([+\-−])(\d{1,2}):?(\d\d)?\b")
_ZONE = re.compile(r"\b([A-Z]{1,5})\s*$")


def parse_localized_time(text: str, zone: ZoneInfo | None = None) -> datetime | None:
    """The time in a text; None if there is none, or if the date is ambiguous.

    It has an offset if the zone's abbreviation is unambiguous or is in use in the user's `zone`; otherwise
    it is a local time without a zone.
    """
    text = " ".join(
        text[:_MAX_LENGTH].replace("\u202f", " ").replace("\xa0", " ").replace("\u200e", "").split()
    )
    clocks = list(_CLOCK.finditer(text))
    if not clocks:
        return None
    clock = next((match for match in clocks if ":" in match[0]), clocks[-1])
    day = _date(text[: clock.start()])
    hour = hour_of_day(int(clock[1]), text)
    if day is None or hour is None:
        return None
    try:
        time = datetime(*day, hour, int(clock[2]), int(clock[3] or 0))
        return _with_zone(time, text[clock.end() :], zone)
    except (ValueError, OverflowError):
        return None


def _date(text: str) -> tuple[int, int, int] | None:
    numbers = [int(number) for number in _NUMBER.findall(text)]
    months = [month for word in _WORD.findall(text.casefold()) if (month := _month(word))]
    if len(numbers) == 2 and len(months) == 1:
        year, day = max(numbers), min(numbers)
        return year, months[0], day
    if len(numbers) != 3:
        return None
    first, second, third = numbers
    if first > 31:
        return first, second, third
    if third <= 31:
        return None
    if "/" in text and first <= 12 and second <= 12 and first != second:
        return None  # 5/6/2024 is in May or in June
    return (third, first, second) if second > 12 else (third, second, first)


@lru_cache(maxsize=256)
def _month(word: str) -> int | None:
    """The month by the longest matching stem of its name, in any language."""
    stems = [stem for stem in _STEMS if word.startswith(stem)]
    return _STEMS[max(stems, key=len)] if stems else None


def hour_of_day(hour: int, text: str) -> int | None:
    """The hour from 0 to 23, if the text says that it is before or after noon; None if it cannot be."""
    afternoon = bool(_AFTERNOON.search(text))
    if not afternoon and not _MORNING.search(text):
        return hour
    return hour % 12 + 12 * afternoon if 1 <= hour <= 12 else None


def _with_zone(time: datetime, after: str, zone: ZoneInfo | None) -> datetime:
    if fixed := _UTC_OFFSET.search(after):
        offset = timedelta(hours=int(fixed[2]), minutes=int(fixed[3] or 0))
        return time.replace(tzinfo=timezone(offset if fixed[1] == "+" else -offset))
    abbreviation = _ZONE.search(after)
    name = abbreviation[1] if abbreviation and abbreviation[1] not in ("AM", "PM") else ""
    for fold in (0, 1) if zone and name else ():  # the repeated hour in autumn has two abbreviations
        local = time.replace(tzinfo=zone, fold=fold)
        if local.tzname() == name:
            return time.replace(tzinfo=timezone(local.utcoffset() or timedelta()))
    if name in _OFFSETS:
        return time.replace(tzinfo=timezone(timedelta(hours=_OFFSETS[name])))
    return time
