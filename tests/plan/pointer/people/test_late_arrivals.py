"""People who wait if the user is late."""

from datetime import datetime

import pytest

from contextune.plan import PlanningInput, PointerPlanner
from contextune.plan.calls.doubts.reasons import MAX_PROBABILITY, doubt
from contextune.plan.calls.orders.said_tools import is_open_tool
from contextune.plan.pointer.people.late_arrivals import says_late, waiting_people
from contextune.tools import bundled_toolbox
from contextune.types import Argument, Contact, Item, ItemHit, Plan, Request, User

TOOLS = {tool.name: tool for tool in bundled_toolbox()}
USER = User(
    "ines",
    contacts=(
        Contact("Rui Lima", "rui@example.org", "555-0150"),
        Contact("Ana Bo", "ana@example.org", "555-0151"),
        Contact("Mia Sol", "mia@example.org", "555-0152"),
    ),
)


def event(name: str, start: str, guest: str) -> Item:
    return Item.event(name=name, start=start, participants=[guest])


ITEMS = (
    event("Kiln slot", "2026-03-09T15:00", "mia@example.org"),
    event("Judo", "2026-03-05T10:30", "ana@example.org"),
    Item.mail(
        subject="Pottery on Thursdays", content="Call me.", author="rui@example.org", date="2026-03-05T09:00"
    ),
)


def inputs_for(text: str, *items: Item) -> PlanningInput:
    request = Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5))
    return PlanningInput(request, USER, [ItemHit(item, 1.0) for item in items])


@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("I'm running late", [1]),
        ("sorry, we'll be half an hour late", [1]),
        ("I am going to be late for the kiln slot", [2]),
        ("I'm running late for pottery", [0]),
        ("I'll be late for the opera", []),
    ],
)
def test_people_of_the_event_wait(text: str, people: list[int]) -> None:
    inputs = inputs_for(text, *ITEMS)
    assert sorted(waiting_people(inputs)) == people
    assert is_open_tool(TOOLS["send_email"], inputs)
    assert is_open_tool(TOOLS["call_contact"], inputs)


def test_they_are_proposed_and_nobody_else() -> None:
    inputs = inputs_for("I'm running late", *ITEMS)
    plan = PointerPlanner().plan_tool(inputs, TOOLS["call_contact"])
    assert plan is not None
    assert plan.args == {"contact": "Ana Bo"}
    sure = Plan(plan.tool, {"contact": Argument("Ana Bo")}, 0.95)
    assert doubt(sure, TOOLS["call_contact"], inputs).confidence == MAX_PROBABILITY
    plan = PointerPlanner().plan_tool(inputs_for("I'm running late", ITEMS[2]), TOOLS["call_contact"])
    assert plan is not None
    assert [missing.argument for missing in plan.missing] == ["contact"]


@pytest.mark.parametrize(
    "text",
    [
        "Is the bus late?",
        "Tell Ana I'm running late",
        "I was late",
        "I'm running late for judo, tell Ana",
        "Play Running Late",
    ],
)
def test_other_requests_say_nothing_of_being_late(text: str) -> None:
    assert not says_late(text)
