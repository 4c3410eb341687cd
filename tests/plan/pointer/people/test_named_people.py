"""The one contact that an order or a question is about."""

from datetime import datetime

import pytest

from contextune.plan import PlanningInput
from contextune.plan.pointer.people.named_people import (
    asked_speaker,
    asked_writer,
    called_contact,
    said_sender,
)
from contextune.types import Contact, Request, User

USER = User(
    "ines",
    {},
    contacts=(
        Contact("Marta Reis", "marta@example.org", "555-0150", "sister, in Porto"),
        Contact("Bruno Rossi", "rossi@example.org", "555-0151", "diving doctor"),
        Contact("Bruno Kosuta", "kosuta@example.org", "555-0152", "mother's live-in helper"),
        Contact("Delfina", "delfina@example.org", "555-0153", "cousin and neighbour"),
    ),
)


def inputs_for(text: str) -> PlanningInput:
    return PlanningInput(Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5)), USER)


@pytest.mark.parametrize(
    ("text", "person"),
    [
        ("Call Marta", "Marta Reis"),
        ("please ring bruno rossi now", "Bruno Rossi"),
        ("Phone my sister", "Marta Reis"),
        ("Call the doctor", "Bruno Rossi"),
        ("Call the diving doctor", "Bruno Rossi"),
        ("Call my mother's helper", "Bruno Kosuta"),
        ("Call the heart doctor", None),
        ("Call my neighbour", "Delfina"),
        ("Call Bruno", None),
        ("Call my mother", None),
        ("Call Marta and Delfina", None),
        ("Call Marta's school", None),
        ("Call me a taxi", None),
    ],
)
def test_contact_to_call(text: str, person: str | None) -> None:
    assert _name(called_contact(inputs_for(text))) == person


@pytest.mark.parametrize(
    ("text", "person"),
    [
        ("Did Marta ever get back to me?", "Marta Reis"),
        ("Has the doctor replied yet?", "Bruno Rossi"),
        ("Did Marta write down the code?", None),
        ("Did Marta call?", None),
    ],
)
def test_contact_who_may_have_written(text: str, person: str | None) -> None:
    assert _name(asked_writer(inputs_for(text))) == person


@pytest.mark.parametrize(
    ("text", "person"),
    [
        ("What did Marta say?", "Marta Reis"),
        ("So what did my sister want from me?", "Marta Reis"),
        ("What did Marta say about the kiln?", "Marta Reis"),
        ("What did I say?", None),
    ],
)
def test_contact_who_said_something(text: str, person: str | None) -> None:
    assert _name(asked_speaker(inputs_for(text))) == person


@pytest.mark.parametrize(
    ("text", "person"),
    [
        ("Any mail from my sister?", "Marta Reis"),
        ("Is there anything from Delfina", "Delfina"),
        ("Forward the mail from Marta to Delfina", None),
        ("Any mail from yesterday?", None),
    ],
)
def test_contact_from_whom_a_message_is(text: str, person: str | None) -> None:
    assert _name(said_sender(inputs_for(text))) == person


def _name(index: int | None) -> str | None:
    return None if index is None else USER.contacts[index].name
