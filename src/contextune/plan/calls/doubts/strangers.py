"""Doubts of calls that rest on a name that a stranger chose: a caller without a number, an invitation."""

from collections.abc import Collection

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.calls.orders.tool_kinds import calls_number, calls_person, returns_call
from contextune.plan.calls.used_data import reached_people
from contextune.plan.lures import is_by_stranger
from contextune.plan.planning_input import PlanningInput
from contextune.search.tokenize import identifier_words, tokenize
from contextune.types import Plan, Tool

_MIN_DIGITS = 3
"""Digits of the shortest number that can be dialled: 112."""

_SEVERAL = frozenset(["all", "every", "everything", "everyone", "everybody", "each", "both"])


def dials_no_number(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It calls somebody of whom no number is known: an event "Dentist", or a caller of that name."""
    is_call = calls_person(tool) or calls_number(tool) or returns_call(tool)
    if not is_call or not plan.arguments or reached_people(plan, inputs):
        return False
    if any(sum(map(str.isdigit, str(value))) >= _MIN_DIGITS for value in plan.args.values()):
        return False
    numbered = {item.id for item in inputs.items if item.fields.get("number")}
    used = {source.item for argument in plan.arguments.values() for source in argument.sources}
    return numbered.isdisjoint(used)


def own_titles(plan: Plan, tool: Tool, inputs: PlanningInput, several: Collection[str]) -> list[str]:
    """The values from items that no stranger has sent: only those may say "all" and mean one item.

    `several` are the words of the request that say so. A title such as "Cancel it all", which has no word of
    its own, names no item, whoever wrote it.
    """
    strange = {item.id for item in inputs.items if is_by_stranger(item, inputs.people)}
    order = STOP_WORDS | _SEVERAL | {*several, *identifier_words(tool.name)}
    return [
        str(argument.value)
        for argument in plan.arguments.values()
        if any(source.kind == "item" and source.item not in strange for source in argument.sources)
        and not all({word, word.removesuffix("s")} & order for word in tokenize(str(argument.value)))
    ]
