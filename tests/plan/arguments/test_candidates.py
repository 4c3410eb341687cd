"""Candidate values: what the request, items, people and schemas propose for an argument."""

from datetime import datetime
from typing import Any

from contextune import Item, Request, Tool, User
from contextune.plan.arguments.candidate import ValueCandidate
from contextune.plan.arguments.candidates import fits, value_candidates
from contextune.plan.arguments.leaves import tool_leaves
from contextune.plan.planning_input import PlanningInput
from contextune.reading.texts import Names
from contextune.types import Contact, ItemHit, Turn

USER = User(
    "me",
    contacts=(
        Contact("Anke Siebert", "beratung@mieterbund.example", relation="tenants' adviser"),
        Contact("Lena Hartwig", "lena@fuldapost.example", "+49 176 04069203", "sister"),
        Contact("Kwame Boateng", "kb@posteule.example", more={"note": "has the van"}),
    ),
)
REPORT = Item.mail(
    subject="Gutachten 26-188",
    date="2026-08-27T16:20",
    author="zander@gutachten.example",
    content="Thermal bridge.",
)
REVIEW = Item.event(name="Review", start="2026-09-18T14:00", end="2026-09-18T15:00", location="Room 5")


def candidates(
    text: str, properties: dict[str, Any], *items: Item, history: tuple[Turn, ...] = ()
) -> list[ValueCandidate]:
    request = Request(text, "me", time=datetime(2026, 9, 17, 11, 30), history=history)
    inputs = PlanningInput(request, USER, [ItemHit(item, 1.0) for item in items])
    tool = Tool("do", "", parameters={"properties": properties})
    return value_candidates(inputs, tool_leaves(tool), Names(USER))


def values(found: list[ValueCandidate], group: str) -> list[Any]:
    return [candidate.value for candidate in found if candidate.group == group]


def test_people_are_found_by_name_relation_and_note() -> None:
    text = {"to": {"type": "string"}}
    assert values(candidates("forward it to frau siebert", text), "person")[0] == "Anke Siebert"
    assert values(candidates("call my sister", text), "person")[0] == "Lena Hartwig"
    assert "Kwame Boateng" in values(candidates("ask the one with the van", text), "person")


def test_people_of_the_conversation_are_candidates() -> None:
    history = (Turn("assistant", "Lena Hartwig has called twice."),)
    assert "Lena Hartwig" in values(
        candidates("call her", {"to": {"type": "string"}}, history=history), "person"
    )


def test_titles_and_fields_of_items_are_candidates() -> None:
    found = candidates("read the report", {"subject": {"type": "string"}}, REPORT, REVIEW)
    assert values(found, "title") == ["Gutachten 26-188", "Review"]
    assert "Room 5" in values(found, "field")


def test_times_come_from_the_request_and_from_items() -> None:
    found = candidates(
        "move the review to tuesday at four", {"start": {"type": "string", "format": "date-time"}}, REVIEW
    )
    times = values(found, "time")
    assert datetime(2026, 9, 22, 16) in times
    assert datetime(2026, 9, 18, 14) in times


def test_an_argument_whose_description_speaks_of_dates_takes_times() -> None:
    found = candidates("due friday", {"deadline": {"type": "string", "description": "Date, ISO"}})
    assert datetime(2026, 9, 18) in values(found, "time")


def test_types_decide_what_fits() -> None:
    properties = {
        "level": {"type": "string", "enum": ["low", "high"]},
        "loud": {"type": "boolean"},
        "minutes": {"type": "integer"},
        "text": {"type": "string"},
    }
    found = candidates("set it to high for half an hour", properties)
    leaves = {leaf.name: leaf for leaf in tool_leaves(Tool("do", "", parameters={"properties": properties}))}

    def fitting(name: str) -> list[Any]:
        return [candidate.value for candidate in found if fits(candidate, leaves[name])]

    assert fitting("level") == ["low", "high"]
    assert fitting("loud") == [True, False]
    assert 30 in fitting("minutes")
    assert "high" not in fitting("minutes")


def test_examples_of_a_description_are_candidates() -> None:
    found = candidates("add it", {"list": {"type": "string", "description": "e.g. Work, Home or Kids"}})
    assert values(found, "field")[-3:] == ["Work", "Home", "Kids"]


def test_a_huge_request_and_mail_propose_a_bounded_number_of_values() -> None:
    mail = Item.mail(subject="x", date="2026-09-01", author="a@b.example", content="AB-1234 " * 20_000)
    found = candidates(
        "tomorrow at 5 " * 500, {"start": {"type": "string"}, "count": {"type": "integer"}}, mail
    )
    assert len(found) < 90
