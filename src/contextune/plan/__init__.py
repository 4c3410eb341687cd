"""From context and tools to a checked API call."""

from contextune.plan.match import Expected, Verdict, judge
from contextune.plan.schema import check, faults, parameters

__all__ = ["Expected", "Verdict", "check", "faults", "judge", "parameters"]
