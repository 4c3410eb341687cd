"""Feature family `times`: distance in time between the request and the item."""

import numpy as np

from contextune._internal.plural import pluralize
from contextune.context.signals.scene import FeatureColumns, Floats, Scene, constant, signed_log1p
from contextune.context.signals.time_phrases import find_clock_hours, find_intervals

_NEVER = 1e5
_STARTED = -0.5
"""An event that began up to half an hour ago still counts as the next one: the user may be late for it."""
_MAX_DAYS = 20
_DAY = 24.0

FEATURES = {
    "time.age": "hours since the item was created, negative (signed log)",
    "time.to start": "hours until the item starts, negative once it has (signed log)",
    "time.to end": "hours until the item ends (signed log)",
    "time.to due": "hours until the item is due, negative if overdue (signed log)",
    "time.to named": "hours until the item's main time: its start, else due, else creation time (signed log)",
    "time.distance": "absolute value of `time.to named`",
    "time.distance rank": "number of candidates closer in time",
    "time.distance rank in app": "number of candidates of the same application closer in time",
    "time.on now": "1 while the event takes place",
    "time.overdue": "1 if the item is overdue",
    "time.newer": "number of candidates created later",
    "time.newer in app": "number of candidates of the same application created later",
    "time.next in app": "rank among upcoming items of the same application, the soonest first",
    "time.last in app": "rank among past items of the same application, the latest first",
    "time.next event": "rank among all events that are upcoming or have just begun, the soonest first",
    "time.days": "days from the day of the request to the day of the item, from -20 to 20",
    "time.same weekday": "1 if the item is on the same weekday as the request",
    "time.clock": "hours between the item's and the request's time of day, from 0 to 12",
    "time.item hour": "the item's hour of the day",
    "time.now hour": "the request's hour of the day",
    "time.now weekday": "the request's weekday, Monday is 0",
    "time.spoken": "1 if the request names a time, such as “tonight” or “Saturday”",
    "time.in spoken": "1 if any time of the item is within the time the request names",
    "time.named in spoken": "1 if the item's main time is within the time the request names",
    "time.made in spoken": "1 if the item was created within the time the request names",
    "time.spoken hour": "hours between the item's time of day and the closest one the request names",
    "time.lasting": "duration from start to end in hours",
}


def compute(scene: Scene) -> FeatureColumns:
    """The values of all features, one per candidate."""
    made, start, end, due = (scene.hours_until(role) for role in ("made", "start", "end", "due"))
    main = scene.hours_until_main_time
    main_time = scene.item_columns.main_time[scene.rows]
    ahead = np.where(main >= _STARTED / 2, -main, -_NEVER)
    behind = np.where(main <= 0, main, -_NEVER)
    event = np.where(start >= _STARTED, -start, -_NEVER)
    midnight = np.floor(scene.now_hours / _DAY) * _DAY
    days = np.floor(main_time / _DAY) - midnight / _DAY
    hour = main_time % _DAY
    nearer, newer, sooner, later, next_event = scene.ranks(-np.abs(main), made, ahead, behind, event)
    return {
        "time.age": signed_log1p(made),
        "time.to start": signed_log1p(start),
        "time.to end": signed_log1p(end),
        "time.to due": signed_log1p(due),
        "time.to named": signed_log1p(main),
        "time.distance": signed_log1p(np.abs(main)),
        "time.distance rank": nearer[0],
        "time.distance rank in app": nearer[1],
        "time.on now": ((start <= 0) & (end >= 0)).astype(np.float64),
        "time.overdue": (due < 0).astype(np.float64),
        "time.newer": newer[0],
        "time.newer in app": newer[1],
        "time.next in app": sooner[1],
        "time.last in app": later[1],
        "time.next event": np.where(np.isnan(start), np.nan, next_event[0]),
        "time.days": np.clip(days, -_MAX_DAYS, _MAX_DAYS),
        "time.same weekday": (days % 7 == 0).astype(np.float64),
        "time.clock": _clock_distance(hour, scene.now_hours % _DAY),
        "time.item hour": hour,
        "time.now hour": constant(scene, scene.now.hour),
        "time.now weekday": constant(scene, scene.now.weekday()),
        "time.lasting": end - start,
        **_named_time_features(scene, hour),
    }


def explain(scene: Scene, number: int) -> str | None:
    """How far away in time the item is."""
    start, end, due = (float(scene.hours_until(role)[number]) for role in ("start", "end", "due"))
    if start <= 0 <= end:
        return "happening now"
    if not np.isnan(start):
        return f"starts in {_duration(start)}" if start >= 0 else f"started {_duration(-start)} ago"
    if not np.isnan(due):
        return f"due in {_duration(due)}" if due >= 0 else f"overdue by {_duration(-due)}"
    made = float(scene.hours_until("made")[number])
    return None if np.isnan(made) else f"from {_duration(-made)} ago"


def _named_time_features(scene: Scene, hour: Floats) -> FeatureColumns:
    """The features that depend on times named in the request."""
    spans = [
        ((start - scene.now).total_seconds() / 3600, (end - scene.now).total_seconds() / 3600)
        for start, end in find_intervals(scene.times_text, scene.now)
    ]

    def within_spans(values: Floats) -> Floats:
        inside = [(start <= values) & (values < end) for start, end in spans]
        return np.any(inside, axis=0).astype(np.float64) if inside else constant(scene, 0)

    made, start, due = (within_spans(scene.hours_until(role)) for role in ("made", "start", "due"))
    distances = [_clock_distance(hour, clock) for clock in find_clock_hours(scene.text)]
    return {
        "time.spoken": constant(scene, bool(spans)),
        "time.in spoken": np.maximum.reduce([made, start, due]),
        "time.named in spoken": within_spans(scene.hours_until_main_time),
        "time.made in spoken": made,
        "time.spoken hour": np.minimum.reduce(distances) if distances else constant(scene, np.nan),
    }


def _clock_distance(hour: Floats, other: float) -> Floats:
    distance = np.abs(hour - other)
    return np.minimum(distance, _DAY - distance)


def _duration(hours: float) -> str:
    for size, name in ((24 * 7, "week"), (24, "day"), (1, "hour")):
        if hours >= 2 * size:
            return pluralize(round(hours / size), name)
    return pluralize(max(1, round(hours * 60)), "minute")
