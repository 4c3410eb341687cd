"""Questions about the day of a journey."""

from datetime import datetime

import pytest

from contextune.plan import PlanningInput, PointerPlanner
from contextune.plan.calls.doubts.times import guesses_the_arrival
from contextune.tools import bundled_toolbox
from contextune.types import Item, ItemHit, Request, User

WEATHER = next(tool for tool in bundled_toolbox() if tool.name == "get_weather")
FLIGHT = Item.event(name="Flight TP 1842", start="2026-03-14T07:10", location="Funchal")
CLASS = Item.event(name="Pottery", start="2026-03-06T18:00", location="Barro Studio")


def inputs_for(text: str, *items: Item) -> PlanningInput:
    request = Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5))
    return PlanningInput(request, User("ines"), [ItemHit(item, 1.0) for item in items])


@pytest.mark.parametrize(
    "text",
    [
        "Will it rain when we get to Funchal?",
        "Is it warm once I'm in Funchal?",
        "Weather for our trip to Funchal?",
    ],
)
def test_day_of_the_event_that_leads_there(text: str) -> None:
    inputs = inputs_for(text, CLASS, FLIGHT)
    plan = PointerPlanner().plan_tool(inputs, WEATHER)
    assert plan is not None
    assert plan.args["date"] == "2026-03-14"
    assert not guesses_the_arrival(plan, WEATHER, inputs)


def test_unknown_day_of_a_journey_is_in_doubt() -> None:
    inputs = inputs_for("Will it rain when we get to Funchal?", CLASS)
    plan = PointerPlanner().plan_tool(inputs, WEATHER)
    assert plan is not None
    assert "date" not in plan.args
    assert guesses_the_arrival(plan, WEATHER, inputs)
    said = inputs_for("Will it rain on Sunday when we get to Funchal?", CLASS)
    assert not guesses_the_arrival(plan, WEATHER, said)
