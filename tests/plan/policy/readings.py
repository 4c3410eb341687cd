"""Readings of calls of the bundled toolbox."""

from typing import Any

from contextune.plan.policy import Policy, Readings
from contextune.tools import bundled_toolbox
from contextune.types import Argument, Missing, Plan, Question

TOOLS = {tool.name: tool for tool in bundled_toolbox()}
BY_ID = {tool.id: tool for tool in TOOLS.values()}


def call(name: str, probability: float, *missing: str, **args: Any) -> Plan:
    """A call whose arguments are all certain; `missing` are required arguments without a value."""
    arguments = {key: Argument(value) for key, value in args.items()}
    questions = tuple(Missing(argument, f"Which {argument}?") for argument in missing)
    return Plan(TOOLS[name].id, arguments, probability, questions, name)


def decide(*plans: Plan, none: float = 0.0, policy: Policy | None = None) -> Plan:
    """The decision on readings."""
    plan = (policy or Policy()).decide(Readings(plans, none), BY_ID.__getitem__)
    assert plan is not None
    return plan


def question(*plans: Plan, none: float = 0.0) -> Question:
    """The question that the decision on readings puts to the user."""
    asked = decide(*plans, none=none).question
    assert asked is not None
    return asked
