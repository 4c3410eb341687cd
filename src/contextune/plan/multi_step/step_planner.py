"""Plan the parts of a split request as steps: each uses items and results of the steps before it."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from contextune.errors import PlanError
from contextune.plan.multi_step import link
from contextune.plan.multi_step.anaphora import NO_ANAPHORA, find_anaphora
from contextune.plan.multi_step.steps import Steps, check_steps
from contextune.plan.planning_input import Planner, PlanningInput
from contextune.plan.policy import Policy, read_request
from contextune.plan.policy.doubts import doubt_readings
from contextune.plan.policy.personal_values import guard_readings
from contextune.tools import ToolMatches
from contextune.types import ItemHit, Plan, Request, Tool, Turn

MAX_PART_DOUBT = 0.6
"""A request is split only if no part is more probably than this served by no tool."""

CarryItems = Callable[[Sequence[ItemHit]], list[ItemHit]]
"""The context of a part, with the items of earlier steps that it refers to."""
RetrievePart = Callable[[Request, CarryItems], tuple[PlanningInput, ToolMatches]]
"""The input of the planner and the tools for one part of a request."""


def plan_steps(
    request: Request,
    parts: Sequence[str],
    retrieve: RetrievePart,
    planner: Planner,
    policy: Policy,
    find_tool: Callable[[str], Tool],
) -> Steps | None:
    """One step for each part; None if a part cannot be served by a tool."""
    steps: list[link.PlannedStep] = []
    for position, part in enumerate(parts):
        earlier = (Turn("user", text) for text in parts[:position])
        part_request = replace(request, text=part, history=(*request.history, *earlier))
        references = find_anaphora(part) if steps else NO_ANAPHORA
        planning_input, matches = retrieve(
            part_request,
            lambda hits, references=references: link.carry_items(hits, steps, references),
        )
        hits = link.prefer_capable_tool(matches.hits, part, steps, references)
        if hits[:1] != list(matches.hits[:1]):
            hits = hits[:1]  # planners of calls have an order of their own
        readings = read_request(planner, planning_input, hits, matches.fits)
        if readings.none > MAX_PART_DOUBT:
            return None
        linked: list[Plan] = []
        for reading in readings.plans:
            tool = find_tool(reading.tool)
            reading = link.fill_addressee(reading, tool, planning_input)
            linked.append(link.link_arguments(reading, tool, references, steps, planning_input.people))
        # a call that can take what "it" means is better than one that lacks it
        linked.sort(key=lambda plan: bool(steps and plan.missing))
        readings = replace(readings, plans=tuple(linked))
        guarded = guard_readings(readings, planning_input, find_tool, policy.trusted)
        # a part is too short to tell its language
        doubted = doubt_readings(guarded, planning_input, find_tool, request.text)
        plan = policy.decide(doubted, find_tool)
        if plan is None:
            return None
        if any((plan.tool, plan.args) == (step.plan.tool, step.plan.args) for step in steps):
            return None  # "open the mail and read it to me" asks for the same call twice
        steps.append(link.PlannedStep(plan, find_tool(plan.tool), planning_input.items))
    try:
        plans = policy.decide_steps([step.plan for step in steps], find_tool)
        return check_steps(Steps(plans, tuple(parts)), find_tool)
    except PlanError:  # a schema may forbid the combination of arguments that a pointer completes
        return None
