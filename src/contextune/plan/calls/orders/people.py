"""Ask about people whom an order leaves open: a role that several contacts have, or nobody who is stored.

A planner takes the nearest contact. If the request says whom it means, and that is not one contact, the
user is asked: among those who are meant, or for somebody else.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from contextune.plan.calls.orders.tool_kinds import calls_person, sends_message
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.people.named_people import called_role
from contextune.plan.pointer.people.unknown_people import addressed_stranger, called_stranger
from contextune.plan.pointer.text.free_text import clarifying_question
from contextune.plan.pointer.values.argument_words import PEOPLE
from contextune.plan.pointer.values.candidates import contact_value
from contextune.plan.policy.readings import Readings
from contextune.plan.schema import Parameter, tool_parameters
from contextune.types import Argument, Missing, Plan, Source, Tool

_SHARED = 0.6
"""Probability that the contacts of one role share."""


def settle_people(readings: Readings, inputs: PlanningInput, tools: Mapping[str, Tool]) -> Readings:
    """The readings, or those that ask whom the request means; `tools` by id."""
    if people := called_role(inputs):
        return _offer(people, readings, inputs, tools)
    if (stranger := called_stranger(inputs)) is not None:
        return _ask_for(stranger, calls_person, readings, tools)
    if (stranger := addressed_stranger(inputs)) is not None:
        return _ask_for(stranger, sends_message, readings, tools)
    return readings


def _offer(
    people: list[int], readings: Readings, inputs: PlanningInput, tools: Mapping[str, Tool]
) -> Readings:
    """One reading for each of the people."""
    plan = _plan_of(calls_person, readings, tools)
    if plan is None:
        return readings
    parameter = _person(tools[plan.tool])
    contacts = [inputs.user.contacts[number] for number in people]
    plans = [
        replace(
            plan,
            arguments={
                **plan.arguments,
                parameter.name: Argument(
                    contact_value(contact, parameter),
                    (Source("contact", contact.name, words=contact.relation or ""),),
                ),
            },
            missing=tuple(missing for missing in plan.missing if missing.argument != parameter.name),
        )
        for contact in contacts
    ]
    return Readings.from_pairs([(plan, _SHARED / len(plans)) for plan in plans])


def _ask_for(
    stranger: str, accepts: Callable[[Tool], bool], readings: Readings, tools: Mapping[str, Tool]
) -> Readings:
    """The reading without the person, who is not known."""
    plan = _plan_of(accepts, readings, tools)
    if plan is None:
        return readings
    parameter = _person(tools[plan.tool])
    arguments = {name: argument for name, argument in plan.arguments.items() if name != parameter.name}
    others = tuple(missing for missing in plan.missing if missing.argument != parameter.name)
    missing = Missing(parameter.name, clarifying_question(parameter), stranger)
    return Readings((replace(plan, arguments=arguments, missing=(missing, *others)),))


def _plan_of(accepts: Callable[[Tool], bool], readings: Readings, tools: Mapping[str, Tool]) -> Plan | None:
    """The first reading with such a tool that takes a person, else an empty call of one."""
    accepted = [tool for tool in tools.values() if accepts(tool) and _people(tool)]
    ids = {tool.id for tool in accepted}
    plan = next((plan for plan in readings.plans if plan.tool in ids), None)
    if plan is not None or not accepted:
        return plan
    tool = accepted[0]
    missing = (Missing(p.name, clarifying_question(p)) for p in tool_parameters(tool) if p.required)
    best = max((plan.confidence for plan in readings.plans), default=0.0)
    return Plan(tool.id, {}, best, tuple(missing), tool.name)


def _people(tool: Tool) -> list[Parameter]:
    return [p for p in tool_parameters(tool) if p.required and p.kind == "text" and PEOPLE & {*p.words}]


def _person(tool: Tool) -> Parameter:
    return _people(tool)[0]
