"""Reasons to doubt a call that come from the form of the request: reported speech, a second order."""

from dataclasses import replace

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.calls.coverage import argument_stems, stem, text_stems, tool_stems
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.clauses import clauses
from contextune.plan.pointer.text.direct_speech import is_indirect, sole_pronoun
from contextune.plan.policy.cost import call_cost
from contextune.plan.schema import tool_parameters
from contextune.types import Plan, Tool

_SEVERAL = 2
_SAYING = frozenset(["body", "message", "text", "reply", "comment"])


def keeps_reported_speech(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It sends a question in the order of an indirect one, or a pronoun that may mean a recipient."""
    if call_cost(tool) != "send":
        return False
    named = {(match.start, match.end) for match in inputs.names if match.words}
    texts = [
        str(plan.arguments[parameter.name].value)
        for parameter in tool_parameters(tool)
        if parameter.kind == "free"
        and parameter.name in plan.arguments
        and _SAYING.intersection(parameter.words)
    ]
    is_asked = "ask" in inputs.tokens
    return any((is_asked and is_indirect(text)) or (len(named) > 1 and sole_pronoun(text)) for text in texts)


def leaves_an_order(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It does one of several orders: "Play Hello and turn the lights off"."""
    orders = clauses(inputs)
    if len(orders) < _SEVERAL:
        return False
    done = set(tool_stems(tool))
    for argument in plan.arguments.values():
        # a composed text names the whole request as its source
        sources = tuple(source for source in argument.sources if source.kind != "frame")
        done |= argument_stems(replace(argument, sources=sources), inputs)
    return any(not _is_done(order, done) for order in orders)


def _is_done(order: str, done: set[str]) -> bool:
    """Whether a call says more than half of the words of an order: "… and read it to me" is to read."""
    words = text_stems(order) - frozenset(map(stem, STOP_WORDS))
    return 2 * len(words & done) > len(words)
