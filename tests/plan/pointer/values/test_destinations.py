"""Places that a request for directions says."""

from dataclasses import replace
from datetime import datetime

import pytest

from contextune.plan import PlanningInput, PointerPlanner
from contextune.tools import bundled_toolbox
from contextune.types import Contact, Item, ItemHit, Request, User

TOOLS = {tool.name: tool for tool in bundled_toolbox()}
USER = User(
    "ines",
    {},
    {"home": (41.1, -8.6)},
    (Contact("Marta Reis", "marta@example.org", "555-0150", "sister"),),
)
KNEE = Item.event(
    name="Knee at the clinic", start="2026-03-06T15:00", end="2026-03-06T16:00", location="Rúa Nova 3"
)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Navigate to the Mercadona in Carballo", "Mercadona in Carballo"),
        ("Take me to 12 Baker Street, London", "12 Baker Street, London"),
        ("Directions to Punta Nariga on foot", "Punta Nariga"),
        ("Directions to the airport", "airport"),
        ("Navigate to Lugo and turn the lights off", "Lugo"),
        ("Navigate home", "home"),
        ("Take me home, please", "home"),
    ],
)
def test_whole_place_is_the_destination(text: str, place: str) -> None:
    assert destination(text) == place


@pytest.mark.parametrize("text", ["Directions to the clinic", "Take me to my next appointment"])
def test_described_place_is_looked_up(text: str) -> None:
    assert destination(text) == "Rúa Nova 3"


@pytest.mark.parametrize("text", ["Drive me home", "how do I get back home?", "navigate home by bus"])
def test_home_is_no_person_if_its_place_is_unknown(text: str) -> None:
    assert destination(text, replace(USER, places={})) == "home"


def destination(text: str, user: User = USER) -> object:
    request = Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5))
    plan = PointerPlanner().plan_tool(
        PlanningInput(request, user, [ItemHit(KNEE, 1.0)]), TOOLS["get_directions"]
    )
    assert plan is not None
    return plan.args.get("destination")
