"""Events that an order names by their day alone are asked about."""

from datetime import datetime

import pytest

from contextune.plan import PlanningInput, Policy, Readings
from contextune.plan.calls.events_of_day import with_events_of_day
from contextune.tools import bundled_toolbox
from contextune.types import Argument, Item, ItemHit, Plan, Request, Source, User

TOOLS = {tool.id: tool for tool in bundled_toolbox()}
CHOIR = Item.event(name="Choir", start="2026-03-07T17:00", end="2026-03-07T18:00")
BOARD = Item.event(name="Board meeting", start="2026-03-07T20:00", end="2026-03-07T21:00")
SAUNA = Item.event(name="Sauna", start="2026-03-08T20:00", end="2026-03-08T21:00")


def decided(text: str, event: Item = CHOIR) -> Plan:
    request = Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5))
    inputs = PlanningInput(request, User("ines"), [ItemHit(item, 1.0) for item in (CHOIR, BOARD, SAUNA)])
    name = Argument(event.title, (Source("item", event.id, "event_name"),), 1.0)
    plan = Plan("Calendar/cancel_event", {"event_name": name}, 0.95, name="cancel_event")
    decided = Policy().decide(with_events_of_day(Readings((plan,)), inputs, TOOLS), TOOLS.__getitem__)
    assert decided is not None
    return decided


@pytest.mark.parametrize("text", ["Cancel my meeting on Saturday", "please call off Saturday's meeting"])
def test_one_of_several_events_of_the_day_is_asked_for(text: str) -> None:
    plan = decided(text)
    assert plan.decision == "ask"
    assert plan.question is not None
    assert plan.question.text == "Which event: “Board meeting” or “Choir”?"


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("Cancel my meeting on Sunday", SAUNA),
        ("Cancel my board meeting on Saturday", BOARD),
        ("Cancel the meeting with Bo on Saturday", BOARD),
        ("Cancel my meeting at 8 pm on Saturday", BOARD),
        ("Cancel Bo's meeting on Saturday", BOARD),
        ("Cancel my meeting", CHOIR),
    ],
)
def test_event_that_is_told_by_more_is_not_asked_for(text: str, event: Item) -> None:
    plan = decided(text, event)
    assert (plan.decision, plan.args) == ("act", {"event_name": event.title})
