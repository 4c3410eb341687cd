"""The item that a question is about."""

from collections.abc import Sequence
from datetime import datetime

import pytest

from contextune.plan import PlanningInput
from contextune.plan.pointer.items.asked_item import asked_item, question_words
from contextune.types import Contact, Item, ItemHit, Request, User


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


def inputs_for(text: str, items: Sequence[Item] = ITEMS) -> PlanningInput:
    request = Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5))
    contacts = (Contact("Dr. Rui Pinto", "rui@example.com"), Contact("Ana Sousa", "ana@example.com"))
    contacts = (*contacts, Contact("Luis Vale", "garage@example.com", more={"nickname": "Lucho"}))
    return PlanningInput(request, User("ines", contacts=contacts), [ItemHit(item, 1.0) for item in items])


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("How much was the last water bill?", "Water bill for February"),
        ("how much was my latest water bill", "Water bill for February"),
        ("How much was the water bill for January?", "Water bill for January"),
    ],
)
def test_last_of_several_is_the_newest(text: str, title: str) -> None:
    bills = [
        Item.mail(subject=f"Water bill for {month}", content="31.20", author="a@example.com", date=date)
        for month, date in (("January", "2026-02-01T09:00"), ("February", "2026-03-01T09:00"))
    ]
    asked = asked_item(inputs_for(text, bills))
    assert asked is not None
    assert bills[asked.number].title == title


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


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Is my train booked?", "Train to Hamburg"),
        ("was our booking ok", "Your booking: Hamburg Hbf"),
        ("Are the vacation days confirmed yet?", "Vacation days 2026"),
    ],
)
def test_how_something_turned_out_is_proposed_from_the_item_about_it(text: str, title: str) -> None:
    asked = asked_item(inputs_for(text))
    assert asked is not None
    assert (ITEMS[asked.number].title, asked.certain, asked.has_fact) == (title, False, True)


def test_item_that_says_the_state_answers_before_one_of_the_same_name() -> None:
    items = (
        Item.event(name="Drop off the bike", start="2026-03-02T10:00"),
        mail("It is ready", "Your bike."),
    )
    asked = asked_item(inputs_for("Is my bike ready?", items))
    assert asked is not None
    assert asked.app == "Mail"
    assert asked_item(inputs_for("Is my coat ready?", items)) is None


def test_telling_words_leave_out_what_questions_have_in_common() -> None:
    assert question_words("When does the sprint review start on Friday?") == ("sprint", "review")
    assert question_words("Cancel the sprint review") == ()


FLIGHT = Item.event(name="ZX 417 Porto-Oslo", start="2026-03-20T06:00")
TICKET = mail("Travel documents Porto - Oslo", "ZX 417, boarding 05:15, hand luggage only. 89.99 EUR.")
EXPRESS = Item.event(name="Northern Express to Lund", start="2026-03-27T08:38")


def title_for(text: str, *items: Item) -> str | None:
    asked = asked_item(inputs_for(text, items))
    return None if asked is None else items[asked.number].title


def test_flight_number_and_route_are_a_flight() -> None:
    assert title_for("When do I fly?", FLIGHT, *ITEMS) == FLIGHT.title
    assert title_for("How much did I pay for the flight?", TICKET, *ITEMS) == TICKET.title
    assert title_for("When do I fly?", *ITEMS) is None
    meeting = Item.event(name="Q3 2026 review", start="2026-03-20T06:00")
    assert title_for("When is my flight?", meeting) is None


def test_day_of_a_question_is_no_word_of_the_item() -> None:
    other = Item.event(name="Leave talk", start="2026-03-06T09:00")
    assert title_for("What time does my train leave on the 27th?", other, EXPRESS) == EXPRESS.title


def test_event_of_the_day_answers_before_a_note() -> None:
    note = Item("n9", "Notes", {"title": "Quiz team", "content": "Ana, Rui"})
    quiz = Item.event(name="School quiz", start="2026-03-07T14:00")
    asked = asked_item(inputs_for("Where's the quiz on Saturday?", (note, quiz)))
    assert asked is not None
    assert (asked.number, asked.certain) == (1, True)


def test_two_events_ahead_are_not_certain() -> None:
    back = Item.event(name="Flight to Porto", start="2026-03-24T06:00")
    there = Item.event(name="Flight to Oslo", start="2026-03-20T06:00")
    asked = asked_item(inputs_for("When is my flight?", (back, there)))
    assert asked is not None
    assert asked.is_one_of_several
    assert not asked.certain
    past = Item.event(name="Flight to Oslo", start="2026-02-20T06:00")
    assert title_for("When is my flight?", past, back) == back.title


def test_item_without_the_fact_does_not_answer() -> None:
    ticket = mail("E-ticket 417", "Train 12, coach C4, seat 41.")
    assert title_for("Which seat do I have on the train to Lund?", EXPRESS, ticket) == ticket.title


def test_what_somebody_said_is_in_their_own_mail() -> None:
    def from_(author: str, subject: str, content: str) -> Item:
        return Item.mail(subject=subject, content=content, author=author, date="2026-03-01T09:00")

    sister = from_("ana@example.com", "Leo school", "Did the doctor say anything about his ear?")
    doctor = from_("rui@example.com", "Leo: ear drops", "Three drops.")
    assert title_for("What did the doctor say about Leo's ear?", sister, doctor) == doctor.title
    assert title_for("What did Rui say about the roof?", sister, doctor) is None


@pytest.mark.parametrize("name", ["Lucho", "Luis", "lucho"])
def test_nickname_names_the_mails_of_a_contact(name: str) -> None:
    bill = Item.mail(
        subject="Your car", content="Brakes, 165.", author="garage@example.com", date="2026-03-01T09:00"
    )
    other = mail("Your bike", "Brakes, 40.")
    asked = asked_item(inputs_for(f"How much did {name} want for the brakes?", (other, bill)))
    assert asked is not None
    assert (asked.number, asked.certain) == (1, True)


def test_list_of_a_question_is_a_note() -> None:
    order = mail("Your pharmacy order arrives today", "Two parcels.")
    note = Item("n9", "Notes", {"title": "Pharmacies", "content": "plasters"})
    assert title_for("What's on my pharmacy list?", order, note) == note.title
    assert title_for("When does the pharmacy order arrive?", order, note) == order.title


def test_inflection_in_the_title_is_the_word() -> None:
    asked = asked_item(inputs_for("What do I have to pack for Sunday?"))
    assert asked is not None
    assert (ITEMS[asked.number].title, asked.certain) == ("Packing list", True)


def test_what_is_charged_is_a_price() -> None:
    task = Item.reminder(title="Charge the drill", due="2026-03-06T08:00", created="2026-03-01T19:00")
    prices = Item("n9", "Notes", {"title": "Prices", "content": "Half day 180 EUR, full day 320 EUR"})
    assert title_for("what do I charge for half a day", prices, task) == prices.title


def test_only_word_in_the_text_of_the_best_item_alone_is_certain() -> None:
    roof = mail("Roof on Friday", "From May on, the storage fee is 84 EUR.")
    for items, certain in (((roof, *ITEMS), True), ((*ITEMS[:3], roof), False)):
        asked = asked_item(inputs_for("How much is the storage going up to?", items))
        assert asked is not None
        assert (items[asked.number], asked.certain) == (roof, certain)


def test_note_has_a_password_without_the_word() -> None:
    note = Item("n9", "Notes", {"title": "Workshop", "content": "Wifi: foggy-lantern"})
    asked = asked_item(inputs_for("WHAT'S THE WIFI PASSWORD IN THE WORKSHOP", (*ITEMS[:3], note)))
    assert asked is not None
    assert (asked.number, asked.certain) == (3, True)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("find the boat insurance policy", "Boat insurance policy 2026"),
        ("Show me the boat insurance", "Boat insurance policy 2026"),
        ("find the insurance", None),
        ("Find the boat harbour", None),
        ("what did I write down about Rui's boat", "Boat jobs for Rui"),
    ],
)
def test_order_to_show_an_item_says_its_title(text: str, title: str | None) -> None:
    policy = mail("Boat insurance policy 2026", "Attached, for Rui Pinto.")
    jobs = Item("n9", "Notes", {"title": "Boat jobs for Rui", "content": "Sand the keel."})
    assert title_for(text, policy, jobs) == title
