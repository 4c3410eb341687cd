"""Calls of the user's own applications are shown first if a stranger chose the item, or they reach nobody."""

from datetime import datetime

import pytest

from contextune.plan import PlanningInput
from contextune.plan.policy.personal_values import guard_plan
from contextune.tools import bundled_toolbox
from contextune.types import Argument, Contact, Item, ItemHit, Plan, Request, Source, User

NOW = datetime(2026, 3, 5, 10, 5)
TOOLS = {tool.name: tool for tool in bundled_toolbox()}
USER = User(
    "ines",
    {"email": "ines@example.com"},
    contacts=(Contact("Marta Reis", "marta@example.org"), Contact("Bruno Rossi", None, "555-0190")),
)
APPOINTMENT = Item.event(name="Dentist", start="2026-03-06T15:00", participants=["ines@example.com"])
ALL = "Cancel it all"
"""What somebody calls an invitation, so that it is what the user may say."""


def is_shown(text: str, tool: str, item: Item, value: str, source: Source | None = None) -> bool:
    inputs = PlanningInput(Request(text, user="ines", time=NOW), USER, [ItemHit(item, 1.0)])
    (name, *_) = TOOLS[tool].parameters["required"]
    plan = Plan(TOOLS[tool].id, {name: Argument(value, (source or Source("item", item.id),))}, 0.99)
    guarded, shown = guard_plan(plan, TOOLS[tool], inputs)
    assert guarded is plan
    return shown


@pytest.mark.parametrize(
    ("item", "value", "source", "shown"),
    [
        (APPOINTMENT, "Dentist", None, True),
        (Item.call(contact="Dentist", date=NOW), "Dentist", None, True),
        (Item.call(contact="Dentist", number="+351 21 555 0190", date=NOW), "Dentist", None, False),
        (APPOINTMENT, "Dentist", Source("said", words="Dentist"), True),
        (APPOINTMENT, "Bruno Rossi", Source("contact", "Bruno Rossi"), False),
        (APPOINTMENT, "+351 21 555 0190", Source("said", words="+351 21 555 0190"), False),
    ],
    ids=["event", "caller without number", "caller", "name alone", "contact", "number"],
)
def test_call_to_somebody_without_a_number(
    item: Item, value: str, source: Source | None, shown: bool
) -> None:
    assert is_shown(f"Call {value}", "call_contact", item, value, source) is shown


@pytest.mark.parametrize(
    ("text", "title", "organizer", "shown"),
    [
        (ALL, ALL, "mallory@example.net", True),
        (ALL, "It all", "mallory@example.net", True),
        (ALL, ALL, "marta@example.org", False),
        (ALL, ALL, None, False),
        ("Cancel the choir rehearsal", "Choir rehearsal", "mallory@example.net", False),
        ("Cancel that choir event", "Choir rehearsal", "mallory@example.net", False),
        ("Cancel it", "Choir rehearsal", "mallory@example.net", True),
    ],
)
def test_invitation_of_a_stranger_needs_its_name(
    text: str, title: str, organizer: str | None, shown: bool
) -> None:
    event = Item.event(name=title, start="2026-03-06T15:00", organizer=organizer)
    assert is_shown(text, "cancel_event", event, title) is shown


def test_reading_what_a_stranger_wrote_is_not_shown_first() -> None:
    mail = Item.mail(
        subject=ALL,
        date=NOW,
        author="mallory@example.net",
        recipients=["ines@example.com"],
        content="",
        id="m1",
    )
    assert not is_shown(ALL, "read_email", mail, ALL)
