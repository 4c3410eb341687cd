"""Hours in either half of the day are asked about, with both readings."""

from datetime import datetime

from contextune.plan import PlanningInput, Policy, Readings
from contextune.plan.calls.other_half import with_other_half
from contextune.tools import bundled_toolbox
from contextune.types import Argument, Plan, Request, User

TOOLS = {tool.id: tool for tool in bundled_toolbox()}


def decided(text: str, due: str) -> Plan:
    inputs = PlanningInput(Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5)), User("ines"))
    arguments = {"title": Argument("Call the bank"), "due_time": Argument(due)}
    plan = Plan("Reminders/create_reminder", arguments, 0.95, name="create_reminder")
    readings = with_other_half(Readings((plan,)), inputs, TOOLS)
    decided = Policy().decide(readings, TOOLS.__getitem__)
    assert decided is not None
    return decided


def test_open_hour_is_asked_about_with_both_readings() -> None:
    plan = decided("Remind me tomorrow at seven to call the bank", "2026-03-06T19:00")
    assert plan.decision == "ask"
    assert plan.question is not None
    assert plan.question.text == "At 7 in the evening or in the morning?"
    options = [option.plan.args["due_time"] for option in plan.question.options if option.plan]
    assert options == ["2026-03-06T19:00", "2026-03-06T07:00"]


def test_clear_hour_is_acted_on() -> None:
    assert decided("Remind me tomorrow at three to call the bank", "2026-03-06T15:00").decision == "act"
    assert decided("Remind me tomorrow at 7 pm to call the bank", "2026-03-06T19:00").decision == "act"
