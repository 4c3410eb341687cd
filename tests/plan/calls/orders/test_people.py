"""People whom an order leaves open are asked for."""

from datetime import datetime

import pytest

from contextune.plan import PlanningInput, Policy
from contextune.plan.calls.orders.people import settle_people
from contextune.plan.policy.readings import Readings
from contextune.tools import bundled_toolbox
from contextune.types import Argument, Contact, Item, ItemHit, Plan, Request, User

TOOLS = {tool.id: tool for tool in bundled_toolbox()}
USER = User(
    "ines",
    {},
    contacts=(
        Contact("Marta Reis", "marta@example.org", "555-0150", "sister"),
        Contact("Dr. Ana Lima", "ana@example.org", "555-0151", "Rui's dentist"),
        Contact("Dr. Bo Lund", "bo@example.org", "555-0152", "obstetrician"),
        Contact("Iria Sanz", "iria@example.org", "555-0153", "physiotherapist"),
    ),
)
PLUMBER = Item.mail(
    subject="Boiler", content="The plumber comes.", author="joe@example.org", date="2026-03-04T09:00"
)


def settled(text: str, tool: str = "PhoneCall/call_contact", *items: Item) -> Plan:
    inputs = PlanningInput(
        Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5)),
        USER,
        [ItemHit(item, 1.0) for item in items],
    )
    name = "contact" if tool.startswith("Phone") else "recipient"
    plan = Plan(tool, {name: Argument("Marta Reis")}, 0.9, name=TOOLS[tool].name)
    decided = Policy().decide(settle_people(Readings((plan,), 0.05), inputs, TOOLS), TOOLS.__getitem__)
    assert decided is not None
    return decided


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("Call the police", "police"),
        ("Please ring my accountant.", "accountant"),
        ("Call Zebulon", "Zebulon"),
        ("Call Zebulon Pike back", "Zebulon Pike"),
        ("call dad", "dad"),
    ],
)
def test_unknown_person_is_asked_for_without_candidates(text: str, unknown: str) -> None:
    plan = settled(text)
    assert (plan.decision, plan.args) == ("ask", {})
    assert plan.question is not None
    assert plan.question.text == f"“{unknown}” is not among your contacts. Who should I call?"
    assert plan.question.options == ()


def test_message_to_an_unknown_name_asks_for_the_recipient() -> None:
    for text in ("Email Zebulon that dinner is at eight", "Tell Zebulon I'm late", "Write to Zebulon: no"):
        plan = settled(text, "Mail/send_email")
        assert plan.question is not None
        assert plan.question.text == "“Zebulon” is not among your contacts. Who should I send an email to?"
    # if no tool takes a recipient, a call of one is asked about
    assert settled("Email Zebulon that dinner is at eight").name == "send_email"


def test_people_of_one_role_are_offered() -> None:
    plan = settled("Call the doctor")
    assert plan.question is not None
    assert plan.question.text == "Call Dr. Ana Lima or Dr. Bo Lund?"


@pytest.mark.parametrize(
    "text",
    [
        "Call Marta",
        "Call my sister",
        "Call the physio",
        "Call the plumber",
        "Call her back",
        "Call off the party",
        "Call the last caller",
        "Call 112",
        "Ring the girl who does my leg",
        "Tell my sister I'm late",
        "Tell them I'm late",
    ],
)
def test_known_or_described_people_are_left_to_the_planner(text: str) -> None:
    assert settled(text, "PhoneCall/call_contact", PLUMBER).decision == "act"
