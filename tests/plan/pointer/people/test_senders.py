"""Senders of messages who are no contacts."""

from datetime import datetime

import pytest

from contextune.plan import PlanningInput, PointerPlanner
from contextune.plan.pointer.people.senders import is_of_another, not_sent_by
from contextune.tools import bundled_toolbox
from contextune.types import Contact, Item, ItemHit, Request, User

SEARCH = next(tool for tool in bundled_toolbox() if tool.name == "search_emails")


def mail(author: str, name: str, subject: str) -> Item:
    return Item.mail(subject=subject, content=f"Hello.\nFrom: {name}", author=author, date="2026-03-01T09:00")


ITEMS = (
    mail("marta@example.org", "Marta Reis", "School bags"),
    mail("office@alborada.example", "Colegio Alborada", "Trip"),
    mail("sales@turbus.example", "Ventas", "Tickets"),
    mail("a@north.example", "Clinic North", "Bill"),
    mail("b@south.example", "Clinic South", "Bill"),
)
CONTACTS = (Contact("Marta Reis", "marta@example.org", relation="sister"),)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("Show me the mails from the school", {"sender": "office@alborada.example"}),
        ("find emails from turbus", {"sender": "sales@turbus.example"}),
        ("Show me the mails from my sister", {"sender": "marta@example.org"}),
        ("Show me mails from Zebulon", {"text": "Zebulon"}),
    ],
)
def test_search_takes_the_company_or_the_person_as_sender(text: str, arguments: dict[str, str]) -> None:
    assert search(text) == arguments


@pytest.mark.parametrize("text", ["Show me the mails from the bank", "Show me the mails from the clinic"])
def test_unknown_sender_is_searched_without_the_words_around(text: str) -> None:
    assert search(text).get("text") in (None, text.split()[-1])


def test_question_for_mails_of_an_unknown_sender_searches_no_text() -> None:
    assert "text" not in search("Any mails from the bank?")


def test_mail_of_a_described_sender_is_of_the_one_who_is_called_so() -> None:
    inputs = inputs_for("Open the mail from the school")
    assert not_sent_by(inputs) == {0, 2, 3, 4}
    assert [is_of_another(item, inputs) for item in ITEMS[:2]] == [False, False]  # one is about school bags


@pytest.mark.parametrize(
    ("text", "is_another"),
    [
        ("Open the mail from the florist", True),
        ("Open the mail from my sister", False),
        ("Open the mail from Zebulon", False),
        ("Open the mail", False),
    ],
)
def test_mail_of_a_described_sender_is_not_somebody_elses(text: str, is_another: bool) -> None:
    assert is_of_another(ITEMS[0], inputs_for(text)) is is_another


def search(text: str) -> dict[str, object]:
    plan = PointerPlanner().plan_tool(inputs_for(text), SEARCH)
    assert plan is not None
    return dict(plan.args)


def inputs_for(text: str) -> PlanningInput:
    user = User("ines", {}, contacts=CONTACTS)
    request = Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5))
    return PlanningInput(request, user, [ItemHit(item, 1.0) for item in ITEMS])
