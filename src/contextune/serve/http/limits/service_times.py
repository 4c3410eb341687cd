"""Expected duration of a call: a moving average over recent calls of the same name."""

from collections.abc import Mapping

_WEIGHT = 0.1
"""Weight of the latest call."""


class ServiceTimes:
    """Averages by name; not synchronized, the pool's lock protects it."""

    def __init__(self, averages: Mapping[str, float] | None = None) -> None:
        """Start from known averages, by name."""
        self._averages = dict(averages or {})

    def expected(self, name: str) -> float:
        """Seconds that a call of this name will take; 0 before the first one."""
        return self._averages.get(name, 0.0)

    def record(self, name: str, seconds: float) -> None:
        """Count a finished call."""
        before = self._averages.get(name, seconds)
        self._averages[name] = before + _WEIGHT * (seconds - before)
