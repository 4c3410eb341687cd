"""How probable a model's call is, from its agreement with another planner.

A language model does not say how sure it is, and what it says of itself is not calibrated. The other
planner's readings are: they are the prior, and the model's call is evidence for one of them, as strong as the
model's `trust`, the share of its calls that are right.
"""

from collections.abc import Mapping
from dataclasses import replace

from contextune.plan.policy.readings import Readings
from contextune.plan.schema import tool_parameters
from contextune.types import Argument, Plan, Tool

_EPSILON = 1e-9
_LEAST_NONE = 0.1
"""Probability that no tool serves, before a model says so, if the other planner excludes it."""


def weigh_plan(plan: Plan, tool: Tool, readings: Readings, trust: float) -> Readings:
    """The model's call as first reading, then those of the other planner, with their new probabilities."""
    same = next((reading for reading in readings.plans if is_same_call(plan, reading, tool)), None)
    others = [reading for reading in readings.plans if reading is not same]
    unlisted = max(0.0, 1.0 - sum(reading.confidence for reading in readings.plans))
    supported = trust * (unlisted if same is None else same.confidence)
    total = supported + (1 - trust) * (unlisted + sum(reading.confidence for reading in others)) + _EPSILON
    sure = min(supported / total, 1.0 - readings.none)
    weighed = [replace(reading, confidence=(1 - trust) * reading.confidence / total) for reading in others]
    compared = same or next((reading for reading in others if reading.tool == plan.tool), None)
    arguments = _argument_confidences(plan, compared.arguments if compared else {}, trust)
    return Readings((replace(plan, arguments=arguments, confidence=sure), *weighed), readings.none)


def weigh_refusal(readings: Readings, trust: float) -> Readings:
    """The readings after the model has said that no tool serves."""
    none = max(readings.none, _LEAST_NONE)
    doubtful = (1 - trust) * (1 - none)
    refused = trust * none / (trust * none + doubtful + _EPSILON)
    share = (1 - refused) / (1 - none + _EPSILON)
    plans = tuple(
        replace(reading, confidence=min(1.0, reading.confidence * share)) for reading in readings.plans
    )
    return replace(readings, plans=plans, none=refused)


def is_same_call(plan: Plan, other: Plan, tool: Tool) -> bool:
    """Whether two plans are the same call: free texts may be worded differently, optional values differ."""
    if plan.tool != other.tool:
        return False
    return all(
        _values(plan, parameter.name) == _values(other, parameter.name)
        if parameter.kind not in ("free", "other")
        else (parameter.name in plan.arguments) == (parameter.name in other.arguments)
        for parameter in tool_parameters(tool)
        if parameter.required
    )


def _values(plan: Plan, name: str) -> list[object]:
    return [plan.arguments[name].value] if name in plan.arguments else []


def _argument_confidences(plan: Plan, others: Mapping[str, Argument], trust: float) -> dict[str, Argument]:
    """Values on which the planners agree are as sure as the other planner is, the rest as the model is."""
    return {
        name: replace(
            argument,
            confidence=others[name].confidence
            if name in others and others[name].value == argument.value
            else trust,
        )
        for name, argument in plan.arguments.items()
    }
