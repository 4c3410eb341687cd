"""The item that a question is about."""

from datetime import datetime

import pytest

from contextune.plan import PlanningInput
from contextune.plan.pointer.items.asked_item import asked_item, question_words
from contextune.types import Item, ItemHit, Request, User


def mail(subject: str, content: str) -> Item:
    return Item.mail(subject=subject, content=content, author="a@example.com", date="2026-03-01T09:00")


ITEMS = (
    Item("n3", "Notes", {"title": "Packing list", "content": "boots"}),
    Item.event(name="Train to Hamburg", start="2026-03-27T08:38"),
    mail("Your booking: Hamburg Hbf", "ICE 706, coach 12, seat 64, 54.90 EUR."),
    mail("Vacation days 2026", "You have 7 vacation days left."),
    Item.event(name="Ostermontag", start="2026-04-06T00:00"),
    Item.event(name="Karfreitag", start="2026-04-03T00:00"),
    Item("n1", "Notes", {"title": "Allergies", "content": "Mats: nuts."}),
    Item("n2", "Notes", {"title": "Bike lock", "content": "Combination 4719"}),
)


def inputs_for(text: str) -> PlanningInput:
    request = Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5))
    return PlanningInput(request, User("ines"), [ItemHit(item, 1.0) for item in ITEMS])


@pytest.mark.parametrize(
    ("text", "title", "certain"),
    [
        ("How many vacation days do I have left?", "Vacation days 2026", True),
        ("What seat do I have on the train?", "Your booking: Hamburg Hbf", False),
        ("When is the next holiday?", "Karfreitag", True),
        ("who is allergic to nuts", "Allergies", True),
        ("whats the combination of my bike lock", "Bike lock", True),
        ("Can you tell me when the train leaves?", "Train to Hamburg", False),
    ],
)
def test_words_of_a_question_name_an_item(text: str, title: str, certain: bool) -> None:
    asked = asked_item(inputs_for(text))
    assert asked is not None
    assert (ITEMS[asked.number].title, asked.certain) == (title, certain)


@pytest.mark.parametrize(
    "text",
    [
        "Move the train to eleven",
        "What do I have tomorrow?",
        "When is my next appointment?",
        "What's the weather in Hamburg?",
        "How many people live in Lagos?",
        "Remind me about the train",
        "When does the bike lock shop open?",
        "What's left on my todo list?",
        "What did the train people say?",
    ],
)
def test_other_requests_name_none(text: str) -> None:
    assert asked_item(inputs_for(text)) is None


def test_telling_words_leave_out_what_questions_have_in_common() -> None:
    assert question_words("When does the sprint review start on Friday?") == ("sprint", "review")
    assert question_words("Cancel the sprint review") == ()
