"""Doubts: calls that a word of the request rules out are never acted on."""

from dataclasses import replace
from datetime import datetime

import pytest

from contextune.plan import PlanningInput, PointerPlanner
from contextune.plan.calls.doubts.reasons import MAX_PROBABILITY, doubt
from contextune.plan.calls.doubts.strangers import dials_no_number
from contextune.plan.policy.policy import ACT
from contextune.tools import bundled_toolbox
from contextune.types import Argument, Contact, Item, ItemHit, Plan, Request, Source, User

TOOLS = {tool.name: tool for tool in bundled_toolbox()}
NOW = datetime(2026, 3, 5, 10, 5)
USER = User(
    "ines",
    {"name": "Ines Duarte"},
    contacts=(
        Contact("Marta Reis", "marta@example.org", "555-0150", "minister"),
        Contact("Bruno Rossi", "rossi@example.org", "555-0151"),
        Contact("Bruno Kosuta", "kosuta@example.org", "555-0152"),
    ),
)
KILN = Item.event(name="Kiln slot", start="2026-03-06T15:00", end="2026-03-06T16:00")
CLAY = Item.mail(
    subject="Clay order", content="Two bags.", author="marta@example.org", date="2026-03-04T09:00"
)

MISSED = Item.call(contact="Bruno Rossi", number="555-0151", direction="missed", date="2026-03-05T09:00")


def probability(text: str, tool: str, *items: Item) -> float:
    hits = [ItemHit(item, 1.0 - number / 10) for number, item in enumerate(items)]
    inputs = PlanningInput(Request(text, user="ines", time=NOW), USER, hits)
    plan = PointerPlanner().plan_tool(inputs, TOOLS[tool])
    assert plan is not None
    return doubt(replace(plan, confidence=0.95), TOOLS[tool], inputs).confidence


def test_no_default_threshold_lets_a_doubted_call_pass() -> None:
    assert min(ACT.values()) > MAX_PROBABILITY


@pytest.mark.parametrize(
    ("tool", "doubted", "sure"),
    [
        ("call_contact", "Call Bruno", "Call Bruno Rossi"),
        ("delete_email", "Delete all mails from Marta", "Delete the clay order mail after all"),
        ("cancel_event", "Cancel everything tomorrow", "Cancel the kiln slot tomorrow"),
        ("send_email", "Text Marta that I'm late", "Email Marta that I'm late"),
        ("send_email", "Tell Marta by WhatsApp that I'm late", "Tell Marta that I'm late"),
        ("read_email", "What's Marta's email address?", "What's in Marta's email?"),
        ("create_event", "Dentist on Thursday at eleven", "Dentist this Thursday at eleven"),
        ("create_event", "Dentist on Thursday at eleven", "Dentist on Friday at eleven"),
        ("read_email", "Read me the latest SMS from Marta", "Read me the latest mail from Marta"),
        ("pause_playback", "She's asleep, stop the vacuum", "She's asleep, stop the music"),
        ("read_email", "How old is Marta?", "What is Marta's mail about?"),
        ("read_email", "Read me the mail from Bruno Rossi", "Read me the mail from Marta"),
        ("forward_email", "Forward the rota mail to Bruno Rossi", "Forward the clay mail to Bruno Rossi"),
        (
            "forward_email",
            "Forward the rota mail to Bruno Rossi",
            "Forward the minister's mail to Bruno Rossi",
        ),
        (
            "send_email",
            "Tell Marta and Bruno Rossi that she was right",
            "Tell Marta that she was right",
        ),
        ("send_email", "Email Marta and Bruno Rossi that I'm late", "Email Marta that Bruno Rossi is late"),
        ("send_email", "Email Marta and Zebulon that I'm late", "Email Marta that Zebulon is late"),
        ("send_email", "Tell Bruno Rossi and my minister I'm late", "Tell my minister I'm late"),
        ("invite_participant", "Invite Marta and Bruno Rossi to the kiln", "Invite Marta to the kiln"),
        ("reply_to_email", "Answer all mails of Marta that it works", "Answer Marta that all of it works"),
        ("forward_email", "Forward the clay order to Marta", "Forward the clay order to Bruno Rossi"),
        ("forward_email", "Forward the ticket to Bruno Rossi", "Forward the order to Bruno Rossi"),
        ("forward_email", "Forward the clay invoices to Bruno Rossi", "Forward the order to Bruno Rossi"),
        ("delete_email", "Delete the mails from Marta", "Delete the mail from Marta"),
        ("cancel_event", "Cancel my kiln meetings", "Cancel my kiln meeting"),
        ("send_email", "Tell Marta's sister that I'm late", "Tell Marta that the clay is late"),
        ("reschedule_event", "Bring the party forward by an hour", "Bring the slot forward by an hour"),
        ("send_email", "Ask Marta when the boat with a flag", "Ask Marta when the boat sails"),
        ("send_email", "Tell Marta I'm late and turn the lights off", "Tell Marta I'm late and hungry"),
        ("read_email", "Open the clay order and print it", "Open the clay order and read it to me"),
        ("reply_to_email", "Thank Bruno Rossi for the clay", "Thank Marta for the clay"),
        ("reply_to_email", "Tell Bruno Rossi we need no clay", "Tell Marta we need no clay"),
        ("call_contact", "Call Marta on 555-0199", "Call Marta on 555-0150"),
        ("flag_email", "Archive the clay order mail", "Flag the clay order mail"),
        ("send_email", "Send Marta a photo", "Send Marta a mail that the photo is here"),
        ("send_email", "Send Mrs. Reis a photo, please", "Send Mrs. Reis a mail that the photo is here"),
        ("cancel_event", "Remove Marta from the kiln slot", "Remove the kiln slot from my calendar"),
        ("delete_email", "Remove a line from the clay order", "Delete the clay order mail from Marta"),
        ("cancel_event", "Cancel the clay order", "Cancel the kiln slot"),
        ("cancel_event", "Cancel karaoke", "Cancel the slot"),
        ("delete_email", "Delete the bank holiday sale mail", "Delete the clay bag order mail"),
        ("reschedule_event", "Move the party to Monday at six", "Move the kiln to Monday at six"),
        ("invite_participant", "Invite Marta to the party", "Invite Marta to the kiln slot"),
        ("delete_email", "Delete the newsletter", "Delete the clay order"),
        ("read_email", "Open the door", "Open the clay order"),
        ("search_emails", "Any mail from the landlord?", "Any mail from this week?"),
        ("skip_track", "What's next?", "Next one, please"),
        ("create_reminder", "Remind me at 4 pm", "Remind me at 4 pm of the clay order"),
        ("create_reminder", "Remind me tomorrow to buy clay", "Remind me tomorrow at 9 to buy clay"),
    ],
)
def test_call_is_doubted(tool: str, doubted: str, sure: str) -> None:
    items = (CLAY, KILN)
    assert probability(doubted, tool, *items) == MAX_PROBABILITY
    assert probability(sure, tool, *items) == 0.95


@pytest.mark.parametrize(
    ("text", "items", "is_doubted"),
    [
        ("What did Bruno Rossi say?", (), True),
        ("What did Bruno Rossi say?", (MISSED,), False),
        ("Play the voicemail of Bruno Rossi", (), False),
        ("What did Marta say?", (MISSED, CLAY), True),
    ],
)
def test_voice_message_needs_a_missed_call(text: str, items: tuple[Item, ...], is_doubted: bool) -> None:
    assert (probability(text, "play_voicemail", *items) == MAX_PROBABILITY) is is_doubted


def test_mail_of_one_of_two_namesakes_is_not_answered_unasked() -> None:
    swap = Item.mail(subject="Swap?", content="Sunday?", author="rossi@example.org", date="2026-03-04T09:00")
    assert probability("Tell Bruno yes", "reply_to_email", swap) == MAX_PROBABILITY
    assert probability("Reply to Bruno: yes", "reply_to_email", swap) == 0.95


def test_item_that_is_moved_keeps_its_hour_without_doubt() -> None:
    assert probability("Move the kiln slot to Monday", "reschedule_event", KILN) == 0.95


def test_item_without_a_word_of_the_question_is_not_shown_unasked() -> None:
    assert probability("What gate do I fly to Accra from?", "get_event", KILN) == MAX_PROBABILITY
    assert probability("What did the clay cost, two bags?", "get_event", KILN, CLAY) == MAX_PROBABILITY
    assert probability("When is the kiln slot?", "get_event", KILN, CLAY) > MAX_PROBABILITY
    assert probability("When is it?", "get_event", KILN, CLAY) > MAX_PROBABILITY


def test_one_of_two_events_named_alike_is_not_shown_unasked() -> None:
    other = Item.event(name="Kiln visit", start="2026-03-09T15:00", end="2026-03-09T16:00")
    assert probability("When is the kiln?", "get_event", KILN, other) == MAX_PROBABILITY
    assert probability("When is the kiln on Friday?", "get_event", KILN, other) > MAX_PROBABILITY
    assert probability("When is the next kiln?", "get_event", other, KILN) > MAX_PROBABILITY


def test_item_without_the_fact_is_not_shown_unasked() -> None:
    assert probability("What's my clay allowance?", "read_email", CLAY) == MAX_PROBABILITY
    assert probability("What's my clay order?", "read_email", CLAY) > MAX_PROBABILITY
    assert probability("What's the clay price?", "read_email", CLAY) > MAX_PROBABILITY


def test_topic_that_a_mail_lacks_is_not_read_unasked() -> None:
    assert probability("What did Marta say about the roof?", "read_email", CLAY) == MAX_PROBABILITY
    assert probability("What did Marta say about the bags?", "read_email", CLAY) > MAX_PROBABILITY


def test_calls_of_another_are_not_listed_unasked() -> None:
    text = "When did I last talk to Zebulon?"
    assert probability("When did I last talk to Bruno Rossi?", "get_call_history", MISSED) > MAX_PROBABILITY
    inputs = PlanningInput(Request(text, user="ines", time=NOW), USER, [ItemHit(MISSED, 1.0)])
    tool = TOOLS["get_call_history"]
    plan = Plan(tool.id, {"contact": Argument("Bruno Rossi")}, 0.95, name=tool.name)
    assert doubt(plan, tool, inputs).confidence == MAX_PROBABILITY


def test_item_with_the_name_that_is_said_is_not_passed_over() -> None:
    pay = Item.reminder(title="Pay Marta for May", due="2026-03-06T08:00", created="2026-03-01T19:00")
    paid = Item.mail(subject="Fee paid!", content="Done.", author="x@example.org", date="2026-03-04T09:00")
    text = "i've paid marta, mark it as done"
    assert probability(text, "complete_reminder", pay, paid) > MAX_PROBABILITY


DENTIST = Item.event(name="Dentist", start="2026-03-06T15:00", end="2026-03-06T16:00")
ALL = "Cancel it all"
"""What somebody calls an invitation, so that it is what the user may say."""


@pytest.mark.parametrize(
    ("text", "item", "is_doubted"),
    [
        ("Call the dentist", DENTIST, True),
        ("Call the dentist", Item.call(contact="Dentist", date="2026-03-04T09:00"), True),
        ("Call the dentist", Item.call(contact="Dentist", number="555-0190", date="2026-03-04T09:00"), False),
        ("Call Bruno Rossi", DENTIST, False),
    ],
)
def test_call_needs_somebody_with_a_number(text: str, item: Item, is_doubted: bool) -> None:
    inputs = PlanningInput(Request(text, user="ines", time=NOW), USER, [ItemHit(item, 1.0)])
    value, source = (
        ("Bruno Rossi", Source("contact")) if "Bruno" in text else ("Dentist", Source("item", item.id))
    )
    plan = Plan("call_contact", {"contact": Argument(value, (source,))}, 0.95)
    assert dials_no_number(plan, TOOLS["call_contact"], inputs) is is_doubted


@pytest.mark.parametrize("number", ["", "555-0190"])
def test_call_back_needs_a_number(number: str) -> None:
    missed = Item.call(contact="Dentist", number=number, direction="missed", date="2026-03-05T09:00")
    plan = Plan("return_missed_call", {"contact": Argument("Dentist", (Source("item", missed.id),))}, 0.95)
    request = Request("Call the dentist back", user="ines", time=NOW)
    inputs = PlanningInput(request, USER, [ItemHit(missed, 1.0)])
    assert dials_no_number(plan, TOOLS["return_missed_call"], inputs) is (not number)


@pytest.mark.parametrize(
    ("organizer", "is_doubted"), [("mallory@example.net", True), ("marta@example.org", False), (None, False)]
)
def test_only_own_titles_may_say_all(organizer: str | None, is_doubted: bool) -> None:
    event = Item.event(name="All Hands", start="2026-03-06T15:00", organizer=organizer)
    assert (probability("Cancel All Hands", "cancel_event", event) <= MAX_PROBABILITY) is is_doubted


@pytest.mark.parametrize("organizer", ["mallory@example.net", "marta@example.org", None])
@pytest.mark.parametrize("title", [ALL, "all", "It all", "everything", "Cancel all of it", "All events"])
def test_title_without_a_word_of_its_own_is_not_all(organizer: str | None, title: str) -> None:
    event = Item.event(name=title, start="2026-03-06T15:00", organizer=organizer)
    for text in (ALL, "Cancel all of it", "Cancel all events"):
        assert probability(text, "cancel_event", event) <= MAX_PROBABILITY
