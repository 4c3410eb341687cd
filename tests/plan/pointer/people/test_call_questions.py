"""Questions about past calls."""

from datetime import datetime

import pytest

from contextune.plan import PlanningInput
from contextune.plan.pointer.people.call_questions import (
    asked_caller,
    asks_for_calls,
    asks_for_calls_of_role,
    names_unknown_caller,
)
from contextune.types import Contact, Request, User

CONTACTS = (Contact("Marta Reis"), Contact("Rui Pinto", relation="brother"), Contact("Ana Sousa"))


def inputs_for(text: str) -> PlanningInput:
    return PlanningInput(
        Request(text, user="ines", time=datetime(2026, 3, 5)), User("ines", contacts=CONTACTS)
    )


@pytest.mark.parametrize(
    "text",
    [
        "Who called?",
        "who rang while I was out",
        "Who's tried to reach me this morning?",
        "Any missed calls?",
        "Have I missed any calls today?",
        "Did I miss a call?",
        "Show me my missed calls",
        "Did anybody ring me yesterday?",
    ],
)
def test_question_for_all_calls_names_nobody(text: str) -> None:
    inputs = inputs_for(text)
    assert asks_for_calls(inputs)
    assert asked_caller(inputs) is None


@pytest.mark.parametrize(
    ("text", "person"),
    [
        ("Did Marta call?", 0),
        ("Has my brother phoned yet?", 1),
        ("When did I last talk to Ana?", 2),
        ("When did Marta last ring me?", 0),
        ("Did I miss a call from Rui?", 1),
    ],
)
def test_question_for_calls_of_one_contact(text: str, person: int) -> None:
    assert asked_caller(inputs_for(text)) == person


@pytest.mark.parametrize(
    "text",
    [
        "Who called off the meeting?",
        "Who called? Ring them back.",
        "Call Marta",
        "Do I have any calls tomorrow?",
        "Return the missed call",
        "Did Marta write?",
    ],
)
def test_other_requests_do_not_ask_for_calls(text: str) -> None:
    assert not asks_for_calls(inputs_for(text))


def test_caller_who_is_not_stored_is_unknown() -> None:
    assert names_unknown_caller(inputs_for("Did Zebulon call?"))
    assert not names_unknown_caller(inputs_for("Did Marta call?"))
    assert not names_unknown_caller(inputs_for("Did anybody call?"))


def test_role_that_no_contact_has_may_have_called() -> None:
    assert asks_for_calls_of_role("Did the school ring this morning?")
    assert not asks_for_calls_of_role("Did you call?")
    assert not asks_for_calls_of_role("Did we call off the trip?")
