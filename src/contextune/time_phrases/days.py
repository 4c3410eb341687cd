"""Relative days, weekdays and parts of the day: "tomorrow evening", "last Monday", "tonight"."""

import re
from collections.abc import Iterator

from contextune.time_phrases.calendar_math import DAY, HOUR, WEEKDAYS, day_interval, tense_at, week_interval
from contextune.time_phrases.phrase import Direction, Interval, ParseInput, TimeAtom

PARTS: dict[str, tuple[int, int]] = {
    "morning": (4, 12),
    "afternoon": (12, 18),
    "evening": (17, 29),
    "night": (17, 29),
    "bed": (20, 24),
}
"""Hours from midnight at which the parts of a day begin and end; the night ends at five."""
_LAST_NIGHT = (18, 29)
_FIRST_THING = (6, 10)
_WEEKDAY_SHORT = {
    "mon": 0,
    "tue": 1,
    "tues": 1,
    "wed": 2,
    "weds": 2,
    "thu": 3,
    "thur": 3,
    "thurs": 3,
    "fri": 4,
    "sat": 5,
    "sun": 6,
}
_RELATIVE = re.compile(
    r"\b(?:(?P<other>day before yesterday|day after tomorrow)"
    r"|(?P<day>yesterday|today|tomorrow|tmrw|tomorow)(?: (?P<part>morning|afternoon|evening|night)\b)?)\b"
)
_OFFSETS = {
    "day before yesterday": -2,
    "yesterday": -1,
    "today": 0,
    "tomorrow": 1,
    "tmrw": 1,
    "tomorow": 1,
    "day after tomorrow": 2,
}
_PARTS = re.compile(
    r"\b(?:(?P<last>last night|overnight)"
    r"|(?P<evening>tonight|this evening|bedtime|after (?:work|dinner|supper))"
    r"|(?P<morning>this morning|(?:at|over|before) breakfast)"
    r"|(?P<afternoon>this afternoon|after lunch)"
    r"|(?P<midday>(?:at|over|before) lunch|(?:at |by |before )noon|midday))\b"
)
_PART_HOURS = {**PARTS, "last": _LAST_NIGHT, "midday": (10, 14)}
_PLAIN_PARTS = re.compile(r"this (?:morning|afternoon|evening)|tonight|last night")
_BARE_PARTS = re.compile(
    r"\b(?:(?P<lead>in the |at |during the |by )?(?P<when>early |late |first thing in the )?"
    r"(?P<part>morning|afternoon|evening|night)\b(?!s)"
    r"|(?<!the )(?<!my )(?P<first>first thing)\b"
    r"(?! (?:in the|i|we|you|he|she|they|to|that|is|on the|each|every)\b)"
    r"|(?P<bed>(?<!night )before (?:going to )?bed(?! last night)|before i (?:go|head) to bed"
    r"|(?:when|before) i turn in)\b)"
)
_MODIFIER = r"last |on |next |this past |the past |this |coming |upcoming |following |previous "
_WEEKDAY = re.compile(
    rf"\b(?P<modifier>{_MODIFIER})?(?P<name>{'|'.join(WEEKDAYS)})(?P<plural>s)?\b"
    r"(?P<week> week\b(?!end)| after next\b)?"
)
_SHORT = re.compile(
    rf"\b(?P<modifier>{_MODIFIER}|the )?"
    rf"(?P<name>{'|'.join(sorted(_WEEKDAY_SHORT, key=len, reverse=True))})\b\.?"
)
_AFTER_SHORT = re.compile(
    r",? (?:\d|at |morning|afternoon|evening|night|the \d)"
    r"|\s*(?:[-–]|to |and )\s*(?:mon|tue|wed|thu|fri|sat|sun)"
)
_TITLE = re.compile(r"[\w,] [A-Z]\w* $")
"""A capitalised word in the middle of a sentence."""
_BEFORE_NAME = re.compile(
    r"\b(?:black|cyber|casual|good|ash|palm|maundy|shrove|whit|easter|super|giving|manic|blue|stormy|bloody"
    r"|ruby|taco|freaky) $"
)
"""Words with which a weekday is a name: "Black Friday" is a sale, and on a date of its own."""
_BEHIND_NAME = re.compile(r"\.(?:com|org|net)\b| (?:roast|times|telegraph|best|school|papers?|blues)\b")
_ALSO_WORDS = frozenset(["sat", "sun", "mon", "wed"])


def find_days(source: ParseInput) -> Iterator[TimeAtom]:
    """Relative days, parts of the day and weekdays."""
    yield from find_relative_days(source)
    yield from find_day_parts(source)
    yield from find_weekdays(source)
    yield from _short_weekdays(source)


def part_of(day: Interval, part: str) -> Interval:
    """A part of a day, such as its evening."""
    first, last = PARTS[part]
    return day[0] + first * HOUR, day[0] + last * HOUR


def find_relative_days(source: ParseInput) -> Iterator[TimeAtom]:
    """Days counted from today: "tomorrow", "yesterday evening"."""
    for match in _RELATIVE.finditer(source.low):
        offset = _OFFSETS[match["other"] or match["day"]]
        interval = day_interval(source.midnight, offset)
        part = match["part"] or ""
        if part:
            interval = part_of(interval, part)
        if (offset, part) == (-1, "evening"):
            interval = (source.midnight - 6 * HOUR, interval[1])  # as "last night"
        direction: Direction = "past" if offset < 0 else "future" if offset > 0 else "either"
        yield TimeAtom(
            *match.span(),
            form="relative day",
            granularity="part of day" if part else "day",
            confidence=0.98,
            readings=(interval,),
            direction=direction,
            modifier=part,
        )


def find_day_parts(source: ParseInput) -> Iterator[TimeAtom]:
    """Parts of the day: "tonight", and without a day "in the evening"."""
    known: list[tuple[int, int]] = []
    for match in _PARTS.finditer(source.low):
        known.append(match.span())
        name = match.lastgroup or ""
        first, last = _PART_HOURS[name]
        day = source.midnight - (name == "last") * DAY
        plain = bool(_PLAIN_PARTS.match(match.group()))
        yield TimeAtom(
            *match.span(),
            form="part of day",
            granularity="part of day",
            confidence=0.95 if plain else 0.5,
            readings=((day + first * HOUR, day + last * HOUR),),
            direction="past" if name == "last" else "either",
            modifier=name,
        )
    for match in _BARE_PARTS.finditer(source.low):
        part = match["part"] or ("bed" if match["bed"] else "morning")
        if any(first <= match.end() - 1 < last for first, last in known):
            continue
        hours = _FIRST_THING if "first thing" in match.group() else PARTS[part]
        led = (match["lead"] or "by ") != "by " or not match["part"] or "first thing" in match.group()
        yield TimeAtom(
            *match.span(),
            form="bare part",
            granularity="part of day",
            confidence=0.6 if led else 0.0,
            minutes=(hours[0] * 60, hours[1] * 60),
            modifier=part,
        )


def find_weekdays(source: ParseInput, *, plurals: bool = False) -> Iterator[TimeAtom]:
    """Weekdays in full; "on Mondays" is a recurrence, and left out unless `plurals` is set."""
    for match in _WEEKDAY.finditer(source.low):
        if (match["plural"] and not plurals) or _is_name(source, match):
            continue
        yield _weekday_atom(source, match, WEEKDAYS.index(match["name"]), (match["week"] or "").strip())


def _is_name(source: ParseInput, match: re.Match[str]) -> bool:
    """Whether a weekday is part of a name: "Casual Friday", "the Sunday roast", "monday.com"."""
    if match["modifier"] or match["week"]:
        return False
    before = _BEFORE_NAME.search(source.low, max(0, match.start() - 12), match.start())
    return before is not None or _BEHIND_NAME.match(source.low, match.end()) is not None


def _short_weekdays(source: ParseInput) -> Iterator[TimeAtom]:
    """Abbreviated weekdays; "sat" and "sun" are also words, and "the Sun" is a newspaper."""
    for match in _SHORT.finditer(source.low):
        name, modifier = match["name"], match["modifier"]
        at = match.start("name")
        if modifier == "the " or source.low[match.end() : match.end() + 2] == "'s":
            continue
        capital = source.text[at].isupper()
        if name in _ALSO_WORDS and not modifier:
            starts_sentence = at == 0 or source.low[max(0, at - 5) : at].rstrip()[-1:] in ".!?"
            cued = bool(_AFTER_SHORT.match(source.low, match.end()))
            if not capital or (starts_sentence and not cued):
                continue
        yield _weekday_atom(source, match, _WEEKDAY_SHORT[name], "", capital or bool(modifier))


def _weekday_atom(
    source: ParseInput, match: re.Match[str], weekday: int, suffix: str, sure: bool = True
) -> TimeAtom:
    modifier = (match["modifier"] or "").strip().removeprefix("this ").removeprefix("the ")
    coming = (weekday - source.now.weekday()) % 7
    monday = (week_interval(source.midnight)[0] - source.midnight).days
    direction: Direction = "future"
    if suffix:
        offsets = [(coming or 7) + 7]  # "Friday week" is a week after the coming Friday
    elif modifier in ("last", "past", "previous"):
        direction = "past"
        offsets = [coming - 7]
        if coming - 7 >= monday:  # "last Monday", said on a Friday, may be that of the week before
            offsets.append(coming - 14)
    elif modifier == "next":
        week_after = monday + 7 + weekday
        offsets = [week_after] if week_after < 8 else [week_after, coming or 7]
    elif modifier in ("this", "coming", "upcoming", "following"):
        offsets = [coming if modifier == "this" else coming or 7]
    else:
        direction = "either"
        past = tense_at(source.low, match.start()) < 0
        offsets = [coming - 7, coming] if past else [coming, coming - 7]
        if coming == 0:
            offsets = [0, -7, 7] if past else [0, 7, -7]
    confidence = 0.9 if sure and len(offsets) == 1 else 0.85 if sure else 0.6
    if not modifier and _TITLE.search(source.text, max(0, match.start() - 30), match.start()):
        confidence = 0.5  # "Play Manic Monday"
    return TimeAtom(
        *match.span(),
        form="weekday",
        granularity="day",
        confidence=confidence,
        readings=tuple(day_interval(source.midnight, offset) for offset in offsets),
        direction=direction,
        modifier=suffix or modifier,
    )
