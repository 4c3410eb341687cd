"""From context and tools to a checked API call."""

from contextune.plan.base import Planner
from contextune.plan.match import Expected, Verdict, judge
from contextune.plan.pointer import PointerPlanner
from contextune.plan.schema import check, faults, parameters
from contextune.plan.scorer import ArgumentScorer, default_scorer
from contextune.plan.situation import Situation

__all__ = [
    "ArgumentScorer",
    "Expected",
    "Planner",
    "PointerPlanner",
    "Situation",
    "Verdict",
    "check",
    "default_scorer",
    "faults",
    "judge",
    "parameters",
]
