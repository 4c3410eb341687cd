"""Which half of the day a clock time without am or pm means: "at seven" is in the morning or in the evening.

Nobody meets at three at night, and an evening class that is moved to eight stays in the evening. Where
neither the hour nor an item tells, both readings are left, and the user is asked.
"""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.request_words import folded_words
from contextune.plan.times.phrases import ClockMention
from contextune.types import Item, local_time

_HOUR, _NOON, _DAY = 60, 12 * 60, 24 * 60
_AFTERNOON = range(1, 6)
"""Hours of the clock that are in the afternoon unless the request is about the night."""
_FORENOON = range(9, 12)
"""Hours that are before noon, unless the request is about the evening or the night."""
_SOON = 6 * 60
"""Without a day, an hour that comes within so many minutes is the one that is meant."""
_NEAR = 2 * 60
"""An item's own hour decides if one reading is within so many minutes of it."""
_WAKING = re.compile(r"\b(?:wake|waking|alarm|get up|getting up)\b", re.IGNORECASE)
_LATE = re.compile(
    r"\b(?:party|drinks|pub|bar|concert|gig|film|movie|cinema|theat(?:re|er)|opera|disco|club|dancing|show)\b",
    re.IGNORECASE,
)
_NIGHT = re.compile(
    r"\b(?:night|airport|flight|fly|take-?off|ferry|shift|sunrise|dawn|milking|nursing|feed)\b", re.IGNORECASE
)
"""What may well be before six in the morning, or long after noon."""


def meant_minutes(clock: ClockMention, inputs: PlanningInput, items: frozenset[int]) -> int | None:
    """The minutes after midnight that a clock time means; None if both halves of the day make sense.

    Args:
        clock: A clock time of the request.
        inputs: What is planned for.
        items: The items that the call is about, by their indexes.
    """
    if clock.certain or len(clock.minutes) != 2:
        return next(iter(clock.minutes), None)
    early, late = min(clock.minutes), max(clock.minutes)
    text = inputs.request.text
    if _WAKING.search(text):
        return early
    hours = {_nearest(hour, early, late) for hour in _usual_minutes(inputs, items)}
    if len(hours) == 1 and (minutes := hours.pop()) is not None:
        return minutes
    if not items and not _says_day(inputs):
        now = inputs.now.hour * _HOUR + inputs.now.minute
        following = min((minutes - now) % _DAY for minutes in (early, late))
        minutes = (now + following) % _DAY
        if following <= _SOON:
            return minutes
        if minutes == early or early // _HOUR not in _AFTERNOON:
            return None
    if _NIGHT.search(text):
        return None
    hour = early // _HOUR
    if _LATE.search(text) and hour > _AFTERNOON[-1]:
        return late
    return late if hour in _AFTERNOON or hour == 0 else early if hour in _FORENOON else None


def other_half(moment: datetime, inputs: PlanningInput, items: frozenset[int]) -> datetime | None:
    """The same clock time in the other half of the day, if the request may mean that as well."""
    minutes = moment.hour * _HOUR + moment.minute
    for clock in inputs.times.clocks:
        if minutes in clock.minutes and meant_minutes(clock, inputs, items) is None:
            other = next(option for option in clock.minutes if option != minutes)
            changed = moment.replace(hour=other // _HOUR, minute=other % _HOUR)
            return changed if changed > inputs.now else changed + timedelta(days=1)
    return None


def _says_day(inputs: PlanningInput) -> bool:
    times = inputs.times
    return bool(times.days or times.day_offsets or times.repeats or times.refers_to_end)


def _usual_minutes(inputs: PlanningInput, items: frozenset[int]) -> Iterator[int]:
    """The hours of the items that the call is about, else of those that the request names."""
    named = [inputs.items[number] for number in sorted(items)]
    if not named:
        words = frozenset(folded_words(inputs.request.text)) - STOP_WORDS
        named = [item for item in inputs.items if _is_named(item, words)]
    for item in named:
        time = item.times.get("start") or item.times.get("due")
        local = local_time(time, inputs.user.zone) if time else None
        if local and (local.hour or local.minute):  # midnight stands for a whole day
            yield local.hour * _HOUR + local.minute


def _is_named(item: Item, words: frozenset[str]) -> bool:
    title = frozenset(folded_words(item.title)) - STOP_WORDS
    return bool(title) and title <= words


def _nearest(usual: int, early: int, late: int) -> int | None:
    """The reading that is near an item's own hour."""
    near = [minutes for minutes in (early, late) if abs(minutes - usual) <= _NEAR]
    return near[0] if len(near) == 1 else None
