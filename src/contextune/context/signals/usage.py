"""Usage: how, when and where the user has turned to an item before now."""

from collections import Counter
from datetime import datetime

import numpy as np

from contextune.context.signals.columns import NOWHERE, Numbers, moment, part_of_day
from contextune.context.signals.scene import Columns, Floats, Scene, signed_log1p, spread_features

_WEEKEND = 5
_AN_HOUR_OR_TWO = 4.5
_ELSEWHERE, _OTHER_DAYS = 0.3, 0.5
_MOST = 0.6
_OVERDUE = 24.0
"""Gaps after which being due says no more."""
_HALF_LIFE = 24.0 * 10
"""Hours after which a use counts half, so that a new habit takes the place of an old one."""

FEATURES = {
    **spread_features("usage.count", "number of uses"),
    **spread_features("usage.lately", "uses, one of ten days ago counting half"),
    **spread_features("usage.here", "the same, of uses where the user is"),
    **spread_features("usage.part", "the same, of uses in this part of the day"),
    **spread_features("usage.days", "the same, of uses on such days: weekdays, or the weekend"),
    **spread_features("usage.weekday", "the same, of uses on this weekday"),
    **spread_features("usage.here and part", "the same, of uses here in this part of the day"),
    **spread_features("usage.habit", "the same, weighed by how near their hour, place and day are to now"),
    "usage.share here": "share of its uses made where the user is",
    "usage.share part": "share of its uses made in this part of the day",
    "usage.share weekday": "share of its uses made on this weekday",
    "usage.share of all": "share of all uses that are of this item",
    "usage.last": "hours since the last use, squeezed, negative",
    "usage.unopened": "1 if it was never used",
    "usage.rhythm": "how even the gaps between its uses are: 0 like clockwork, 1 and more at random",
    "usage.due": "hours since the last use over the usual gap",
    "usage.with recent": "uses within an hour of a use of what was used last",
}


def measure(scene: Scene) -> Columns:
    """The features of this family."""
    uses, now = scene.own, scene.now
    fresh = 0.5 ** ((scene.hour - uses.time) / _HALF_LIFE)
    here = (uses.place == scene.here) & (scene.here != NOWHERE)
    part = _part(uses.hour) == _part(np.array([now.hour]))[0]
    days = (uses.weekday >= _WEEKEND) == (now.weekday() >= _WEEKEND)
    weekday = uses.weekday == now.weekday()
    apart = np.abs(uses.hour - now.hour)
    apart = np.minimum(apart, 24 - apart)
    habit = np.exp(-(apart**2) / _AN_HOUR_OR_TWO)
    habit = habit * np.where(here, 1, _ELSEWHERE) * np.where(days, 1, _OTHER_DAYS)
    count, lately = scene.count(), scene.count(fresh)
    some = np.maximum(lately, 1e-9)
    at_here, at_part, at_weekday = (scene.count(fresh * which) for which in (here, part, weekday))
    return {
        **scene.spread(
            {
                "usage.count": count,
                "usage.here": at_here,
                "usage.part": at_part,
                "usage.days": scene.count(fresh * days),
                "usage.weekday": at_weekday,
                "usage.here and part": scene.count(fresh * (here & part)),
                "usage.habit": scene.count(fresh * habit),
                "usage.lately": lately,
            }
        ),
        "usage.share here": at_here / some,
        "usage.share part": at_part / some,
        "usage.share weekday": at_weekday / some,
        "usage.share of all": count / max(1.0, float(count.sum())),
        "usage.unopened": (count == 0).astype(np.float64),
        **_rhythm(scene),
        "usage.with recent": _with_recent(scene),
    }


def why(scene: Scene, number: int) -> str | None:
    """How often, and when and where mostly; and that this is such a time or place."""
    mine = scene.own.item == number
    if not mine.any():
        return None
    item = scene.items[number]
    verb = item.schema.verb
    count = int(mine.sum())
    words = [f"{verb} {count} times" if count > 1 else f"{verb} once"]
    moments = [moment(float(t)) for t in scene.own.time[mine]]
    days, parts = _usual_days(moments), _usual_part(moments)
    if days:
        words.append(f"on {days} {parts}" if parts else f"on {days}s")
    elif parts:
        words.append("at night" if parts == "nights" else f"in the {parts}")
    place, often = Counter(map(int, scene.own.place[mine])).most_common(1)[0]
    if place != NOWHERE and often >= _MOST * count:
        words.append(f"at {scene.facts.places[place].replace('_', ' ')}")
        if place == scene.here:
            return f"{' '.join(words)}; you are there now"
    return " ".join(words)


def _usual_days(moments: list[datetime]) -> str:
    """Such as "weekday", where all uses fall on such days and there are enough to say so."""
    if len(moments) <= 1:
        return ""
    weekend = {moment.weekday() >= _WEEKEND for moment in moments}
    if len({moment.weekday() for moment in moments}) == 1:
        return moments[0].strftime("%A")
    return "" if len(weekend) > 1 else ("weekend" if weekend.pop() else "weekday")


def _usual_part(moments: list[datetime]) -> str:
    name, often = Counter(map(part_of_day, moments)).most_common(1)[0]
    return f"{name}s" if often >= _MOST * len(moments) else ""


def _part(hour: Numbers) -> Numbers:
    return np.searchsorted([5, 12, 17, 22], hour, side="right") % 4


def _rhythm(scene: Scene) -> Columns:
    """From the first two moments of the gaps, so that no loop over items is needed."""
    last = np.full(len(scene.rows), np.nan)
    of, time = scene.own.item, scene.own.time
    order = np.lexsort((time, of))
    of, time = of[order], time[order]
    last[of] = time  # in order of time, so the latest stays
    gap = np.diff(time)
    inside = np.flatnonzero(np.diff(of) == 0)
    gaps, owner = gap[inside], of[inside]
    n = np.bincount(owner, minlength=len(scene.rows))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(owner, gaps, len(scene.rows)) / n
        spread = np.sqrt(np.maximum(np.bincount(owner, gaps**2, len(scene.rows)) / n - mean**2, 0))
        rhythm = np.where(n >= 2, spread / np.maximum(mean, 1), np.nan)  # two gaps at least
        overdue = np.where(n >= 1, (scene.hour - last) / np.maximum(mean, 1), np.nan)
    return {
        "usage.last": signed_log1p(last - scene.hour),
        "usage.rhythm": rhythm,
        "usage.due": np.minimum(overdue, _OVERDUE),
    }


def _with_recent(scene: Scene) -> Floats:
    """What usually goes with what was used last, if that was within the hour."""
    uses, own = scene.uses, scene.own
    if not len(uses.time) or scene.hour - uses.time[-1] > 1:
        return np.zeros(len(scene.rows))
    moments = uses.time[uses.item == uses.item[-1]]
    place = np.searchsorted(moments, own.time)
    before = np.abs(own.time - moments[np.maximum(place - 1, 0)])
    after = np.abs(own.time - moments[np.minimum(place, len(moments) - 1)])
    near = (np.minimum(before, after) <= 1) & (scene.rows[own.item] != uses.item[-1])
    return scene.count(near)
