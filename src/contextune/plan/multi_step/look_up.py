"""Find an id that nobody says by another tool: "close the issue about the slow login" searches it first.

A call may lack a required id that neither the request nor an item has, while another tool of the same
server finds such things. Then the plan has two steps: the search, and the call, whose id is a `Pointer`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from contextune.errors import PlanError
from contextune.plan.multi_step.link import LISTING_VERBS, tool_nouns
from contextune.plan.multi_step.steps import Path, Pointer, Steps, check_steps
from contextune.plan.policy import Policy, Readings
from contextune.plan.schema import Parameter, is_id, tool_parameters
from contextune.plan.words import folded_words
from contextune.search.tokenize import identifier_words
from contextune.tools.profiles.effects import tool_effect
from contextune.types import Argument, Plan, Source, Tool

_MOST = 3
"""Tools that are tried, best first."""
PlanWith = Callable[[Tool], Plan | None]
"""Plans a call of one tool for the same request."""


def look_up_id(
    plan: Plan,
    text: str,
    tools: Iterable[Tool],
    plan_with: PlanWith,
    policy: Policy,
    find_tool: Callable[[str], Tool],
) -> Steps | None:
    """The search for the only missing argument and the call; None if it is no id or no tool finds it."""
    tool = find_tool(plan.tool)
    if plan.decision == "none" or len(plan.missing) != 1:
        return None
    name = plan.missing[0].argument
    wanted = next((each for each in tool_parameters(tool) if each.name == name and is_id(each)), None)
    if wanted is None:
        return None
    for finder in _finders(wanted, tool, tools)[:_MOST]:
        first = plan_with(finder)
        if first is None or first.missing or first.tool != finder.id:
            continue
        # the first of several may be the wrong one, so that a call that changes something takes the only one
        path: Path = (0, name) if tool_effect(tool).only_reads else (name,)
        argument = Argument(Pointer(0, path), (Source("step", field=name),))
        ordered = [each.name for each in tool_parameters(tool)]
        given = {**plan.arguments, name: argument}
        arguments = {each: given[each] for each in ordered if each in given}
        second = replace(plan, arguments=arguments, missing=(), decision=None, question=None)
        readings = replace(Readings.of_plan(second), shows_first=True)
        decided = policy.decide(readings, find_tool)
        if decided is None:
            continue
        try:
            return check_steps(Steps((first, decided), (text, text)), find_tool)
        except PlanError:  # a schema may forbid the combination of arguments that the id completes
            continue
    return None


def _finders(wanted: Parameter, tool: Tool, tools: Iterable[Tool]) -> list[Tool]:
    """The tools of the same server that only read and list what the id is of, those that name ids first."""
    things = _things(wanted, tool)
    found = [
        other
        for other in tools
        if other.app == tool.app
        and other.id != tool.id
        and things & tool_nouns(other)
        and LISTING_VERBS & {*identifier_words(other.name), *identifier_words(other.description)}
        and tool_effect(other).only_reads
        and not any(each.required and is_id(each) for each in tool_parameters(other))
    ]
    return sorted(found, key=lambda other: (not _names_ids(other), len(tool_nouns(other) - things)))


def _things(wanted: Parameter, tool: Tool) -> frozenset[str]:
    """What an id is of: by its own name, "id of the …" in its description, or else by its tool."""
    own = frozenset(folded_words(" ".join(wanted.words[:-1])))
    if own:
        return own
    words: Sequence[str] = folded_words(wanted.description)
    if "of" in words:
        own = frozenset(words[words.index("of") + 1 :][:3]) & tool_nouns(tool)
    return own or tool_nouns(tool)


def _names_ids(tool: Tool) -> bool:
    return not {"id", "ids"}.isdisjoint(identifier_words(tool.description))
