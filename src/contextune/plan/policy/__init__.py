"""Decide whether a planned call is made, confirmed, asked about or refused."""

from contextune.plan.policy.cost import COSTS, Cost, call_cost
from contextune.plan.policy.policy import Policy
from contextune.plan.policy.readings import Readings, ReadingsPlanner, read_request
from contextune.tools.profiles.effects import EFFECTS, Effect, ToolEffect, tool_effect

__all__ = [
    "COSTS",
    "EFFECTS",
    "Cost",
    "Effect",
    "Policy",
    "Readings",
    "ReadingsPlanner",
    "ToolEffect",
    "call_cost",
    "read_request",
    "tool_effect",
]
