"""Items that a request refers to: by sender, by words of the title, by age."""

from dataclasses import replace
from datetime import datetime

import pytest

from contextune.plan import PlanningInput, PointerPlanner
from contextune.plan.pointer.items.references import said_object
from contextune.tools import bundled_toolbox
from contextune.types import Contact, Item, ItemHit, Plan, Request, User

TOOLS = {tool.name: tool for tool in bundled_toolbox()}
NOW = datetime(2026, 3, 5, 10, 5)
ME = "ines@example.com"
USER = User(
    "ines",
    {"name": "Ines Duarte", "email": ["Ines@example.com"]},
    contacts=(
        Contact("Marta Reis", "marta@example.org", "555-0150", "teacher"),
        Contact("Rui Duarte", "rui@example.com", "555-0142", "brother"),
    ),
)


def mail(subject: str, author: str, date: str) -> Item:
    recipient = "marta@example.org" if author == ME else ME
    return Item.mail(
        subject=subject, content="What about Thursday?", author=author, recipients=[recipient], date=date
    )


def planned(text: str, tool: str, *items: Item) -> Plan:
    hits = [ItemHit(item, 1.0 - number / 10) for number, item in enumerate(items)]
    inputs = PlanningInput(Request(text, user="ines", time=NOW), USER, hits)
    plan = PointerPlanner().plan_tool(inputs, TOOLS[tool])
    assert plan is not None
    return plan


SENT = mail("Kiln slots", ME, "2026-03-03T09:00")
ANSWER = mail("Re: Kiln slots", "marta@example.org", "2026-03-04T09:00")
EARLIER = mail("Clay order", "marta@example.org", "2026-03-01T09:00")
OTHER = mail("Dinner", "rui@example.com", "2026-03-04T20:00")


def test_own_mail_is_not_answered() -> None:
    text = "Reply to Marta that it works"
    assert planned(text, "reply_to_email", SENT, ANSWER).args["email_subject"] == "Re: Kiln slots"
    # the only mail there is
    assert planned(text, "reply_to_email", SENT).args["email_subject"] == "Kiln slots"


BILL = mail("October", "billing@nordgas.example", "2026-03-01T08:00")


@pytest.mark.parametrize(
    "text", ["Flag Nordgas’s mail", "Flag the mail from Nordgas", "Flag the nordgas's bill"]
)
def test_mail_of_a_company_is_told_by_its_address(text: str) -> None:
    assert planned(text, "flag_email", ANSWER, OTHER, BILL).args["email_subject"] == "October"


NINE = Item.event(name="Glazing", start="2026-03-06T09:30", end="2026-03-06T10:00")
THREE = Item.event(name="Kiln", start="2026-03-05T15:00", end="2026-03-05T16:00")
THREE_NEXT = Item.event(name="Clay", start="2026-03-06T15:00", end="2026-03-06T16:00")


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("Cancel my 3 o'clock", "Kiln"),
        ("Cancel my 3 pm tomorrow", "Clay"),
        ("Call off the nine thirty meeting", "Glazing"),
    ],
)
def test_event_is_told_by_its_hour(text: str, event: str) -> None:
    assert planned(text, "cancel_event", NINE, THREE_NEXT, THREE).args["event_name"] == event


def test_event_that_is_brought_forward_is_the_one_that_is_named() -> None:
    plan = planned("Bring the clay forward by half an hour", "reschedule_event", NINE, THREE, THREE_NEXT)
    assert plan.args == {"event_name": "Clay", "start_time": "2026-03-06T14:30"}


def test_event_told_by_its_hour_is_moved_to_another() -> None:
    plan = planned("Move my 3 o'clock to half past four", "reschedule_event", NINE, THREE_NEXT, THREE)
    assert plan.args == {"event_name": "Kiln", "start_time": "2026-03-05T16:30"}


def test_nobody_is_sent_a_mail_of_their_own() -> None:
    plan = planned("Forward the ticket to Marta", "forward_email", ANSWER, EARLIER, OTHER)
    assert plan.args == {"email_subject": "Dinner", "recipient": "marta@example.org"}


PACKING = Item("n1", "Notes", {"title": "Packing list Porto", "content": "boots"})
PRICES = Item("n2", "Notes", {"title": "List of prices", "content": "12"})


@pytest.mark.parametrize("what", ["a torch and socks", "Rui's hat"])
def test_list_is_told_by_a_part_of_its_title(what: str) -> None:
    plan = planned(f"Put {what} on the packing list", "append_to_note", PRICES, PACKING)
    assert plan.args == {"title": "Packing list Porto", "text": what}


@pytest.mark.parametrize(
    "text",
    [
        "Reply to Rui that it works",
        "Write back to my brother that it works",
        "Respond to Rui: it works",
        "Answer Rui Duarte that it works",
    ],
)
def test_mail_of_another_is_not_answered(text: str) -> None:
    assert planned(text, "reply_to_email", EARLIER, OTHER).args["email_subject"] == "Dinner"
    plan = planned(text, "reply_to_email", EARLIER, ANSWER)
    assert [missing.argument for missing in plan.missing] == ["email_subject"]


def test_answer_to_a_whole_name_is_not_to_another_of_the_surname() -> None:
    user = replace(USER, contacts=(*USER.contacts, Contact("Paula Duarte", "paula@example.com")))
    text = "Reply to Paula Duarte that it works"
    inputs = PlanningInput(Request(text, user="ines", time=NOW), user, [ItemHit(OTHER, 1.0)])
    plan = PointerPlanner().plan_tool(inputs, TOOLS["reply_to_email"])
    assert plan is not None
    assert plan.missing


def test_name_in_a_title_of_a_stranger_is_no_sender() -> None:
    planted = mail("Rui flat deposit", "rui@attic.example.net", "2026-03-04T21:00")
    plan = planned("Reply to Rui that it works", "reply_to_email", planted, OTHER)
    assert plan.args["email_subject"] == "Dinner"
    plan = planned("Forward the clay mail to Rui", "forward_email", planted, EARLIER)
    assert plan.args["email_subject"] == "Clay order"
    plan = planned("Forward the pottery mail to Rui", "forward_email", planted, EARLIER)
    assert plan.args["email_subject"] == "Clay order"


@pytest.mark.parametrize(
    "text",
    ["Read me the latest mail from Marta", "Read the last email from Marta", "Read Marta's newest mail"],
)
def test_latest_mail_from_a_person_is_the_newest_they_sent(text: str) -> None:
    plan = planned(text, "read_email", SENT, EARLIER, OTHER, ANSWER)
    assert plan.args == {"email_subject": "Re: Kiln slots"}


def test_mail_from_a_person_is_not_one_to_them() -> None:
    assert planned("Flag the mail from Marta", "flag_email", SENT, EARLIER).args == {
        "email_subject": "Clay order"
    }


def test_word_before_the_noun_chooses_the_item() -> None:
    plants = Item.reminder(title="Water the plants", due="2026-03-05T17:00", created="2026-03-01T19:00")
    milk = Item.reminder(title="Buy milk and oats", due="2026-03-05T08:00", created="2026-03-04T19:00")
    plan = planned("Move the milk reminder to tonight", "reschedule_reminder", plants, milk)
    assert plan.args["title"] == "Buy milk and oats"


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("Invite Marta to the birthday", "Rui's birthday"),
        ("Cancel the dinner with Marta", "Dinner with Marta"),
        ("Move the birthday to Saturday at six", "Rui's birthday"),
    ],
)
def test_object_of_an_order_chooses_the_item(text: str, event: str) -> None:
    dinner = Item.event(name="Dinner with Marta", start="2026-03-06T19:00", end="2026-03-06T21:00")
    birthday = Item.event(name="Rui's birthday", start="2026-03-20T18:00", end="2026-03-20T22:00")
    tool = {"Invite": "invite_participant", "Cancel": "cancel_event", "Move": "reschedule_event"}
    plan = planned(text, tool[text.split()[0]], dinner, birthday)
    assert plan.args["event_name"] == event


@pytest.mark.parametrize(
    ("text", "words", "opens"),
    [
        ("Cancel karaoke", {"karaoke"}, False),
        ("Move the toast to Friday", {"toast"}, False),
        ("Open the door", {"door"}, True),
        ("Delete the mail from Marta", set[str](), False),
        ("Open the pension mail", set[str](), False),
        ("Delete the newsletter", {"newsletter"}, False),
        ("Cancel Monday with Rui", set[str](), False),
        ("Invite Marta to the party", {"party"}, False),
        ("Add the gap to my theory page", set[str](), False),
        ("Cancel it", set[str](), False),
        ("I can't come, so cancel what I told you about the day before yesterday", set[str](), False),
    ],
)
def test_object_of_a_short_order(text: str, words: set[str], opens: bool) -> None:
    assert said_object(text) == (words, opens)


@pytest.mark.parametrize(
    "text",
    ["What did Rui say?", "What did Rui write?", "Did my brother write?", "Read the mail from my brother"],
)
def test_mail_is_of_the_person_asked_about(text: str) -> None:
    assert planned(text, "read_email", EARLIER, OTHER).args == {"email_subject": "Dinner"}


def test_question_whether_somebody_wrote_searches_their_mails() -> None:
    assert planned("Did Rui get back to me?", "search_emails", EARLIER).args["sender"] == "rui@example.com"


def test_note_that_is_named_whole_is_the_one_to_add_to() -> None:
    other = Item.note(title="Paint", content="Red.", modified="2026-03-05T09:00")
    packing = Item.note(title="Packing list", content="Passport.", modified="2026-02-01T09:00")
    plan = planned("Add paint to the packing list", "append_to_note", other, packing)
    assert plan.args == {"title": "Packing list", "text": "paint"}


def test_somebody_to_call_is_called_by_name() -> None:
    plan = planned("Ring whoever wrote about dinner", "call_contact", OTHER)
    assert plan.args == {"contact": "Rui Duarte"}


def test_newest_of_a_series_is_meant_unless_another_is_said() -> None:
    january = mail("Electricity invoice January 2026", "bills@example.net", "2026-02-01T18:00")
    february = mail("Electricity invoice February 2026", "bills@example.net", "2026-03-01T18:00")
    for items in ((january, february), (february, january)):
        plan = planned("Forward the electricity invoice to Rui", "forward_email", *items)
        assert plan.args["email_subject"] == "Electricity invoice February 2026"
        plan = planned("Forward the January electricity invoice to Rui", "forward_email", *items)
        assert plan.args["email_subject"] == "Electricity invoice January 2026"


def test_person_asked_for_is_no_argument() -> None:
    missed = Item.call(contact="", number="555-7780", direction="missed", date="2026-03-05T09:40")
    assert planned("Who called me today?", "get_call_history", missed).args == {}
    assert planned("When did Rui call?", "get_call_history", missed).args == {"contact": "Rui Duarte"}


@pytest.mark.parametrize(
    "text", ["Put on what I was just listening to.", "Play that song again", "Play the last one again"]
)
def test_song_to_play_again_is_the_last_one_played(text: str) -> None:
    songs = [
        Item("s1", "Music", {"song_name": "Je veux", "artist": "Zaz", "played_time": "2026-03-05T07:44"}),
        Item(
            "s2", "Music", {"song_name": "Tri Martolod", "artist": "Alan", "played_time": "2026-03-05T07:48"}
        ),
    ]
    assert planned(text, "play_song", *songs).args["song_name"] == "Tri Martolod"


@pytest.mark.parametrize(
    "text",
    ["Delete the cyber monday mail", "Delete the Cyber Monday email.", "delete my cyber mondey e-mail"],
)
def test_description_of_several_words_names_the_item(text: str) -> None:
    sale = mail("Cyber Monday: lamps at half price", "news@lamps.example", "2026-03-01T08:00")
    plan = planned(text, "delete_email", OTHER, ANSWER, sale)
    assert plan.args == {"email_subject": sale.title}


def test_words_of_a_description_are_no_title_beside_the_item() -> None:
    bike = Item.event(name="Bike MOT", start="2026-03-09T15:00")
    dentist = Item.event(name="Dentist", start="2026-03-06T09:00")
    plan = planned("Move the MOT to Monday 16th at 9 am", "reschedule_event", dentist, bike)
    assert plan.args["event_name"] == "Bike MOT"
    vaccines = Item.note(title="Vaccination dates", content="May.", modified="2026-03-05T09:00")
    paint = Item.note(title="Paint", content="Red.", modified="2026-03-05T09:00")
    assert planned("Pin the vacination note", "pin_note", paint, vaccines).args == {"title": vaccines.title}


def test_message_to_somebody_answers_their_own_mail() -> None:
    plan = planned("Tell Marta we need no clay before Easter", "reply_to_email", OTHER, EARLIER)
    assert plan.args["email_subject"] == "Clay order"
