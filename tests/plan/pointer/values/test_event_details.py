"""New events: where they take place, and who comes."""

from datetime import datetime

import pytest

from contextune.plan import PlanningInput, PointerPlanner
from contextune.plan.calls.doubts.places import drops_the_place
from contextune.tools import bundled_toolbox
from contextune.types import Argument, Contact, Item, ItemHit, Plan, Request, Tool, User

CREATE = next(tool for tool in bundled_toolbox() if tool.name == "create_event")
USER = User(
    "ines",
    {},
    {},
    (
        Contact("Marta Reis", "marta@example.org", "555-0150", "sister", {"organization": "Nordlicht"}),
        Contact("Ana Lima", "ana@example.org"),
        Contact("Ana Sousa", "ana.sousa@example.org"),
    ),
)
TEA = Item.event(name="Tea", start="2026-03-06T15:00", end="2026-03-06T16:00", location="Café Turri")


@pytest.mark.parametrize(
    ("text", "name", "place"),
    [
        ("Schedule coffee on Tuesday at 11 at café turri", "coffee", "Café Turri"),
        ("Schedule lunch at Nonna's on Friday at one", "lunch", "Nonna's"),
        ("Add a haircut on Monday at 4pm at Salon Bella", "haircut", "Salon Bella"),
        ("Schedule a meeting tomorrow at 3 in the library", "meeting", "library"),
        ("Put dinner at Il Forno on Saturday at 8pm in my calendar", "dinner", "Il Forno"),
        ("Schedule dinner at Il Forno with Marta on Saturday at 8pm", "dinner with Marta", "Il Forno"),
        ("Schedule a walk on Monday at 5 pm at the latest", "walk", None),
        ("Schedule a call with Marta at Nordlicht on Monday at 3", "call with Marta at Nordlicht", None),
        ("Put a walk on Monday at 5 in my calendar", "walk", None),
    ],
)
def test_place_that_is_said_is_the_location(text: str, name: str, place: str | None) -> None:
    args = plan(text).args
    assert (args["event_name"], args.get("location")) == (name, place)


def test_event_without_the_place_that_is_said_is_doubted() -> None:
    tool = Tool("create_event", "Puts an event on the calendar", "Calendar")
    filled = Plan("create_event", {"title": Argument("coffee", (), 1.0)}, 1.0, (), "create_event")
    inputs = inputs_for("Schedule coffee on Tuesday at 11 at Café Turri")
    assert drops_the_place(filled, tool, inputs)
    whole = Plan(
        "create_event", {"title": Argument("coffee at café turri", (), 1.0)}, 1.0, (), "create_event"
    )
    assert not drops_the_place(whole, tool, inputs)
    assert not drops_the_place(filled, tool, inputs_for("Schedule coffee on Tuesday at 11"))


def inputs_for(text: str) -> PlanningInput:
    request = Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5))
    return PlanningInput(request, USER, [ItemHit(TEA, 1.0)])


def plan(text: str) -> Plan:
    found = PointerPlanner().plan_tool(inputs_for(text), CREATE)
    assert found is not None
    return found
