"""Decide whether a planned call is made, confirmed, asked about or refused."""

from contextune.plan.policy.cost import COSTS, Cost, call_cost
from contextune.plan.policy.policy import Policy
from contextune.plan.policy.readings import Readings, ReadingsPlanner, read_request

__all__ = ["COSTS", "Cost", "Policy", "Readings", "ReadingsPlanner", "call_cost", "read_request"]
