"""People whom a request names by their job title."""

from datetime import datetime

import pytest

from contextune.plan import PlanningInput
from contextune.plan.pointer.people.job_titles import titled_addressee
from contextune.plan.pointer.people.unknown_people import addressed_stranger, called_stranger
from contextune.types import Contact, Request, User

USER = User(
    "ines",
    contacts=(
        Contact("Marta Reis", "marta@example.org", None, "sister", {"title": "Bookkeeper"}),
        Contact("Rui Reis", "rui@example.org", None, None, {"title": "Stage manager"}),
        Contact("Bo Lund", "bo@example.org", None, None, {"title": "Driver"}),
        Contact("Ana Lund", "ana@example.org", None, None, {"title": "Driver"}),
    ),
)


def inputs_for(text: str) -> PlanningInput:
    return PlanningInput(Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5)), USER)


@pytest.mark.parametrize(
    ("text", "person"),
    [
        ("Write to the bookkeeper that it is paid", 0),
        ("email our manager that the lamp is broken", 1),
        ("Tell my sister that it is paid", None),  # by the relation
        ("Tell the driver that we wait", None),  # which of the two?
        ("Tell the bookkeeper's son that we wait", None),
        ("Tell the florist that we wait", None),
    ],
)
def test_job_title_names_whom_a_message_is_for(text: str, person: int | None) -> None:
    assert titled_addressee(inputs_for(text)) == person


def test_job_title_of_a_contact_is_no_stranger() -> None:
    assert called_stranger(inputs_for("Call the bookkeeper")) is None
    assert addressed_stranger(inputs_for("Tell the bookkeeper that it is paid")) is None
    assert addressed_stranger(inputs_for("Tell the florist that it is paid")) == "florist"
    assert addressed_stranger(inputs_for("Mail the invoice to Bo")) is None
