"""Directions to people: the address on their card."""

from datetime import datetime

import pytest

from contextune.plan import PlanningInput, PointerPlanner
from contextune.plan.calls.doubts.places import goes_elsewhere
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


VET = Contact("Dr. Uxía Gil", more={"title": "Vet", "organization": "Clínica Gil", "note": "Nala's vet"})
TUTOR = Contact("Iago Paz", more={"note": "Rosa's tutor", "addresses": ["Praza Maior 9, Lugo"]})
COACH = Contact("Brais Coto", more={"title": "Tutor", "organization": "Academia Coto"})
JAB = Item.event(name="Nala jab", start="2026-03-09T15:00", location="Clínica Gil, Rúa Real 8")


def planned(text: str, contacts: tuple[Contact, ...], *items: Item) -> PlanningInput:
    request = Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5))
    return PlanningInput(request, User("ines", {}, {}, contacts), [ItemHit(item, 1.0) for item in items])


@pytest.mark.parametrize(
    ("text", "items", "place"),
    [
        ("Directions to my vet", (), "Clínica Gil"),
        ("directions to Nala's vet", (JAB,), "Clínica Gil, Rúa Real 8"),
        ("Take me to Rosa's tutor", (), "Praza Maior 9, Lugo"),  # one of two tutors
    ],
)
def test_place_of_a_contact_by_occupation(text: str, items: tuple[Item, ...], place: str) -> None:
    inputs = planned(text, (VET, TUTOR, COACH), *items)
    filled = PointerPlanner().plan_tool(inputs, DIRECTIONS)
    assert filled is not None
    assert filled.args["destination"] == place
    assert not goes_elsewhere(filled, DIRECTIONS, inputs)


@pytest.mark.parametrize("text", ["Directions to my physio", "Directions to Suso's physio"])
def test_unknown_occupation_is_in_doubt(text: str) -> None:
    inputs = planned(text, (VET,), TEA)
    filled = PointerPlanner().plan_tool(inputs, DIRECTIONS)
    assert filled is not None
    assert filled.missing or goes_elsewhere(filled, DIRECTIONS, inputs)


def test_name_with_a_possessive_is_a_place() -> None:
    inputs = planned("Directions to St Paul's Church", (VET,))
    filled = PointerPlanner().plan_tool(inputs, DIRECTIONS)
    assert filled is not None
    assert filled.args["destination"] == "St Paul's Church"
