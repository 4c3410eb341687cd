"""Lists of reminders that a request names."""

from dataclasses import replace
from datetime import datetime

import pytest

from contextune.plan import PlanningInput, PointerPlanner
from contextune.plan.calls.doubts.reasons import MAX_PROBABILITY, doubt
from contextune.tools import bundled_toolbox
from contextune.types import Item, ItemHit, Request, User

TOOL = next(tool for tool in bundled_toolbox() if tool.name == "list_reminders")
TOMATOES = Item.reminder(
    title="Stake the tomatoes", list_name="Garden", due="2026-03-06T08:00", created="2026-03-01T19:00"
)


@pytest.mark.parametrize(
    ("text", "name", "is_sure"),
    [
        ("What's on my garden to-do list?", "Garden", True),
        ("show me the garden list", "Garden", True),
        ("Which reminders are on my boat list?", "boat", False),
        ("what is left on the boat task list", "boat", False),
    ],
)
def test_said_list_is_shown_and_confirmed_if_it_is_unknown(text: str, name: str, is_sure: bool) -> None:
    inputs = inputs_for(text)
    plan = PointerPlanner().plan_tool(inputs, TOOL)
    assert plan is not None
    assert plan.args == {"list": name}
    assert (doubt(replace(plan, confidence=0.95), TOOL, inputs).confidence > MAX_PROBABILITY) is is_sure


@pytest.mark.parametrize("text", ["What's on my to-do list?", "Show my whole task list"])
def test_plain_list_is_no_name(text: str) -> None:
    inputs = inputs_for(text)
    plan = PointerPlanner().plan_tool(inputs, TOOL)
    assert plan is not None
    assert doubt(replace(plan, confidence=0.95), TOOL, inputs).confidence > MAX_PROBABILITY


def inputs_for(text: str) -> PlanningInput:
    request = Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5))
    return PlanningInput(request, User("ines"), [ItemHit(TOMATOES, 1.0)])
