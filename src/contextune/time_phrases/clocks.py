"""Clock times: "at 4 pm", "16:30", "half six", "quarter past nine", "at three", "7ish", "1730 hours"."""

import re
from collections.abc import Iterator
from datetime import timedelta

from contextune.time_phrases.number_words import HOUR, HOUR_WORDS, parse_number
from contextune.time_phrases.phrase import ParseInput, TimeAtom

_NOON, _HOUR, _HALF_DAY, _DAY = 12 * 60, 60, 12 * 60, 24 * 60
_EARLY_HOURS = 5 * 60
_WORD = "|".join(sorted(HOUR_WORDS, key=len, reverse=True))
_HALF = r"(?: ?(?P<half>am|pm|a\.m\.|p\.m\.)(?!\w))?"
_START, _END = r"(?:\b|(?<=\dt))", r"(?:\b|(?=[ap]m\b))"
_MINUTE_WORDS = r"five|ten|twenty[- ]five|twenty|\d{1,2}(?= past| minutes)"
_LEAD = "at|around|by|before|till|until|about|for|to|from|after"
_BEFORE = "day|tomorrow|tonight|morning|evening|afternoon|weekend"
_AFTER = (
    "tonight|tomorrow|at night|instead"
    "|in the (?:morning|afternoon|evening)|on (?:mon|tues|wednes|thurs|fri|satur|sun)day"
)
_WEEKDAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)"
_WHOLE_HOUR = rf"(?P<hour>{HOUR})\b(?![:.]?\d)"
_NOT_HOURS = (
    rf"(?![-:.]?\w)(?! (?:o['’ ]?clock|past|to {HOUR}\b|of|hours?|minutes?|mins?|days?|weeks?|months?|years?"
    r"|people|times|and))"
)
_FOUR_DIGITS = r"(?P<h>[01]\d|2[0-3])(?P<m>[0-5]\d)\b(?![+:.,%/-]\d|\+)"
_NO_YEAR = r"(?!19|20)"
_NO_UNIT = (
    r"(?! (?:euros?|eur|dollars?|usd|pounds?|quid|people|steps|words|points|calories|kcal|kg|km|m|metres"
    r"|meters|feet|items|pages|copies|guests|times|units|pieces|grams|g|ml|litres|miles|square)\b)"
)
_SET_END = (
    r"(?=\s*(?:$|[.,;!?]|(?:[ap]m|to|on|in the|to(?:morrow|night|day)|this|every|please|and|so|because)\b))"
)
_PATTERNS: tuple[tuple[float, re.Pattern[str]], ...] = tuple(
    (confidence, re.compile(pattern))
    for confidence, pattern in (
        (0.95, rf"{_START}(?P<h>\d{{1,2}})[:h](?P<m>[0-5]\d){_END}(?!\.\d){_HALF}"),
        (0.6, rf"\b(?P<h>\d{{1,2}})\.(?P<m>[0-5]\d)(?:h\b|{_END})(?!\.\d){_HALF}"),
        (0.97, r"\b(?P<h>\d{1,2}) ?(?P<half>am|pm|a\.m\.|p\.m\.)(?!\w)"),
        (
            0.92,
            rf"\b(?P<part>half past|half|quarter past|quarter to) (?P<hour>{HOUR})\b(?! (?:hour|of)){_HALF}",
        ),
        (0.92, rf"\b(?P<m>{_MINUTE_WORDS})(?: minutes)? (?P<part>past) {_WHOLE_HOUR}"),
        (0.92, rf"(?<!from )(?<!between )\b(?P<m>{_MINUTE_WORDS})(?: minutes)? (?P<part>to) {_WHOLE_HOUR}"),
        (0.7, rf"\b(?P<h>{HOUR}) (?P<m>fifteen|thirty|forty[- ]five)\b(?! (?:minutes|people|seconds))"),
        (0.92, rf"\b{_FOUR_DIGITS} ?(?:hours|hrs|h)\b"),
        (0.9, rf"\b(?:at|around) {_FOUR_DIGITS}{_NO_UNIT}"),
        (0.7, rf"\b(?:by|before|till|until|after) {_NO_YEAR}{_FOUR_DIGITS}{_NO_UNIT}"),
        (0.7, rf"\bfrom {_FOUR_DIGITS}(?= ?(?:to|until|till|-|–) ?\d{{4}}\b)"),
        (0.7, rf"(?<=from \d{{4}} to ){_FOUR_DIGITS}{_NO_UNIT}"),
        (0.7, rf"\b(?:for|me|alarm) (?=0){_FOUR_DIGITS}{_NO_UNIT}"),
        (0.8, rf"\b(?:to(?:day|morrow|night)|{_WEEKDAY}day),? {_NO_YEAR}{_FOUR_DIGITS}{_NO_UNIT}"),
        (0.95, r"\b(?P<part>noon|midday|midnight)\b"),
        (0.95, rf"\b(?P<h>{HOUR}) ?(?:o['’ ]?clock|sharp)\b"),
        (0.9, rf"\b(?P<h>{HOUR})[- ]?ish\b"),
        (
            0.85,
            rf"\b(?P<lead>{_LEAD}) (?P<h>{HOUR})\b{_NOT_HOURS}{_HALF}",
        ),
        (0.85, rf"\b(?:alarm|reminder|wake[- ]up call)(?: me)? for (?P<h>{HOUR})\b{_SET_END}{_HALF}"),
        (0.8, rf"\bfrom (?P<h>{HOUR})(?= (?:to|until|till) (?:{HOUR}|noon|midnight)\b)"),
        (0.8, rf"\b(?P<lead>between) (?P<h>{HOUR})(?= and {HOUR}\b(?! (?:of|\w+s)\b))"),
        (0.8, r"\b(?P<h>\d{1,2})(?= ?(?:-|–|to|and) ?\d{1,2}(?::\d\d)? ?(?:am|pm)\b)"),
        (
            0.85,
            rf"\b(?P<h>{HOUR})(?= (?:{_AFTER}))",
        ),
        (
            0.6,
            rf"(?:{_BEFORE}),? (?:at )?(?P<h>{HOUR})(?=\s*(?:$|[.,;!?:]|instead|in the|sharp))",
        ),
        (0.15, rf"(?:^|[,.;] )(?P<h>{HOUR})(?=\s*(?:$|[.,;!?]))"),
    )
)
_ANY = re.compile(rf"\d|\b(?:{_WORD}|noon|midday|midnight|half|quarter)")
_BETWEEN = re.compile(
    rf"\bbetween {HOUR}(?:[:.]\d\d)?(?: ?(?:am|pm))? and (?P<h>{HOUR})\b(?![:.]\d)(?! (?:of|\w+s)\b){_HALF}"
)
_CUE = re.compile(r"\b(?:at|around|by|before|till|until|about|from|to|after|about)(?: about| around)? $")
_LEADS = {"at": 0.85, "for": 0.3, "to": 0.35, "from": 0.45, "about": 0.5}
_OTHER_LEAD = 0.6
_HALF_PAST = re.compile(
    r"\bhalf past(?! (?:\d|\w+teen|one|two|three|four|five|six|seven|eight|nine|ten|eleven))"
)
_APPROXIMATE = re.compile(r"\b(?:around|about|roughly) (?:a )?$")
_MORNING = re.compile(r"\b(?:morning|breakfast|brunch|dawn|sunrise|before (?:work|school)|a\.m\.)\b")
_EVENING = re.compile(
    r"\b(?:evening|tonight|night|supper|dinner|afternoon|sunset|bedtime|after (?:work|school)|p\.m\.)\b"
)
_MORNING_OR_NOON = re.compile(r"0\d|noon|midday")
_WRITTEN = re.compile(r"\d{1,2}[:.h]\d\d")
_MILITARY = re.compile(r"\d{4}")


def find_clocks(source: ParseInput) -> Iterator[TimeAtom]:
    """Clock times, which may overlap: "quarter past nine" also has "nine"."""
    if not _ANY.search(source.low):
        return
    half_of_text = day_half(source.low)
    for confidence, pattern in (*_PATTERNS, (0.8, _BETWEEN)):
        for match in pattern.finditer(source.low):
            if atom := _clock(source, match, half_of_text, confidence):
                yield atom
    if match := _HALF_PAST.search(source.low):
        past = source.now.replace(minute=30)
        past += timedelta(hours=past <= source.now)
        minutes = past.hour * 60 + 30
        yield TimeAtom(*match.span(), "clock", "minute", 0.8, minutes=(minutes,), written=minutes)


def day_half(low: str) -> int:
    """-1 if a text mentions the morning, 1 later in the day, 0 neither or both."""
    return bool(_EVENING.search(low)) - bool(_MORNING.search(low))


def _clock(source: ParseInput, match: re.Match[str], half_of_text: int, confidence: float) -> TimeAtom | None:
    groups = match.groupdict()
    given = (groups.get("half") or "")[:1]
    minutes = _minutes(groups)
    if minutes is None:
        return None
    part = groups.get("part") or ""
    half = given or {"noon": "p", "midday": "p", "midnight": "a"}.get(part, "")
    half = half or _nearby_half(source.low, match, half_of_text)
    start = match.start("h") if groups.get("h") else match.start()
    options, certain = _options(minutes, half, source.low[start : match.end()])
    before = source.before(start)
    lead = groups.get("lead")
    if lead:
        confidence = 0.9 if given else _LEADS.get(lead, _OTHER_LEAD)
    elif confidence == 0.6 and (given or _CUE.search(before)):
        confidence = 0.92
    exact = minutes % _HOUR != 0 or bool(groups.get("m"))
    return TimeAtom(
        start,
        match.end(),
        "clock",
        "minute" if exact else "hour",
        confidence,
        minutes=options,
        certain=certain,
        given_half=given,
        written=minutes,
        approximate=match.group().endswith("ish") or bool(_APPROXIMATE.search(before)),
    )


def _minutes(groups: dict[str, str | None]) -> int | None:
    """Minutes after midnight as written, without regard to morning and evening."""
    part = groups.get("part") or ""
    if part in ("noon", "midday", "midnight"):
        return 0 if part == "midnight" else _NOON
    hour = int(parse_number(groups.get("h") or groups["hour"] or ""))
    minute = groups.get("m")
    if hour > 24 or (hour > 23 and not minute):
        return None
    extra = int(parse_number(minute)) if minute else 0
    if "half" in part:
        extra = 30
    elif "quarter" in part:
        extra = 15
    if extra > 59:
        return None
    return (hour * _HOUR + (-extra if part.endswith("to") else extra)) % _DAY


def _nearby_half(low: str, match: re.Match[str], half_of_text: int) -> str:
    """Morning ("a"), later ("p") or night ("n"), by the words next to the clock time, else by all words."""
    for near in (low[match.end() : match.end() + 24], low[max(0, match.start() - 18) : match.start()]):
        if here := bool(late := _EVENING.search(near)) - bool(_MORNING.search(near)):
            return "a" if here < 0 else "n" if late and "night" in late.group() else "p"
    return {-1: "a", 1: "n", 0: ""}[half_of_text]


def _options(minutes: int, half: str, words: str) -> tuple[tuple[int, ...], bool]:
    """The times of day that a clock time may mean, best first, and whether there is no doubt."""
    # "0:30" is clear, "quarter to one" is not
    after_midnight = minutes < _HOUR and (words[:1].isdigit() or words == "midnight")
    if minutes >= 13 * _HOUR or after_midnight or _MORNING_OR_NOON.match(words) or _MILITARY.match(words):
        return (minutes,), True
    early, late = minutes % _HALF_DAY, minutes % _HALF_DAY + _HALF_DAY
    if half == "a":
        return (early,), True
    if half in ("p", "n"):
        ambiguous = half == "n" and early < _EARLY_HOURS  # "at night" includes the early hours
        return ((late, early), False) if ambiguous else ((late,), True)
    if _WRITTEN.match(words):
        return (minutes, (minutes + _HALF_DAY) % _DAY), False
    return (late, early), False
