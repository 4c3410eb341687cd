"""Feature family `usage`: how often, when and where the user has used the item before."""

from collections import Counter
from datetime import datetime

import numpy as np

from contextune.context.signals.columns import NO_PLACE, Numbers, from_hours, part_of_day
from contextune.context.signals.scene import FeatureColumns, Floats, Scene, describe_with_ranks, signed_log1p
from contextune.types import ANYWHERE, COMMUTE

_SATURDAY = 5
_HOUR_VARIANCE = 4.5
_OTHER_PLACE_WEIGHT, _OTHER_DAYS_WEIGHT = 0.3, 0.5
_MOST = 0.6
"""Share of the uses from which a part of the day or a place is called usual."""
_MAX_OVERDUE = 24.0
"""`usage.due` is capped here."""
_HALF_LIFE = 24.0 * 10
"""Hours after which a use counts half, so that a new habit replaces an old one."""

FEATURES = {
    **describe_with_ranks("usage.count", "number of uses"),
    **describe_with_ranks("usage.lately", "number of uses, decayed with a half-life of ten days"),
    **describe_with_ranks("usage.here", "decayed number of uses at the place where the user is"),
    **describe_with_ranks("usage.part", "decayed number of uses in the same part of the day"),
    **describe_with_ranks("usage.days", "decayed number of uses on the same kind of day: weekday or weekend"),
    **describe_with_ranks("usage.weekday", "decayed number of uses on the same weekday"),
    **describe_with_ranks("usage.here and part", "decayed number of uses here in the same part of the day"),
    **describe_with_ranks(
        "usage.habit", "decayed uses, weighted by how close their hour, place and day are to now"
    ),
    "usage.share here": "share of the item's uses at the place where the user is",
    "usage.share part": "share of the item's uses in the same part of the day",
    "usage.share weekday": "share of the item's uses on the same weekday",
    "usage.share of all": "the item's share of all uses of the candidates",
    "usage.last": "hours since the last use, negative (signed log)",
    "usage.unopened": "1 if the item was never used",
    "usage.rhythm": "variation of the time between uses: 0 is perfectly regular, 1 or more is random",
    "usage.due": "time since the last use, as a multiple of the average time between uses",
    "usage.with recent": "number of uses within an hour of a use of the item used last",
}


def compute(scene: Scene) -> FeatureColumns:
    """The values of all features, one per candidate."""
    uses, now = scene.candidate_uses, scene.now
    decay = 0.5 ** ((scene.now_hours - uses.time) / _HALF_LIFE)
    here = (uses.place == scene.here) & (scene.here != NO_PLACE)
    part = _part_code(uses.hour) == _part_code(np.array([now.hour]))[0]
    days = (uses.weekday >= _SATURDAY) == (now.weekday() >= _SATURDAY)
    weekday = uses.weekday == now.weekday()
    distance = np.abs(uses.hour - now.hour)
    distance = np.minimum(distance, 24 - distance)
    habit = np.exp(-(distance**2) / _HOUR_VARIANCE)
    habit = habit * np.where(here, 1, _OTHER_PLACE_WEIGHT) * np.where(days, 1, _OTHER_DAYS_WEIGHT)
    count, lately = scene.count_uses(), scene.count_uses(decay)
    divisor = np.maximum(lately, 1e-9)
    uses_here, uses_part, uses_weekday = (scene.count_uses(decay * mask) for mask in (here, part, weekday))
    return {
        **scene.with_ranks(
            {
                "usage.count": count,
                "usage.here": uses_here,
                "usage.part": uses_part,
                "usage.days": scene.count_uses(decay * days),
                "usage.weekday": uses_weekday,
                "usage.here and part": scene.count_uses(decay * (here & part)),
                "usage.habit": scene.count_uses(decay * habit),
                "usage.lately": lately,
            }
        ),
        "usage.share here": uses_here / divisor,
        "usage.share part": uses_part / divisor,
        "usage.share weekday": uses_weekday / divisor,
        "usage.share of all": count / max(1.0, float(count.sum())),
        "usage.unopened": (count == 0).astype(np.float64),
        **_rhythm_features(scene),
        "usage.with recent": _uses_with_recent(scene),
    }


def explain(scene: Scene, number: int) -> str | None:
    """How often the item was used, and mostly when and where."""
    mask = scene.candidate_uses.item == number
    if not mask.any():
        return None
    verb, count = scene.items[number].schema.verb, int(mask.sum())
    times = [from_hours(float(time)) for time in scene.candidate_uses.time[mask]]
    place, place_count = Counter(map(int, scene.candidate_uses.place[mask])).most_common(1)[0]
    details = [_usual_time(times)]
    if place != NO_PLACE and place_count >= _MOST * count:
        details.append(_place_phrase(scene.item_columns.places[place], current=place == scene.here))
    if not any(details):
        return f"{verb} {count} times" if count > 1 else f"{verb} once"
    when_and_where = " ".join(filter(None, details))
    return f"{verb} {count} times, mostly {when_and_where}" if count > 1 else f"{verb} once, {when_and_where}"


def _usual_time(times: list[datetime]) -> str:
    """Such as "on weekday mornings", "on Sundays" or "at night"; empty if there is no pattern."""
    days, part = _usual_days(times), _usual_part(times)
    if days:
        return f"on {days} {part}s" if part else f"on {days}s"
    if part == "night":
        return "at night"
    plural = "s" if len(times) > 1 else ""
    return f"in the {part}{plural}" if part else ""


def _usual_days(times: list[datetime]) -> str:
    """Such as "weekday" or "Sunday" if all of several uses are on such days."""
    if len(times) <= 1:
        return ""
    weekend = {time.weekday() >= _SATURDAY for time in times}
    if len({time.weekday() for time in times}) == 1:
        return times[0].strftime("%A")
    return "" if len(weekend) > 1 else ("weekend" if weekend.pop() else "weekday")


def _usual_part(times: list[datetime]) -> str:
    part, count = Counter(map(part_of_day, times)).most_common(1)[0]
    return part if count >= _MOST * len(times) else ""


def _place_phrase(place: str, *, current: bool) -> str:
    if place == ANYWHERE:
        return ""
    if place == COMMUTE:
        return "while commuting, as you are now" if current else "while commuting"
    return f"at {place.replace('_', ' ')}, where you are now" if current else f"at {place.replace('_', ' ')}"


def _part_code(hour: Numbers) -> Numbers:
    return np.searchsorted([5, 12, 17, 22], hour, side="right") % 4


def _rhythm_features(scene: Scene) -> FeatureColumns:
    """Mean and deviation of the gaps between uses, without a loop over items."""
    last = np.full(len(scene.rows), np.nan)
    item, time = scene.candidate_uses.item, scene.candidate_uses.time
    order = np.lexsort((time, item))
    item, time = item[order], time[order]
    last[item] = time  # ordered by time, so the last assignment wins
    same_item = np.flatnonzero(np.diff(item) == 0)
    gaps, owner = np.diff(time)[same_item], item[same_item]
    n = np.bincount(owner, minlength=len(scene.rows))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(owner, gaps, len(scene.rows)) / n
        deviation = np.sqrt(np.maximum(np.bincount(owner, gaps**2, len(scene.rows)) / n - mean**2, 0))
        rhythm = np.where(n >= 2, deviation / np.maximum(mean, 1), np.nan)
        overdue = np.where(n >= 1, (scene.now_hours - last) / np.maximum(mean, 1), np.nan)
    return {
        "usage.last": signed_log1p(last - scene.now_hours),
        "usage.rhythm": rhythm,
        "usage.due": np.minimum(overdue, _MAX_OVERDUE),
    }


def _uses_with_recent(scene: Scene) -> Floats:
    """Uses close to those of the item used last; 0 if that was more than an hour ago."""
    uses, own = scene.uses, scene.candidate_uses
    if not len(uses.time) or scene.now_hours - uses.time[-1] > 1:
        return np.zeros(len(scene.rows))
    times = uses.time[uses.item == uses.item[-1]]
    position = np.searchsorted(times, own.time)
    before = np.abs(own.time - times[np.maximum(position - 1, 0)])
    after = np.abs(own.time - times[np.minimum(position, len(times) - 1)])
    near = (np.minimum(before, after) <= 1) & (scene.rows[own.item] != uses.item[-1])
    return scene.count_uses(near)
