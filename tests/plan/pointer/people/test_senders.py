"""Senders of messages who are no contacts."""

from datetime import datetime

import pytest

from contextune.plan import PlanningInput, PointerPlanner
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


def search(text: str) -> dict[str, object]:
    user = User("ines", {}, contacts=CONTACTS)
    request = Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5))
    inputs = PlanningInput(request, user, [ItemHit(item, 1.0) for item in ITEMS])
    plan = PointerPlanner().plan_tool(inputs, SEARCH)
    assert plan is not None
    return dict(plan.args)
