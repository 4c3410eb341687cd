"""`parse_time_phrases`: all time expressions of a request, resolved against its time.

Rules recognise atoms (days, clock times, periods, durations, recurrences); neighbouring atoms are joined,
then ranges ("from 3 to 5") and bounds ("since", "by", "end of") are applied. Quotations, addresses, phone
numbers and prices hold no times.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice

from contextune.time_phrases.calendar_math import DAY
from contextune.time_phrases.clocks import find_clocks
from contextune.time_phrases.dates import find_dates
from contextune.time_phrases.days import find_days
from contextune.time_phrases.groups import (
    AtomGroup,
    drop_overlaps,
    group_atoms,
    group_direction,
    group_granularity,
    merge_days,
    resolve_group,
)
from contextune.time_phrases.holidays import find_holidays
from contextune.time_phrases.nth_weekdays import find_nth_weekdays
from contextune.time_phrases.periods import edge_of, find_periods
from contextune.time_phrases.phrase import Bound, Interval, Kind, ParseInput, TimeAtom, TimePhrase, fold
from contextune.time_phrases.recurrences import find_recurrences

_BLOCKED = re.compile(
    r"\"[^\"]{0,300}\"|“[^”]{0,300}”|«[^»]{0,300}»|‘[^’]{0,300}’"
    r"|(?<![\w])['](?!til\b|tis\b|em\b|\d\d\b)[^']{1,300}(?:'(?=\w)[^']{1,300}){0,20}'(?!\w)"
    r"|https?://\S+|\bwww\.\S+|[^\s@]{1,64}@[^\s@]{1,255}\.\w+"
    r"|(?<![\w-])\+?(?!\d{4}-\d\d-\d\d)\(?\d{2,5}\)?(?:[ -]\d{2,5}){0,8}[ -]\d{3,}\b"
    r"|(?<!\w)\+\d[\d ()-]{5,}\d|\b\d{5,}\b"
    r"|[$€£¥]\s?\d[\d.,]*"
    r"|\b\d[\d.,:]{0,30}\s?(?:[%€£$]|(?:percent|euros?|eur|dollars?|usd|bucks|pounds?|quid|cents|degrees|km|kg|miles|metres"
    r"|meters|litres|people|persons|guests|points|pages|songs|copies|stars|calories|grams)\b)"
    r"|\b(?:version|v|chapter|page|room|gate|platform|flight|bus|line|floor|number|no\.|track|season|episode|step|level"
    r"|section|article|option|size|route|apartment|flat|seat|row) ?\d[\d.]*\b"
)
_ADDRESS = re.compile(r" [A-Z]\w+ (?:Street|St|Road|Rd|Avenue|Ave|Lane|Square|Drive)\b")
_ANY = re.compile(
    r"\d|\b(?:day|today|to[mn]|tmrw|yester|night|overnight|bedtime|noon|mid|week|fortnight|month|year|yr|quarter|half"
    r"|morning|afternoon|evening|hour|hr|min|sec|dail|annual|every|each|lunch|breakfast|dinner|supper|work|spring|summer|autumn|fall"
    r"|winter|christmas|xmas|easter|hallow|valentine|thanksgiving|good fri|pancake|bed|first thing"
    r"|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun|one|two|three|four|five"
    r"|six|seven|eight|nine|ten|eleven|twelve|the [\w-]+(?:st|nd|rd|th)\b|end of)"
)
"""What every time phrase contains: most requests without one are done after this."""
_RANGE_GAP = re.compile(r"\s*(?P<word>to|until|till|through|thru|and|-|–|—)\s*(?:the |about )?$")
_FROM = re.compile(r"\b(?P<word>from|between)\s+(?:the |about )?$")
_BOUND = re.compile(
    r"\b(?P<word>since|until|till|'til|til|by|before|after|from|starting(?: from)?|as of|up to|no later than)"
    r"\s+(?:the )?$"
)
_BOUNDS: dict[str, Bound] = {
    "since": "since",
    "until": "until",
    "till": "until",
    "'til": "until",
    "til": "until",
    "up to": "until",
    "by": "by",
    "no later than": "by",
    "before": "before",
    "after": "after",
}
_ONWARDS = re.compile(r"\s*(?:onwards?|forward|on\b(?=\s*(?:$|[.,;!?])))")
_EDGE = re.compile(r"\b(?:at )?(?:the )?(?P<edge>end|beginning|start|middle) of (?:the )?$")
_PREPOSITION = re.compile(r"\b(?P<word>at|on|in|around|about|for|during|over)\s+(?:the |a )?$")
_PREPOSITIONS: dict[str, frozenset[str]] = {
    "at": frozenset(["clock", "weekend", "bare part"]),
    "on": frozenset(["weekday", "date", "day of month", "weekend"]),
    "in": frozenset(["month", "year", "season", "bare part"]),
    "around": frozenset(["clock", "date", "weekday"]),
    "about": frozenset(["clock"]),
    "during": frozenset(["week", "weekend", "month", "year", "season"]),
    "over": frozenset(["weekend"]),
}
"""The forms before which a preposition is part of the phrase; "for" is before all."""
_DEFAULT_CONFIDENCE = 0.3
MAX_ATOMS = 50
"""Atoms that a rule may find; a text with more is no request, and joining them takes quadratic time."""

AtomRule = Callable[[ParseInput], Iterator[TimeAtom]]
RULES: tuple[AtomRule, ...] = (
    find_days,
    find_dates,
    find_holidays,
    find_nth_weekdays,
    find_periods,
    find_recurrences,
    find_clocks,
)


def blocked_ranges(source: ParseInput) -> list[tuple[int, int]]:
    """Ranges of characters in which no time is to be recognised."""
    return [match.span() for match in _BLOCKED.finditer(source.text)]


def is_blocked(atom: TimeAtom, source: ParseInput, ranges: list[tuple[int, int]]) -> bool:
    """Whether an atom lies in such a range, or is the number of a house."""
    if any(first <= atom.first and atom.last <= last for first, last in ranges):
        return True
    if any(first < atom.last and atom.first < last for first, last in ranges) and atom.form in (
        "clock",
        "year",
    ):
        return True
    return atom.form == "clock" and bool(_ADDRESS.match(source.text, atom.last))


def parse_time_phrases(
    text: str, now: datetime, *, day_first: bool | None = None, min_confidence: float = _DEFAULT_CONFIDENCE
) -> list[TimePhrase]:
    """Find the time expressions in a request made at `now` (the user's wall clock), in the order of the text.

    Args:
        text: The request, in English.
        now: The time to which "tomorrow" and "3 days ago" are relative.
        day_first: Whether 4/5/2024 is in May; None if it is not known: then the nearest date is preferred.
        min_confidence: Leave out phrases that are less probable, such as a bare 1984.
    """
    source = parse_input(text, now, day_first)
    if not _ANY.search(source.low):
        return []
    atoms = find_atoms(source)
    blocked = blocked_ranges(source) if atoms else []
    atoms = [atom for atom in atoms if not is_blocked(atom, source, blocked)]
    clocks = [atom for atom in atoms if atom.form == "clock"]
    atoms = [atom for atom in atoms if atom.modifier != "midday" or not _overlaps(atom, clocks)]
    groups = group_atoms(merge_days(drop_overlaps(atoms), source), source)
    phrases = _phrases(groups, source)
    return [phrase for phrase in phrases if phrase.confidence >= min_confidence]


def parse_input(text: str, now: datetime, day_first: bool | None = None) -> ParseInput:
    """A text and its folded form."""
    return ParseInput(text, fold(text), now, day_first)


def find_atoms(source: ParseInput, rules: Sequence[AtomRule] = RULES) -> list[TimeAtom]:
    """The atoms that some rules recognise, which may overlap."""
    atoms: list[TimeAtom] = []
    for rule in rules:
        with suppress(OverflowError, ValueError):  # "in 9999 years": the rest of this rule's atoms is lost
            for atom in islice(rule(source), MAX_ATOMS):
                atoms.append(atom)  # noqa: PERF402  # an exception must not lose the earlier ones
    return atoms


def _back(position: int) -> int:
    """Where to look for the words before a position: searching from the start would be slow in long texts."""
    return max(0, position - 40)


def _overlaps(atom: TimeAtom, others: Sequence[TimeAtom]) -> bool:
    return any(atom.first < other.last and other.first < atom.last for other in others)


def _phrases(groups: Sequence[AtomGroup], source: ParseInput) -> Iterator[TimePhrase]:
    index = 0
    while index < len(groups):
        try:
            if index + 1 < len(groups) and (both := _range(groups[index], groups[index + 1], source)):
                yield both
                index += 2
                continue
            if phrase := _phrase(groups[index], source):
                yield _bounded(phrase, groups[index], source)
        except OverflowError:
            pass
        index += 1


def _confidence(group: AtomGroup) -> float:
    """The probability that the group means a time: atoms that fit together confirm each other."""
    doubt = 1.0
    for atom in group.atoms:
        doubt *= 1 - max(atom.confidence, 0.3 if atom.form == "bare part" and len(group.atoms) > 1 else 0)
    certain = group.clock is None or group.clock.certain or len(group.clock.minutes) == 1
    return round((1 - doubt) * (1.0 if certain else 0.9), 3)


def _phrase(group: AtomGroup, source: ParseInput) -> TimePhrase | None:
    readings = resolve_group(group, source)
    if not readings:
        return None
    (start, end), anchor = readings[0]
    main = group.day or group.other or group.part or group.clock
    assert main is not None  # noqa: S101  # for the type checker
    rule = next((atom.rrule for atom in group.atoms if atom.rrule), "")
    kind: Kind = (
        "point"
        if group.clock or (main.granularity in ("minute", "hour") and main.form != "window")
        else "span"
    )
    if main.form == "duration":
        kind = "duration"
    elif rule:
        kind = "recurrence"
    first = group.first
    leading = min(group.atoms, key=lambda atom: atom.first)
    if preposition := _PREPOSITION.search(source.low, _back(first), first):
        word = preposition["word"]
        if word == "for" or leading.form in _PREPOSITIONS[word]:
            first = preposition.start()
    if anchor == start and kind != "duration" and main.form == "window" and main.direction == "past":
        anchor = end
    return TimePhrase(
        first,
        group.last,
        source.text[first : group.last],
        start,
        end,
        group_granularity(group),
        group_direction(group, anchor, source),
        kind,
        main.form,
        _confidence(group),
        anchor,
        tuple(
            dict.fromkeys(interval for interval, _ in readings[1:] if interval != (start, end) and not rule)
        ),
        rrule=rule,
    )


def _range(a: AtomGroup, b: AtomGroup, source: ParseInput) -> TimePhrase | None:
    """One phrase for "from 3 to 5", "between Monday and Wednesday", "2-4 pm"."""
    gap = _RANGE_GAP.match(source.low, a.last, b.first)
    if not gap or gap.end() != b.first:
        return None
    lead = _FROM.search(source.low, _back(a.first), a.first)
    inner = a.clock is not None and _FROM.search(source.low, a.first, a.clock.first)
    if gap["word"] == "and" and not ((lead or inner) and "between" in source.low[_back(a.first) : a.last]):
        return None
    if (a.clock is None) != (b.clock is None) or (a.other is None) != (b.other is None):
        return None
    if any(atom.form in ("duration", "recurrence", "ago", "ahead") for atom in (*a.atoms, *b.atoms)):
        return None
    if a.clock and b.clock and b.clock.given_half and not a.clock.given_half and a.clock.written < 13 * 60:
        late = 720 * (b.clock.given_half == "p")
        same = a.clock.written % 720 + late
        last = b.clock.minutes[0]
        a = replace(
            a, clock=replace(a.clock, minutes=(same if same < last else (same + 720) % 1440,), certain=True)
        )
    day, part = a.day or b.day, a.part or b.part
    begin = _phrase(replace(a, day=day, part=part), source) if a.clock else _phrase(a, source)
    final = (
        _phrase(replace(b, day=b.day or day, part=b.part or part), source) if b.clock else _phrase(b, source)
    )
    if begin is None or final is None:
        return None
    end = _range_end(begin, final, b)
    others = [] if b.clock else _other_ranges(begin, final, end)
    first = lead.start() if lead else begin.first
    confidence = max(begin.confidence, final.confidence, 0.8 if lead or inner else 0.6)
    return replace(
        begin,
        first=first,
        last=b.last,
        text=source.text[first : b.last],
        end=end,
        kind="span",
        anchor=begin.start,
        confidence=confidence,
        alternatives=tuple(others),
    )


def _other_ranges(begin: TimePhrase, final: TimePhrase, end: datetime) -> list[Interval]:
    """Other readings of a range of days, as long as the first: "Monday to Wednesday" of the last week."""
    starts = {start for start, _ in begin.alternatives}
    return [
        (last - (end - begin.start), last)
        for _, last in final.readings
        if last != end and last - (end - begin.start) in starts
    ]


def _range_end(begin: TimePhrase, final: TimePhrase, b: AtomGroup) -> datetime:
    """The first reading of the end that is after the start."""
    if b.clock:
        midnight = begin.start.replace(hour=0, minute=0)
        if b.day is None or b.day.granularity == "part of day":
            options = sorted(
                midnight + n * DAY + timedelta(minutes=minutes) for n in (0, 1) for minutes in b.clock.minutes
            )
            return next(option for option in [*options, begin.start + DAY] if option > begin.start)
        return max(final.anchor, begin.start)
    ends = [end for _, end in final.readings if end > begin.start]
    if not ends and begin.granularity == "day":
        return final.end + 7 * DAY * (1 + (begin.start - final.end) // (7 * DAY))
    return min(ends, default=begin.end)


def _bounded(phrase: TimePhrase, group: AtomGroup, source: ParseInput) -> TimePhrase:
    """Apply "end of", and open the interval on one side after "since", "until", "by", "before" or "after"."""
    if edge := _EDGE.search(source.low, _back(group.first), group.first):
        phrase = _edge(phrase, edge["edge"], edge.start(), source)
    if phrase.kind in ("duration", "recurrence") or phrase.form in ("ahead", "window"):
        return phrase
    limit = phrase.first if edge else group.first
    match = _BOUND.search(source.low, _back(limit), limit)
    onwards = _ONWARDS.match(source.low, phrase.last)
    word = match["word"] if match else ""
    bound = _BOUNDS.get(word, "since" if onwards or word.startswith(("starting", "as of")) else "")
    if not bound or not (match or onwards):
        return phrase
    first = match.start() if match else phrase.first
    last = onwards.end() if onwards else phrase.last
    readings = list(phrase.readings)
    if bound == "since" and not onwards:  # what began: "since Tuesday" is not about the coming one
        readings = [reading for reading in readings if reading[0] <= source.now] or readings
    direction = phrase.direction
    if bound in ("until", "by", "since"):
        direction = "past" if bound == "since" and readings[0][0] <= source.now else "future"
    opened = list(dict.fromkeys(_opened(reading, bound, phrase, source.now) for reading in readings))
    if bound in ("until", "by"):
        opened = [interval for interval in opened if interval[1] > source.now] or opened
    return replace(
        phrase,
        first=first,
        last=last,
        text=source.text[first:last],
        start=opened[0][0],
        end=opened[0][1],
        anchor=phrase.anchor if readings[0] == phrase.interval else readings[0][0],
        direction=direction,
        kind="span",
        bound=bound,
        alternatives=tuple(opened[1:]),
    )


def _opened(interval: Interval, bound: Bound, phrase: TimePhrase, now: datetime) -> Interval:
    """The interval that a bound makes of a reading: "by Thursday" is from now to the end of Thursday."""
    start, end = interval
    ever, never = datetime.min.replace(tzinfo=now.tzinfo), datetime.max.replace(tzinfo=now.tzinfo)
    exact = phrase.kind == "point"
    match bound:
        case "since":
            return start, now if start < now else never
        case "until" | "by":
            limit = start if exact else end
            return now if limit > now else ever, limit
        case "before":
            return now if start > now and phrase.direction == "future" else ever, start
        case _:
            return start if exact else end, never


def _edge(phrase: TimePhrase, edge: str, first: int, source: ParseInput) -> TimePhrase:
    start, end = edge_of(phrase.interval, edge)
    return replace(
        phrase,
        first=first,
        text=source.text[first : phrase.last],
        start=start,
        end=end,
        anchor=start,
        granularity="day"
        if phrase.granularity in ("day", "week")
        else "week"
        if phrase.granularity == "month"
        else "month",
        alternatives=(),
    )
