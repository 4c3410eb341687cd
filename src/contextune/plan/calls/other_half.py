"""Add the reading in the other half of the day to a call with an open hour: "tomorrow at seven"."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from contextune.plan.calls.used_data import used_ids
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.times.clock_halves import other_half
from contextune.plan.policy.cost import call_cost
from contextune.plan.policy.readings import Readings
from contextune.plan.policy.wording import parse_moment
from contextune.plan.schema import tool_parameters
from contextune.types import Plan, Tool

_CHOSEN, _OTHER = 0.55, 0.4
"""Shares of a call's probability for the chosen half of the day and for the other one: a policy asks."""


def with_other_half(readings: Readings, inputs: PlanningInput, tools: Mapping[str, Tool]) -> Readings:
    """The readings with a second one of the first call, if its hour may be in either half of the day."""
    if not readings.plans or readings.plans[0].missing:
        return readings
    first, *others = readings.plans
    other = _in_other_half(first, tools[first.tool], inputs)
    if other is None:
        return readings
    others = [plan for plan in others if (plan.tool, plan.args) != (other.tool, other.args)]
    plans = [
        replace(first, confidence=_CHOSEN * first.confidence),
        replace(other, confidence=_OTHER * first.confidence),
        *others,
    ]
    return replace(readings, plans=tuple(plans))


def _in_other_half(plan: Plan, tool: Tool, inputs: PlanningInput) -> Plan | None:
    if call_cost(tool) == "read":
        return None
    about = used_ids(plan)
    items = frozenset(number for number, item in enumerate(inputs.items) if item.id in about)
    for parameter in tool_parameters(tool):
        argument = plan.arguments.get(parameter.name)
        moment = parse_moment(argument.value) if argument is not None else None
        if parameter.kind != "moment" or argument is None or not isinstance(moment, datetime):
            continue
        if (changed := other_half(moment, inputs, items)) is not None:
            value = changed.isoformat(timespec="minutes")
            arguments = {**plan.arguments, parameter.name: replace(argument, value=value)}
            return replace(plan, arguments=arguments)
    return None
