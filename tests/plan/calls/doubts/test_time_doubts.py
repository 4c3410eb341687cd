"""A time that the request says is set, or the call is in doubt."""

from dataclasses import replace
from datetime import datetime

import pytest

from contextune.plan import PlanningInput, PointerPlanner
from contextune.plan.calls.doubts.reasons import MAX_PROBABILITY, doubt
from contextune.tools import bundled_toolbox
from contextune.types import Argument, Item, ItemHit, Plan, Request, Source, Turn, User

TOOLS = {tool.name: tool for tool in bundled_toolbox()}
NOW = datetime(2026, 3, 5, 10, 5)  # a Thursday
DENTIST = Item.event(name="Dentist", start="2026-03-09T15:30", end="2026-03-09T16:15")


def inputs_for(text: str) -> PlanningInput:
    return PlanningInput(Request(text, user="ines", time=NOW), User("ines"), [ItemHit(DENTIST, 1.0)])


def planned(text: str) -> tuple[str | None, bool]:
    """The time of a reminder, and whether its call is in doubt."""
    inputs, tool = inputs_for(text), TOOLS["create_reminder"]
    plan = PointerPlanner().plan_tool(inputs, tool)
    assert plan is not None
    doubted = doubt(replace(plan, confidence=0.95), tool, inputs)
    return plan.args.get("due_time"), doubted.confidence <= MAX_PROBABILITY


@pytest.mark.parametrize(
    ("when", "time"),
    [
        ("in two weeks", "2026-03-19T09:00"),
        ("in a fortnight", "2026-03-19T09:00"),
        ("next month", "2026-04-01T09:00"),
        ("at the end of the month", "2026-03-31T09:00"),
        ("on Christmas Eve", "2026-12-24T09:00"),
        ("on the first Monday in July", "2026-07-06T09:00"),
        ("a week on Monday", "2026-03-16T09:00"),
        ("before bed", "2026-03-05T22:00"),
        ("before Christmas", "2026-12-24T09:00"),
        ("by Friday", "2026-03-06T09:00"),
        ("first thing tomorrow", "2026-03-06T09:00"),
    ],
)
def test_said_day_is_proposed_at_a_usual_hour(when: str, time: str) -> None:
    assert planned(f"Remind me {when} to water the ferns") == (time, True)


@pytest.mark.parametrize(
    ("when", "time"),
    [
        ("in an hour and a quarter", "2026-03-05T11:20"),
        ("at 1730", "2026-03-05T17:30"),
        ("tomorrow at 16:00", "2026-03-06T16:00"),
    ],
)
def test_said_hour_is_set(when: str, time: str) -> None:
    assert planned(f"Remind me {when} to turn the heating off") == (time, False)


@pytest.mark.parametrize("when", ["at 25:00", "when I get home", "at sunset", "later", "every Monday"])
def test_time_that_cannot_be_read_or_set_is_in_doubt(when: str) -> None:
    _, is_doubted = planned(f"Remind me {when} to water the ferns")
    assert is_doubted


@pytest.mark.parametrize(
    "text", ["Remind me to buy milk", "Remind me to bring the forms to Friday's meeting"]
)
def test_task_says_no_time(text: str) -> None:
    assert planned(text) == (None, False)


@pytest.mark.parametrize(
    ("text", "time", "is_doubted"),
    [
        ("Move the dentist to Friday at 4", "2026-03-06T16:00", False),
        ("Move the dentist to Friday at 4", "2026-03-09T17:30", True),
        ("Put it in, four in the afternoon", "2026-03-20T16:00", False),
        ("Tomorrow at four, as on Fridays", "2026-03-06T16:00", False),
    ],
)
def test_other_time_than_the_said_one_is_in_doubt(text: str, time: str, is_doubted: bool) -> None:
    tool = TOOLS["reschedule_event"]
    arguments = {
        "event_name": Argument("Dentist", (Source("item", DENTIST.id, "event_name"),)),
        "start_time": Argument(time, (Source("time"),)),
    }
    plan = Plan(tool.id, arguments, 0.95, name=tool.name)
    assert (doubt(plan, tool, inputs_for(text)).confidence <= MAX_PROBABILITY) is is_doubted


def test_time_of_an_item_that_a_reminder_does_not_say_is_in_doubt() -> None:
    inputs, tool = inputs_for("Remind me to take the x-rays to the dentist"), TOOLS["create_reminder"]
    due = Argument("2026-03-09T15:30", (Source("time", DENTIST.id, "start_time"),))
    plan = Plan(tool.id, {"title": Argument("Take the x-rays to the dentist"), "due_time": due}, 0.95)
    assert doubt(plan, tool, inputs).confidence == MAX_PROBABILITY


@pytest.mark.parametrize(
    ("before", "is_doubted"), [("What's on Saturday?", True), ("What's on Monday?", False)]
)
def test_event_of_another_day_than_the_conversation_is_in_doubt(before: str, is_doubted: bool) -> None:
    request = Request("Make it 4:30 pm", user="ines", time=NOW, history=(Turn("user", before),))
    inputs = PlanningInput(request, User("ines"), [ItemHit(DENTIST, 1.0)])
    arguments = {
        "event_name": Argument("Dentist", (Source("item", DENTIST.id, "event_name"),)),
        "start_time": Argument("2026-03-09T16:30", (Source("time", DENTIST.id, "start_time"),)),
    }
    tool = TOOLS["reschedule_event"]
    doubted = doubt(Plan(tool.id, arguments, 0.95), tool, inputs)
    assert (doubted.confidence == MAX_PROBABILITY) is is_doubted
