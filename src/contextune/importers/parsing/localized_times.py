"""Times as people read them, in the languages that Takeout writes: "16. mai 2024, 17:40:12 CEST"."""

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
"""Hours ahead of universal time, for abbreviations that mean one thing only; CST and IST do not."""
_MOST = 100
_CLOCK = re.compile(r"(\d{1,2})[:.](\d\d)(?:[:.](\d\d))?(?![\d.])")
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]+")
_AFTERNOON = re.compile(r"\bp\.? ?m\b|오후|下午|午後|μ\.μ|\bös\b", re.IGNORECASE)
_MORNING = re.compile(r"\ba\.? ?m\b|오전|上午|午前|π\.μ|\böö\b", re.IGNORECASE)
_FIXED = re.compile(r"\b(?:GMT|UTC) ?([+\-−])(\d{1,2}):?(\d\d)?\b")
_ZONE = re.compile(r"\b([A-Z]{1,5})\s*$")


def written_time(text: str, zone: ZoneInfo | None = None) -> datetime | None:
    """The time a text says; None where it says none, or where it can be read in two ways.

    With an abbreviation that means one offset only, or the one in force in the user's `zone`, it is
    an instant; with none, or one that may mean several, it is the user's wall clock.
    """
    text = " ".join(text[:_MOST].replace("\u202f", " ").replace("\xa0", " ").replace("\u200e", "").split())
    clocks = list(_CLOCK.finditer(text))
    if not clocks:
        return None
    clock = next((one for one in clocks if ":" in one[0]), clocks[-1])
    day = _date(text[: clock.start()])
    hour = _hour(int(clock[1]), text)
    if day is None or hour is None:
        return None
    try:
        time = datetime(*day, hour, int(clock[2]), int(clock[3] or 0))
        return _zoned(time, text[clock.end() :], zone)
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
    """By how its name begins, in whatever language: the longest beginning counts."""
    found = [stem for stem in _STEMS if word.startswith(stem)]
    return _STEMS[max(found, key=len)] if found else None


def _hour(hour: int, text: str) -> int | None:
    afternoon = bool(_AFTERNOON.search(text))
    if not afternoon and not _MORNING.search(text):
        return hour
    return hour % 12 + 12 * afternoon if 1 <= hour <= 12 else None


def _zoned(time: datetime, rest: str, zone: ZoneInfo | None) -> datetime:
    if fixed := _FIXED.search(rest):
        ahead = timedelta(hours=int(fixed[2]), minutes=int(fixed[3] or 0))
        return time.replace(tzinfo=timezone(ahead if fixed[1] == "+" else -ahead))
    named = _ZONE.search(rest)
    name = named[1] if named and named[1] not in ("AM", "PM") else ""
    for fold in (0, 1) if zone and name else ():  # the hour that comes twice in autumn has two names
        local = time.replace(tzinfo=zone, fold=fold)
        if local.tzname() == name:
            return time.replace(tzinfo=timezone(local.utcoffset() or timedelta()))
    if name in _OFFSETS:
        return time.replace(tzinfo=timezone(timedelta(hours=_OFFSETS[name])))
    return time
