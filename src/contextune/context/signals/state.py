"""Feature family `state`: missed or answered, open or done, sent or received."""

import numpy as np

from contextune.context.signals.scene import FeatureColumns, Scene
from contextune.types.app_schema import known_app

_STATES = (
    ("direction", "missed"),
    ("direction", "incoming"),
    ("direction", "outgoing"),
    ("status", "open"),
    ("status", "done"),
    ("status", "tentative"),
    ("folder", "sent"),
)
_REASONS = {"missed": "a missed call", "open": "still open", "tentative": "not confirmed yet"}

FEATURES = {
    **{f"state.{value}": f"1 if the item's {field} is “{value}”" for field, value in _STATES},
    "state.talk": "duration of the call in seconds",
    "state.unread": "1 if the item is a received mail that was never opened",
}


def compute(scene: Scene) -> FeatureColumns:
    """The values of all features, one per candidate."""
    columns, rows = scene.item_columns, scene.rows
    states = {field: values[rows] for field, values in columns.states.items()}
    flags = {f"state.{value}": (states[field] == value).astype(np.float64) for field, value in _STATES}
    mail = np.array([known_app(app) == "Mail" for app in columns.apps], np.bool_)
    received = mail[scene.app] & (flags["state.sent"] == 0)
    return {
        **flags,
        "state.talk": columns.duration_s[rows],
        "state.unread": (received & (scene.count_uses() == 0)).astype(np.float64),
    }


def explain(scene: Scene, number: int) -> str | None:
    """The state, if it is a notable one."""
    fields = scene.items[number].fields
    values = {str(fields.get(name, "")).casefold() for name, _ in _STATES}
    return next((reason for value, reason in _REASONS.items() if value in values), None)
