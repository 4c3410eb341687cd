"""State: missed or answered, open or done, sent or received."""

import numpy as np

from contextune.signals.scene import Columns, Scene

_STATES = (
    ("direction", "missed"),
    ("direction", "incoming"),
    ("direction", "outgoing"),
    ("status", "open"),
    ("status", "done"),
    ("status", "tentative"),
    ("folder", "sent"),
)
_WORTH_SAYING = {"missed": "a missed call", "open": "still open", "tentative": "not confirmed yet"}

FEATURES = {
    **{f"state.{value}": f"1 if the item's {name} is {value}" for name, value in _STATES},
    "state.talk": "seconds a call lasted",
    "state.unread": "1 if a mail came in and was never opened",
}


def measure(scene: Scene) -> Columns:
    """The features of this family."""
    fields = [item.fields for item in scene.items]
    flags = {
        f"state.{value}": np.array([str(f.get(name, "")).casefold() == value for f in fields], np.float64)
        for name, value in _STATES
    }
    received = np.array([item.app == "Mail" for item in scene.items]) & (flags["state.sent"] == 0)
    return {
        **flags,
        "state.talk": np.array([_number(f.get("duration_s")) for f in fields]),
        "state.unread": (received & (scene.count() == 0)).astype(np.float64),
    }


def why(scene: Scene, number: int) -> str | None:
    """A state worth saying."""
    fields = scene.items[number].fields
    values = {str(fields.get(name, "")).casefold() for name, _ in _STATES}
    return next((words for value, words in _WORTH_SAYING.items() if value in values), None)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else np.nan
