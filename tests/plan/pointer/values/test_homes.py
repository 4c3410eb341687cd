"""Directions to people: the address on their card."""

from datetime import datetime

import pytest

from contextune.plan import PlanningInput, PointerPlanner
from contextune.tools import bundled_toolbox
from contextune.types import Contact, Item, ItemHit, Plan, Request, User

DIRECTIONS = next(tool for tool in bundled_toolbox() if tool.name == "get_directions")
HOME = "Rúa Nova 3, Lugo"
USER = User(
    "ines",
    {},
    {},
    (
        Contact("Rosa Reis", None, "555-0150", "mother", {"nickname": "Mum", "addresses": [HOME]}),
        Contact("Marta Reis", "marta@example.org", "555-0151", "sister"),
    ),
)
TEA = Item.event(name="Tea", start="2026-03-06T15:00", end="2026-03-06T16:00", location="Marta's place")


@pytest.mark.parametrize(
    "text",
    [
        "Navigate to mum's",
        "Directions to my mother's house",
        "Take me to Rosa's place",
        "how do I get to Rosa Reis's by bus",
    ],
)
def test_home_of_a_contact_is_the_address_on_the_card(text: str) -> None:
    assert plan(text).args["destination"] == HOME


def test_unknown_home_is_asked_for() -> None:
    assert [missing.argument for missing in plan("Take me to Marta's house").missing] == ["destination"]


def test_place_of_an_event_with_the_same_name_comes_before_a_question() -> None:
    assert plan("Take me to Marta's place").args["destination"] == "Marta's place"


def plan(text: str) -> Plan:
    request = Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5))
    found = PointerPlanner().plan_tool(PlanningInput(request, USER, [ItemHit(TEA, 1.0)]), DIRECTIONS)
    assert found is not None
    return found
