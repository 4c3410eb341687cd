"""State: missed or answered, open or done, sent or received."""

import numpy as np

from contextune.context.signals.scene import Columns, Scene

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
    facts, rows = scene.facts, scene.rows
    states = {name: values[rows] for name, values in facts.states.items()}
    flags = {f"state.{value}": (states[name] == value).astype(np.float64) for name, value in _STATES}
    mail = facts.apps.index("Mail") if "Mail" in facts.apps else -1
    received = (scene.app == mail) & (flags["state.sent"] == 0)
    return {
        **flags,
        "state.talk": facts.lasted[rows],
        "state.unread": (received & (scene.count() == 0)).astype(np.float64),
    }


def why(scene: Scene, number: int) -> str | None:
    """A state worth saying."""
    fields = scene.items[number].fields
    values = {str(fields.get(name, "")).casefold() for name, _ in _STATES}
    return next((words for value, words in _WORTH_SAYING.items() if value in values), None)
