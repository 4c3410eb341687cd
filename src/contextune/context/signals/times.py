"""Time: where an item lies from the moment of the request."""

import numpy as np

from contextune._internal.plural import pluralize
from contextune.context.signals.scene import Columns, Floats, Scene, flat, signed_log1p
from contextune.context.signals.time_phrases import clock_hours, intervals

_FAR = 1e5
_LATE = -0.5
"""An event that began half an hour ago is still the next one to somebody who is late for it."""
_DAYS = 20
_DAY = 24.0

FEATURES = {
    "time.age": "hours since it was made, squeezed, negative",
    "time.to start": "hours until it starts, squeezed, negative once it has",
    "time.to end": "hours until it ends, squeezed",
    "time.to due": "hours until it is due, squeezed, negative when overdue",
    "time.to named": "hours until the time a person would name it by (start, due, made), squeezed",
    "time.distance": "the same without sign",
    "time.distance rank": "how many candidates are nearer in time",
    "time.distance rank in app": "how many of the same application are nearer in time",
    "time.on now": "1 while the event lasts",
    "time.overdue": "1 if it was due before now",
    "time.newer": "how many candidates were made later",
    "time.newer in app": "how many of the same application were made later",
    "time.next in app": "its place among those of its application that lie ahead",
    "time.last in app": "its place among those of its application that lie behind",
    "time.next event": "its place among all events ahead or just begun",
    "time.days": "days between the request's day and the item's, up to twenty either way",
    "time.same weekday": "1 if it falls on the weekday of the request",
    "time.clock": "hours between the clock time of the item and of the request, 0 to 12",
    "time.item hour": "the item's hour of the day",
    "time.now hour": "the request's hour of the day",
    "time.now weekday": "the request's weekday, Monday 0",
    "time.spoken": "1 if the request names a time, such as tonight or Saturday",
    "time.in spoken": "1 if any time of the item lies in what the request names",
    "time.named in spoken": "1 if the time a person would name it by lies in what the request names",
    "time.made in spoken": "1 if it was made in the stretch of time the request names",
    "time.spoken hour": "hours between the item's clock time and the nearest the request names",
    "time.lasting": "hours from start to end",
}


def measure(scene: Scene) -> Columns:
    """The features of this family."""
    made, start, end, due = (scene.until(role) for role in ("made", "start", "end", "due"))
    named = scene.time
    moment = scene.facts.time[scene.rows]
    ahead = np.where(named >= _LATE / 2, -named, -_FAR)
    behind = np.where(named <= 0, named, -_FAR)
    event = np.where(start >= _LATE, -start, -_FAR)
    midnight = np.floor(scene.hour / _DAY) * _DAY
    days = np.floor(moment / _DAY) - midnight / _DAY
    hour = moment % _DAY
    return {
        "time.age": signed_log1p(made),
        "time.to start": signed_log1p(start),
        "time.to end": signed_log1p(end),
        "time.to due": signed_log1p(due),
        "time.to named": signed_log1p(named),
        "time.distance": signed_log1p(np.abs(named)),
        "time.distance rank": scene.rank(-np.abs(named)),
        "time.distance rank in app": scene.rank(-np.abs(named), within=True),
        "time.on now": ((start <= 0) & (end >= 0)).astype(np.float64),
        "time.overdue": (due < 0).astype(np.float64),
        "time.newer": scene.rank(made),
        "time.newer in app": scene.rank(made, within=True),
        "time.next in app": scene.rank(ahead, within=True),
        "time.last in app": scene.rank(behind, within=True),
        "time.next event": np.where(np.isnan(start), np.nan, scene.rank(event)),
        "time.days": np.clip(days, -_DAYS, _DAYS),
        "time.same weekday": (days % 7 == 0).astype(np.float64),
        "time.clock": _clock_distance(hour, scene.hour % _DAY),
        "time.item hour": hour,
        "time.now hour": flat(scene, scene.now.hour),
        "time.now weekday": flat(scene, scene.now.weekday()),
        "time.lasting": end - start,
        **_spoken(scene, hour),
    }


def why(scene: Scene, number: int) -> str | None:
    """How near in time it is, if it is near."""
    start, end, due = (float(scene.until(role)[number]) for role in ("start", "end", "due"))
    if start <= 0 <= end:
        return "it is on now"
    if not np.isnan(start):
        return f"starts in {_spell(start)}" if start >= 0 else f"was {_spell(-start)} ago"
    if not np.isnan(due):
        return f"due in {_spell(due)}" if due >= 0 else f"overdue for {_spell(-due)}"
    made = float(scene.until("made")[number])
    return None if np.isnan(made) else f"from {_spell(-made)} ago"


def _spoken(scene: Scene, hour: Floats) -> Columns:
    spans = [
        ((start - scene.now).total_seconds() / 3600, (end - scene.now).total_seconds() / 3600)
        for start, end in intervals(scene.text, scene.now)
    ]
    clocks = clock_hours(scene.text)

    def within(values: Floats) -> Floats:
        inside = [(start <= values) & (values < end) for start, end in spans]
        return np.any(inside, axis=0).astype(np.float64) if inside else flat(scene, 0)

    every = [within(scene.until(role)) for role in ("made", "start", "due")]
    nearest = [_clock_distance(hour, clock) for clock in clocks]
    return {
        "time.spoken": flat(scene, bool(spans)),
        "time.in spoken": np.maximum.reduce(every),
        "time.named in spoken": within(scene.time),
        "time.made in spoken": every[0],
        "time.spoken hour": np.minimum.reduce(nearest) if nearest else flat(scene, np.nan),
    }


def _clock_distance(hour: Floats, other: float) -> Floats:
    apart = np.abs(hour - other)
    return np.minimum(apart, _DAY - apart)


def _spell(hours: float) -> str:
    for size, name in ((24 * 7, "week"), (24, "day"), (1, "hour")):
        if hours >= 2 * size:
            return pluralize(round(hours / size), name)
    return pluralize(max(1, round(hours * 60)), "minute")
