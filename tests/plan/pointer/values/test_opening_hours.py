"""Businesses whose opening hours a request asks for."""

from datetime import datetime

import pytest

from contextune.plan import PlanningInput, PointerPlanner
from contextune.plan.calls.doubts.reasons import MAX_PROBABILITY, doubt
from contextune.plan.calls.orders.said_tools import is_open_tool
from contextune.tools import bundled_toolbox
from contextune.types import Contact, Item, ItemHit, Plan, Request, User

HOURS = next(tool for tool in bundled_toolbox() if tool.name == "get_opening_hours")
USER = User(
    "ines",
    contacts=(
        Contact("Rui Lima", "rui@example.org"),
        Contact("Ana Bo", "ana@example.org", more={"title": "Optician", "organization": "Clear Eyes"}),
    ),
)
EVENT = Item.event(
    name="Fitting", start="2026-03-06T15:00", end="2026-03-06T16:00", location="Alder Frames, Rua 5"
)
MAIL = Item.mail(subject="Seed sale", content="See you.", author="rui@example.org", date="2026-03-04T09:00")


def planned(text: str) -> tuple[Plan, PlanningInput]:
    request = Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5))
    inputs = PlanningInput(request, USER, [ItemHit(item, 1.0) for item in (MAIL, EVENT)])
    plan = PointerPlanner().plan_tool(inputs, HOURS)
    assert plan is not None
    return plan, inputs


@pytest.mark.parametrize(
    ("text", "business"),
    [
        ("Until when is Corner Deli open today?", "Corner Deli"),
        ("how late is corner deli open", "corner deli"),
        ("When does Alder Frames close?", "Alder Frames, Rua 5"),
        ("Is the optician open on Saturday?", "Clear Eyes"),
        ("What are the opening hours of Corner Deli on Sunday?", "Corner Deli"),
    ],
)
def test_business_is_who_is_said_to_be_open(text: str, business: str) -> None:
    plan, inputs = planned(text)
    assert plan.args == {"business": business}
    assert is_open_tool(HOURS, inputs)


@pytest.mark.parametrize("text", ["Is the bakery open?", "Is seed sale still open?"])
def test_described_business_is_proposed(text: str) -> None:
    plan, inputs = planned(text)
    assert doubt(Plan(plan.tool, plan.arguments, 0.9), HOURS, inputs).confidence == MAX_PROBABILITY


@pytest.mark.parametrize(
    "text", ["Is the front door open?", "Are my windows closed?", "Will you open the mail?"]
)
def test_things_have_no_opening_hours(text: str) -> None:
    assert not is_open_tool(HOURS, planned(text)[1])
