"""Times that a call sets: ahead, not an event's own, and within what the request says."""

from datetime import datetime

import pytest

from contextune.plan import PlanningInput, PointerPlanner
from contextune.tools import bundled_toolbox
from contextune.types import Item, ItemHit, Plan, Request, Turn, User

TOOLS = {tool.name: tool for tool in bundled_toolbox()}
NOW = datetime(2026, 3, 5, 10, 5)  # a Thursday
DENTIST = Item.event(name="Dentist", start="2026-03-09T15:30", end="2026-03-09T16:15")
LETTER = Item.mail(
    subject="Appointment",
    content="Your cleaning is on 9 March at 15:30.",
    author="office@example.com",
    date="2026-03-04T08:50",
)


def planned(text: str, tool: str, *items: Item) -> Plan:
    hits = [ItemHit(item, 1.0 - number / 10) for number, item in enumerate(items)]
    inputs = PlanningInput(Request(text, user="ines", time=NOW), User("ines"), hits)
    plan = PointerPlanner().plan_tool(inputs, TOOLS[tool])
    assert plan is not None
    return plan


def test_event_is_not_moved_to_its_own_time_or_to_now() -> None:
    plan = planned("Move the dentist", "reschedule_event", DENTIST, LETTER)
    assert plan.args == {"event_name": "Dentist"}
    assert [missing.argument for missing in plan.missing] == ["start_time"]


def test_new_event_does_not_take_the_time_of_another() -> None:
    plan = planned("Create an event called dentist checkup", "create_event", DENTIST, LETTER)
    assert "start_time" not in plan.args


@pytest.mark.parametrize(
    "text", ["Book in a swim with Bo", "Pencil in brunch with Bo", "plan supper with Bo", "Book the optician"]
)
def test_new_event_without_a_said_time_has_none(text: str) -> None:
    plan = planned(text, "create_event", DENTIST, LETTER)
    assert [missing.argument for missing in plan.missing] == ["start_time"]


def test_said_time_counts_even_if_something_is_on_then() -> None:
    plan = planned("Schedule a call on Monday at 15:30", "create_event", DENTIST)
    assert plan.args["start_time"] == "2026-03-09T15:30"


def test_event_that_is_moved_to_another_day_keeps_its_hour() -> None:
    plan = planned("Move the dentist to Tuesday", "reschedule_event", DENTIST)
    assert plan.args["start_time"] == "2026-03-10T15:30"


def test_event_that_is_moved_by_some_days_is_moved_from_its_own_day() -> None:
    plan = planned("Postpone the dentist by a week", "reschedule_event", DENTIST)
    assert plan.args["start_time"] == "2026-03-16T15:30"


def test_time_in_the_title_of_a_reminder_is_not_when_it_is_due() -> None:
    plan = planned("Reminder for Saturday morning: plumber between 9 and 11", "create_reminder", LETTER)
    assert plan.args == {"title": "Plumber between 9 and 11", "due_time": "2026-03-07T09:00"}
    plan = planned("Reminder for Saturday evening: party at 10", "create_reminder", LETTER)
    assert plan.args == {"title": "Party at 10", "due_time": "2026-03-07T19:00"}


def test_reminder_of_a_day_has_a_usual_hour() -> None:
    plan = planned("Remind me tomorrow to pack", "create_reminder", LETTER)
    assert plan.args == {"title": "Pack", "due_time": "2026-03-06T09:00"}
    plan = planned("Remind me on Friday evening to pack", "create_reminder", LETTER)
    assert plan.args["due_time"] == "2026-03-06T19:00"


def test_time_that_has_passed_is_not_set() -> None:
    plan = planned("Remind me to pack", "create_reminder", LETTER)
    assert plan.args.get("due_time", "2027") > "2026-03-05T10:05"


OFFER = Item.mail(
    subject="Kiln shelf",
    content="Ana here: your kiln shelf is ready. We are open tomorrow from 9:00 to 12:30.",
    author="ana@example.com",
    date="2026-03-05T08:50",
)


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("Book a meeting with Ana", "create_event"),
        ("please set up another kiln call with my sister", "create_event"),
        ("Reschedule the dentist", "reschedule_event"),
        ("Can you postpone my dentist appointment?", "reschedule_event"),
    ],
)
def test_order_without_a_time_takes_none_from_a_mail(text: str, tool: str) -> None:
    plan = planned(text, tool, OFFER, DENTIST)
    assert "start_time" in [missing.argument for missing in plan.missing]


def test_reminder_without_a_time_takes_none_from_the_text_of_a_mail() -> None:
    plan = planned("Remind me to collect the kiln shelf", "create_reminder", OFFER)
    assert plan.args == {"title": "Collect the kiln shelf"}


def test_event_of_the_conversation_stays_on_its_day() -> None:
    history = (Turn("user", "What's on Monday?"), Turn("assistant", "Dentist"))
    request = Request("Make it 4:15 instead", user="ines", time=NOW, history=history)
    inputs = PlanningInput(request, User("ines"), [ItemHit(DENTIST, 1.0), ItemHit(OFFER, 0.9)])
    filled = PointerPlanner().fill_tool(inputs, TOOLS["reschedule_event"])
    assert filled is not None
    assert filled.plan.args == {"event_name": "Dentist", "start_time": "2026-03-09T16:15"}
    times = next(choice for choice in filled.choices if choice.parameter.name == "start_time")
    assert {str(candidate.value)[:10] for candidate in times.candidates} == {"2026-03-09"}
