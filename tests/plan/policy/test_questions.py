"""Questions in plain words: what the readings differ in, what is missing, what would be called."""

from typing import Any

import pytest
from tests.plan.policy.readings import BY_ID, TOOLS, call, question

from contextune.plan.multi_step.steps import Pointer
from contextune.plan.policy import Policy, Readings
from contextune.plan.policy.questions import ask_to_confirm
from contextune.plan.policy.wording import describe_plan, describe_tool
from contextune.types import Argument, Plan, Tool

MORNING, AFTERNOON = "2024-05-17T03:00", "2024-05-17T15:00"


def between(name: str, argument: str, *values: Any, **same: Any) -> tuple[str, list[str], str | None]:
    """The question between calls that differ in one argument, its labels, and what it asks for."""
    asked = question(*(call(name, 0.3, **{argument: value}, **same) for value in values))
    return asked.text, [option.label for option in asked.options], asked.argument


def test_people() -> None:
    names = ["Bruno Kosuta", "Bruno Rossi"]
    assert between("call_contact", "contact", *names) == (
        "Call Bruno Kosuta or Bruno Rossi?",
        names,
        "contact",
    )
    assert between("send_email", "recipient", *names, body="Hi")[0] == (
        "Send an email to Bruno Kosuta or Bruno Rossi?"
    )
    assert between("share_note", "recipient", *names, title="Kiln")[0] == (
        "Share the note with Bruno Kosuta or Bruno Rossi?"
    )


def test_things() -> None:
    assert between("read_note", "title", "Kiln slots", "Glazes", "Clay") == (
        "Which note: “Kiln slots”, “Glazes” or “Clay”?",
        ["Kiln slots", "Glazes", "Clay"],
        "title",
    )
    assert between("play_song", "song_name", "a", "b")[0] == "Which song: “a” or “b”?"
    assert between("reply_to_email", "email_subject", "a", "b", body="Yes")[0] == "Which email: “a” or “b”?"


@pytest.mark.parametrize(
    ("times", "text"),
    [
        ((MORNING, AFTERNOON), "At 3 in the morning or in the afternoon?"),
        (("2024-05-17T07:30", "2024-05-17T19:30"), "At 7:30 in the morning or in the evening?"),
        ((AFTERNOON, "2024-05-17T16:00"), "At 15:00 or 16:00?"),
        (("2024-05-17T00:00", "2024-05-17T12:00"), "At 00:00 or 12:00?"),
        ((AFTERNOON, "2024-05-18T15:00"), "On Friday 17 May or on Saturday 18 May?"),
        ((AFTERNOON, "2024-05-18T03:00"), "On Friday 17 May at 15:00 or on Saturday 18 May at 03:00?"),
    ],
)
def test_times_are_asked_by_what_they_differ_in(times: tuple[str, str], text: str) -> None:
    assert between("create_reminder", "due_time", *times, title="Stretch")[0] == text


def test_different_calls_are_said_in_full() -> None:
    asked = question(
        call("call_contact", 0.3, contact="Bruno Kosuta"),
        call("send_email", 0.25, recipient="Bruno Rossi", body="Hi"),
    )
    assert asked.text == "Call Bruno Kosuta, or send an email to Bruno Rossi, saying “Hi”?"
    assert asked.argument is None


def test_reading_that_lacks_the_argument_is_said_in_full() -> None:
    asked = question(call("get_weather", 0.3, location="Porto"), call("get_weather", 0.25))
    assert asked.text == "Get the weather in Porto, or get the weather?"


@pytest.mark.parametrize(
    ("name", "missing", "text"),
    [
        ("call_contact", ["contact"], "Who should I call?"),
        ("start_group_call", ["contacts"], "Who should I call?"),
        ("block_caller", ["contact"], "Who should I block?"),
        ("forward_email", ["recipient"], "Who should I forward the email to?"),
        ("send_email", ["recipient", "body"], "Who should I send an email to? What should it say?"),
        ("read_note", ["title"], "Which note?"),
        ("create_note", ["title"], "What should it be called?"),
        ("search_web", ["query"], "What should I search for?"),
        ("list_events", ["date"], "On which day?"),
        ("create_event", ["start_time"], "When?"),
        ("call_number", ["number"], "Which number?"),
    ],
)
def test_missing_arguments(name: str, missing: list[str], text: str) -> None:
    assert question(call(name, 0.9, *missing)).text == text


@pytest.mark.parametrize(
    ("name", "description", "text"),
    [
        ("mail_open", "Opens one mail.", "open the mail"),
        ("note-search", "Search your notes by words.", "search the note"),
        ("searchMail", "Search the mailbox.", "search the mail"),
        ("timerStart", "A countdown.", "start a timer"),
        ("remindMe", "Sets a reminder.", "remind me"),
        ("remove-from-list", "Takes an item off a list.", "remove from the list"),
        ("unread_texts", "Texts not read yet.", "use unread_texts"),
    ],
)
def test_the_verb_of_a_name_comes_first(name: str, description: str, text: str) -> None:
    assert describe_tool(Tool(name, description)) == text


@pytest.mark.parametrize(
    ("name", "args", "text"),
    [
        ("call_number", {"number": "555-0777"}, "call the number “555-0777”"),
        (
            "send_email",
            {"recipient": "rui@example.com", "subject": "Kiln", "body": "It is done."},
            "send an email to rui@example.com about “Kiln”, saying “It is done.”",
        ),
        (
            "reply_to_email",
            {"email_subject": "Kiln", "body": "Yes."},
            "reply to the email “Kiln”, saying “Yes.”",
        ),
        (
            "reschedule_event",
            {"event_name": "Lunch", "start_time": AFTERNOON},
            "reschedule the event “Lunch” to Friday 17 May at 15:00",
        ),
        ("start_group_call", {"contacts": ["Ana", "Rui", "Eva"]}, "start a group call with Ana, Rui and Eva"),
        ("return_missed_call", {"contact": "Rui"}, "return the missed call of Rui"),
        ("redial_last_number", {}, "redial the last number"),
        ("list_events", {"date": "2024-05-17"}, "list events on Friday 17 May"),
    ],
)
def test_calls_in_words(name: str, args: dict[str, Any], text: str) -> None:
    assert describe_plan(call(name, 0.5, **args), TOOLS[name]) == text


def test_confirmation_names_every_value() -> None:
    plan = call("send_email", 0.6, recipient="rui@example.com", subject="Kiln", body="Come at nine.")
    asked = question(plan)
    assert all(value in asked.text for value in plan.args.values())
    assert [option.plan for option in asked.options] == [plan]


def test_improbable_call_asks_for_its_weakest_argument() -> None:
    arguments = {"contact": Argument("Bruno Rossi", (), 0.2)}
    plan = Plan("PhoneCall/call_contact", arguments, 0.15, name="call_contact")
    asked = question(plan)
    assert (asked.text, asked.argument) == ("Call Bruno Rossi, or someone else?", "contact")
    certain = question(call("call_contact", 0.15, contact="Bruno Rossi"))
    assert (certain.text, certain.argument) == ("Call Bruno Rossi, or something else?", None)


def test_values_of_strangers_stay_on_one_short_line() -> None:
    asked = question(call("read_note", 0.4, title="a\n\x1b[2Jb\u202e " + "long " * 40))
    assert asked.text.isprintable()
    assert len(asked.text) < 90


def test_unusual_tools_have_questions_too() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "boolean"}, "n": {"type": "integer"}}}
    odd = Tool("_", "", parameters=schema)
    plan = Plan("_", {"x": Argument(value=True), "n": Argument(Pointer(0))}, 0.4)
    assert ask_to_confirm(plan, odd).text == "Use _, x yes, n the result of step 1?"
    decided = Policy().decide(Readings((plan,)), {"_": odd, **BY_ID}.__getitem__)
    assert decided is not None
    assert decided.decision == "ask"
