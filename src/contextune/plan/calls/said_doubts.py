"""Reasons to doubt a call that come from how the request is worded: reported speech that stays as it is."""

from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.direct_speech import is_indirect, sole_pronoun
from contextune.plan.policy.cost import call_cost
from contextune.plan.schema import tool_parameters
from contextune.types import Plan, Tool

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
