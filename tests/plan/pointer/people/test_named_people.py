"""The one contact that an order or a question is about."""

from datetime import datetime

import pytest

from contextune.plan import PlanningInput
from contextune.plan.pointer.people.named_people import (
    addressed_contact,
    asked_speaker,
    asked_writer,
    called_contact,
    called_group,
    receiving_contact,
    said_sender,
)
from contextune.types import Contact, Item, ItemHit, Request, User

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
        ("Give Marta a ring", "Marta Reis"),
        ("Please give my sister a quick call", "Marta Reis"),
        ("Give Marta the keys", None),
        ("Give me a ring", None),
    ],
)
def test_contact_to_call(text: str, person: str | None) -> None:
    assert _name(called_contact(inputs_for(text))) == person


@pytest.mark.parametrize(("direction", "person"), [("incoming", "Marta Reis"), ("missed", None)])
def test_calling_back_is_a_plain_call_if_no_call_was_missed(direction: str, person: str | None) -> None:
    call = Item.call(contact="Marta Reis", number="555-0150", direction=direction, date="2026-03-05T09:00")
    request = Request("Call Marta back", user="ines", time=datetime(2026, 3, 5, 10, 5))
    assert _name(called_contact(PlanningInput(request, USER, [ItemHit(call, 1.0)]))) == person
    assert called_contact(PlanningInput(request, USER)) is None


@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("Call Marta and Delfina", ["Marta Reis", "Delfina"]),
        ("Ring my sister, Delfina and Bruno Rossi", ["Marta Reis", "Delfina", "Bruno Rossi"]),
        ("Call Marta and Bruno", []),
        ("Call Marta", []),
    ],
)
def test_people_to_call_together(text: str, people: list[str]) -> None:
    assert [_name(person) for person in called_group(inputs_for(text))] == people


@pytest.mark.parametrize(
    ("text", "addressed"),
    [
        ("Tell Marta I'm late", ("Marta Reis", False)),
        ("Please email my sister that I'm late", ("Marta Reis", True)),
        ("Write to Bruno Rossi: it works", ("Bruno Rossi", True)),
        ("Remind Delfina to come", ("Delfina", False)),
        ("Tell Delfina by mail that I'm late", ("Delfina", True)),
        ("Let my sister know by e-mail I'm late", ("Marta Reis", True)),
        ("Remind me to call Delfina", None),
        ("Tell Bruno I'm late", None),
        ("Tell everyone I'm late", None),
        ("Tell Marta's mother I'm late", None),
        ("Tell my sister’s friend I'm late", None),
    ],
)
def test_contact_whom_a_message_is_for(text: str, addressed: tuple[str, bool] | None) -> None:
    found = addressed_contact(inputs_for(text))
    assert (found and (_name(found[0]), found[1])) == addressed


@pytest.mark.parametrize(("others", "person"), [((), 0), (("Reis Clay",), None)])
def test_company_stands_for_its_only_contact(others: tuple[str, ...], person: int | None) -> None:
    companies = ("Reis Clay", "Kosuta", *others)
    people = tuple(Contact(f"Ana {n}", more={"organization": name}) for n, name in enumerate(companies))
    request = Request("Phone Reis Clay", user="ines", time=datetime(2026, 3, 5, 10, 5))
    assert called_contact(PlanningInput(request, User("ines", {}, contacts=people))) == person


def test_role_by_name_comes_before_a_synonym() -> None:
    people = (Contact("Anna Krause", relation="coach"), Contact("Frau Lang", relation="trainer"))
    request = Request("Call the coach", user="ines", time=datetime(2026, 3, 5, 10, 5))
    assert called_contact(PlanningInput(request, User("ines", {}, contacts=people))) == 0


@pytest.mark.parametrize(
    ("text", "person"),
    [
        ("Forward Bruno's quote to my sister", "Marta Reis"),
        ("Share the list with Delfina please", "Delfina"),
        ("Send the way to the kiln to Bruno Rossi", "Bruno Rossi"),
        ("Send Delfina the way to my sister", None),
        ("Forward it to Bruno", None),
    ],
)
def test_contact_who_receives_an_item(text: str, person: str | None) -> None:
    assert _name(receiving_contact(inputs_for(text))) == person


@pytest.mark.parametrize(
    ("text", "person"),
    [
        ("Did Marta ever get back to me?", "Marta Reis"),
        ("Has the doctor replied yet?", "Bruno Rossi"),
        ("did bruno rossi write about the tanks", "Bruno Rossi"),
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


@pytest.mark.parametrize(
    ("text", "person"),
    [
        ("Ring my pops please", "Jens Berg"),
        ("Call Ana from work", "Ana Lund"),
        ("Call Ana from Boreal Boats", "Ana Lund"),
        ("Call Ana from Austral Boats", None),
        ("Call Ana", None),
        ("Call the kids' doctor", "Dr. Eva Holm"),
        ("Call my doctor", None),
    ],
)
def test_contact_by_nickname_organization_or_specialty(text: str, person: str | None) -> None:
    people = (
        Contact("Jens Berg", more={"nickname": "Pops"}),
        Contact("Ana Lund", more={"organization": "Boreal Boats"}),
        Contact("Ana Vik"),
        Contact("Dr. Eva Holm", more={"title": "Pediatrician"}),
        Contact("Dr. Nils Dahl", more={"title": "Cardiologist"}),
    )
    request = Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5))
    called = called_contact(PlanningInput(request, User("ines", {}, contacts=people)))
    assert (None if called is None else people[called].name) == person
