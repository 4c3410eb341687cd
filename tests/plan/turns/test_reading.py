"""Replies to earlier turns, over bundled tools and over a catalogue of one's own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from contextune.plan.policy.questions import ask_for_missing, ask_to_confirm
from contextune.plan.turns.reading import TurnReading, next_state, read_turn
from contextune.tools import bundled_toolbox
from contextune.tools.catalog import Catalog
from contextune.types import (
    Argument,
    Contact,
    Item,
    ItemHit,
    Missing,
    Option,
    Plan,
    Question,
    Request,
    Source,
    Tool,
    Turn,
    TurnState,
    User,
)
from contextune.types.state_json import state_from_json, state_to_json

NOW = datetime(2024, 5, 15, 18)
MOMENT = {"type": "string", "format": "date-time"}
OWN = [
    Tool("todo_add", "Adds a task", app="daylist", parameters={
        "properties": {"content": {"type": "string"}, "due": MOMENT}, "required": ["content", "due"]}),
    Tool("book_table", "Books a table", app="tables", parameters={
        "properties": {"venue": {"type": "string"}, "when": MOMENT, "until": MOMENT,
                       "party_size": {"type": "integer", "minimum": 1, "maximum": 20}},
        "required": ["venue", "when", "party_size"]}),
    Tool("set_timer", "Sets a timer", app="clock", parameters={
        "properties": {"minutes": {"type": "integer"}}, "required": ["minutes"]}),
    Tool("send_text", "Sends a text message", app="phone", parameters={
        "properties": {"recipient": {"type": "string"}, "message": {"type": "string"}},
        "required": ["recipient", "message"]}),
    Tool("mail_drop", "Deletes a mail", app="mailer", parameters={
        "properties": {"subject": {"type": "string"}}, "required": ["subject"]}),
    Tool("route", "Shows a route", app="maps", parameters={
        "properties": {"to": {"type": "string"}, "mode": {"enum": ["walking", "cycling"]}},
        "required": ["to"]}),
]  # fmt: skip
CATALOG = Catalog([*bundled_toolbox(), *OWN])
USER = User(
    "me",
    {"name": "Ines Duarte", "email": "ines@example.com"},
    contacts=(
        Contact("Anna Lind", email="anna@example.org", relation="sister"),
        Contact("Rui Costa", email="rui@example.org"),
        Contact("Mike Donahue"),
        Contact("Mike Sforza"),
    ),
)
ITEMS = [
    Item.mail(id="m1", author="rui@example.org", subject="Kiln slots", content="", date="2024-05-13T09:00"),
    Item.mail(id="m2", author="ana@example.org", subject="Clay order", content="", date="2024-05-12T09:00"),
    Item.event(id="c1", name="Dentist", start="2024-05-21T09:00"),
]
BY_ID = {item.id: item for item in ITEMS}
SHOWN = ("m1", "m2", "c1")
VERBS = frozenset(["call", "set", "remind", "play", "delete", "open", "skip"])


def call(tool: str, decision: str = "confirm", missing: Sequence[str] = (), **values: Any) -> Plan:
    """A call as an answer has it, with its question."""
    arguments = {name: Argument(value) for name, value in values.items()}
    plan = Plan(tool, arguments, 0.6, tuple(Missing(name, f"{name}?") for name in missing))
    found = CATALOG.tool(tool)
    plan = replace(plan, name=found.name)
    if missing:
        return replace(plan, decision="ask", question=ask_for_missing(plan, found))
    if decision == "act":
        return replace(plan, decision="act")
    return replace(plan, decision="confirm", question=ask_to_confirm(plan, found))


def state_of(plan: Plan | None, text: str = "Do it", **values: Any) -> TurnState:
    open_plan = plan if plan and plan.question else None
    return TurnState(text, plan, open_plan, **values)


def read(state: TurnState, text: str) -> TurnReading | None:
    """What a text says, after the state has gone to a client and back."""

    def load(ids: Sequence[str] | None) -> Sequence[Item]:
        return ITEMS if ids is None else [BY_ID[item] for item in ids if item in BY_ID]

    def find(name: str) -> Tool | None:
        return CATALOG.tool(name) if name in {tool.id for tool in CATALOG} else None

    history = (Turn("user", state.text),) if state.text else ()
    request = Request(text, "me", NOW, history=history, state=state_from_json(dict(state_to_json(state))))
    return read_turn(request, USER, load, find, VERBS)


REMINDER: Mapping[str, Any] = {"title": "water the ferns", "due_time": "2024-05-16T09:00"}
TASK: Mapping[str, Any] = {"content": "water the ferns", "due": "2024-05-16T09:00"}
TABLE: Mapping[str, Any] = {"venue": "Luigi's", "when": "2024-05-17T19:00", "party_size": 4}
MAIL: Mapping[str, Any] = {"recipient": "rui@example.org", "body": "I am late"}
TEXT: Mapping[str, Any] = {"recipient": "Rui Costa", "message": "I am late"}


@pytest.mark.parametrize(
    ("tool", "values", "text", "name", "value"),
    [
        ("Reminders/create_reminder", REMINDER, "make it 10", "due_time", "2024-05-16T10:00"),
        ("daylist/todo_add", TASK, "make it 10", "due", "2024-05-16T10:00"),
        ("Reminders/create_reminder", REMINDER, "no, Sunday", "due_time", "2024-05-19T09:00"),
        ("daylist/todo_add", TASK, "no, sunday", "due", "2024-05-19T09:00"),
        ("daylist/todo_add", TASK, "actually at half past eight", "due", "2024-05-16T08:30"),
        ("daylist/todo_add", TASK, "tomorrow at 8 pm", "due", "2024-05-16T20:00"),
        ("daylist/todo_add", TASK, "make it half an hour later", "due", "2024-05-16T09:30"),
        ("tables/book_table", TABLE, "make it 8 pm", "when", "2024-05-17T20:00"),
        ("tables/book_table", TABLE, "make it 5 people", "party_size", 5),
        ("clock/set_timer", {"minutes": 5}, "make it 7", "minutes", 7),
        ("clock/set_timer", {"minutes": 5}, "no, 10 minutes", "minutes", 10),
        ("Mail/send_email", MAIL, "to Anna instead", "recipient", "anna@example.org"),
        ("phone/send_text", TEXT, "to Anna instead", "recipient", "Anna Lind"),
        ("phone/send_text", TEXT, "no, to my sister", "recipient", "Anna Lind"),
        ("maps/route", {"to": "Kiel", "mode": "walking"}, "make it cycling", "mode", "cycling"),
        ("Reminders/create_reminder", {"title": "water the ferns"}, "tomorrow at nine", "due_time",
         "2024-05-16T09:00"),
        ("daylist/todo_add", TASK, "make it louder", None, None),
        ("daylist/todo_add", TASK, "no, call Rui", None, None),
        ("daylist/todo_add", TASK, "when is the dentist?", None, None),
        ("phone/send_text", TEXT, "Anna", None, None),
    ],
)  # fmt: skip
def test_correction_replaces_the_value_of_its_kind(
    tool: str, values: Mapping[str, Any], text: str, name: str | None, value: object
) -> None:
    reading = read(state_of(call(tool, **values)), text)
    if name is None:
        assert reading is None or reading.reply is None
        return
    assert reading is not None
    assert reading.reply is not None
    assert reading.plan is not None
    assert reading.plan.args == {**values, name: value}
    assert (reading.reply.kind, reading.plan.decision) == ("corrected", "confirm")


def test_correction_of_a_value_that_the_call_lacks_changes_nothing() -> None:
    reading = read(state_of(call("Mail/send_email", **MAIL)), "no, Sunday")
    assert reading is not None
    assert reading.reply is not None
    assert (reading.reply.text, reading.plan) == ("The last call has no such value.", None)


def test_corrected_call_carries_no_earlier_question() -> None:
    reading = read(state_of(call("daylist/todo_add", **TASK)), "make it 10")
    assert reading is not None
    assert reading.plan is not None
    assert reading.plan.question is not None
    assert [option.plan.question for option in reading.plan.question.options] == [None]


def test_corrected_call_is_made_only_if_the_old_one_was() -> None:
    reading = read(state_of(call("daylist/todo_add", "act", **TASK)), "make it 10")
    assert reading is not None
    assert reading.plan is not None
    assert reading.plan.ready


def test_value_that_the_schema_refuses_is_asked_for() -> None:
    reading = read(state_of(call("tables/book_table", **TABLE)), "make it 50 people")
    assert reading is not None
    assert reading.plan is not None
    assert [missing.argument for missing in reading.plan.missing] == ["party_size"]
    assert reading.plan.decision == "ask"


def test_number_that_may_be_two_arguments_is_asked_about() -> None:
    reading = read(state_of(call("tables/book_table", **TABLE)), "make it 8")
    assert reading is not None
    assert reading.plan is not None
    assert reading.plan.question is not None
    options = [option.plan.args for option in reading.plan.question.options]
    assert options == [{**TABLE, "when": "2024-05-17T20:00"}, {**TABLE, "party_size": 8}]


def test_event_that_is_moved_keeps_its_length() -> None:
    reading = read(state_of(call("tables/book_table", **TABLE, until="2024-05-17T21:00")), "no, Saturday")
    assert reading is not None
    assert reading.plan is not None
    assert (reading.plan.args["when"], reading.plan.args["until"]) == ("2024-05-18T19:00", "2024-05-18T21:00")


@pytest.mark.parametrize(
    ("tool", "values", "missing", "text", "value"),
    [
        ("daylist/todo_add", {"content": "water the ferns"}, "due", "tomorrow at nine", "2024-05-16T09:00"),
        ("tables/book_table", {"venue": "Luigi's", "when": "2024-05-17T19:00"}, "party_size", "four", 4),
        ("tables/book_table", {"venue": "Luigi's", "party_size": 4}, "when", "Friday at 7 pm",
         "2024-05-17T19:00"),
        ("PhoneCall/call_contact", {}, "contact", "Anna", "Anna Lind"),
        ("phone/send_text", {"message": "Hi"}, "recipient", "my sister", "Anna Lind"),
        ("phone/send_text", {"recipient": "Anna Lind"}, "message", "I am late", "I am late"),
        ("Mail/delete_email", {}, "email_subject", "the clay order", "Clay order"),
        ("mailer/mail_drop", {}, "subject", "the clay order", "Clay order"),
    ],
)  # fmt: skip
def test_bare_value_answers_the_open_question(
    tool: str, values: Mapping[str, Any], missing: str, text: str, value: object
) -> None:
    reading = read(state_of(call(tool, missing=[missing], **values)), text)
    assert reading is not None
    assert reading.reply is not None
    assert reading.plan is not None
    assert reading.plan.args == {**values, missing: value}
    assert (reading.reply.kind, reading.plan.missing) == ("filled", ())


def test_person_who_is_unknown_is_asked_for_again() -> None:
    reading = read(state_of(call("PhoneCall/call_contact", missing=["contact"])), "Thompson")
    assert reading is not None
    assert reading.plan is not None
    assert reading.plan.question is not None
    assert reading.plan.question.text == "“Thompson” is not among your contacts. Who should I call?"


def test_namesakes_are_asked_about() -> None:
    reading = read(state_of(call("PhoneCall/call_contact", missing=["contact"])), "Mike")
    assert reading is not None
    assert reading.plan is not None
    assert reading.plan.question is not None
    assert [option.label for option in reading.plan.question.options] == ["Mike Donahue", "Mike Sforza"]


@pytest.mark.parametrize("text", ["Call Anna", "What is the weather?", "skip this song"])
def test_new_request_leaves_the_question_open(text: str) -> None:
    asked = call("daylist/todo_add", missing=["due"], content="water the ferns")
    before = state_of(asked)
    assert read(before, text) is None
    made = call("Music/skip_track", "act")
    after = next_state(before, text, made, (), None)
    assert (after.call, after.pending) == (made, asked)
    reading = read(after, "tomorrow at nine")
    assert reading is not None
    assert reading.plan is not None
    assert reading.plan.tool == "daylist/todo_add"


def mikes(tool: str, name: str) -> TurnState:
    plans = [call(tool, **{name: person}) for person in ("Mike Donahue", "Mike Sforza")]
    plain = [replace(plan, decision=None, question=None) for plan in plans]
    options = tuple(Option(plan.args[name], plan) for plan in plain)
    plan = replace(plain[0], decision="ask", question=Question("Which Mike?", options, name))
    return state_of(plan)


@pytest.mark.parametrize("tool", ["PhoneCall/call_contact", "phone/send_text"])
@pytest.mark.parametrize(
    ("line", "chosen"),
    [("2", "Mike Sforza"), ("the second one", "Mike Sforza"), ("Number 1", "Mike Donahue"),
     ("the last one, please", "Mike Sforza"), ("first", "Mike Donahue"), ("Sforza", "Mike Sforza"),
     ("I mean Mike Sforza", "Mike Sforza"), ("donahue please", "Mike Donahue")],
)  # fmt: skip
def test_option_is_chosen_by_number_or_name(tool: str, line: str, chosen: str) -> None:
    if tool == "phone/send_text":
        state = mikes(tool, "recipient")
        options = state.pending.question.options if state.pending and state.pending.question else ()
        full = tuple(
            replace(
                option,
                plan=replace(option.plan, arguments={**option.plan.arguments, "message": Argument("Hi")}),
            )
            for option in options
        )
        assert state.pending is not None
        assert state.pending.question is not None
        pending = replace(
            full[0].plan, decision="ask", question=replace(state.pending.question, options=full)
        )
        state = replace(state, call=pending, pending=pending)
    else:
        state = mikes(tool, "contact")
    reading = read(state, line)
    assert reading is not None
    assert reading.reply is not None
    assert reading.plan is not None
    assert (reading.reply.kind, reading.plan.decision) == ("chosen", "act")
    assert chosen in reading.plan.args.values()


@pytest.mark.parametrize("line", ["3", "when does Sforza come?", "play the second one again", "a"])
def test_other_lines_choose_no_option(line: str) -> None:
    reading = read(mikes("PhoneCall/call_contact", "contact"), line)
    assert reading is None or reading.reply is None or reading.reply.kind != "chosen"


@pytest.mark.parametrize(
    ("line", "kind"), [("Yes!", "unclear"), ("neither", "left"), ("no thanks", "left"), ("thanks", "talk")]
)
def test_yes_between_several_asks_again_and_no_leaves(line: str, kind: str) -> None:
    before = mikes("PhoneCall/call_contact", "contact")
    reading = read(before, line)
    assert reading is not None
    assert reading.reply is not None
    assert (reading.reply.kind, reading.plan) == (kind, None)
    after = next_state(before, line, None, (), reading)
    assert (after.pending is None) == (kind == "left")


@pytest.mark.parametrize("tool", ["Mail/delete_email", "mailer/mail_drop"])
def test_yes_takes_the_only_call(tool: str) -> None:
    name = "subject" if tool == "mailer/mail_drop" else "email_subject"
    reading = read(state_of(call(tool, **{name: "Clay order"})), "yes please")
    assert reading is not None
    assert reading.plan is not None
    assert reading.plan.ready


def test_yes_without_a_question_asks_nothing() -> None:
    reading = read(TurnState(), "yes")
    assert reading is not None
    assert reading.reply is not None
    assert reading.reply.text == "No question is open."


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("the second one", "m2"),
        ("open the second one", "m2"),
        ("delete the first mail", "m1"),
        ("reply to number 2 that I will come", "m2"),
        ("open the clay one", "m2"),
        ("the one from rui", "m1"),
        ("first one to sunday", "m1"),
        ("do that one", "c1"),
        ("move it to ten", "c1"),
        ("remind me half an hour before", "c1"),
        ("how do I get there?", "c1"),
        ("until when?", "c1"),
        ("and where?", "c1"),
        ("move the lunch to the second", None),
        ("the last mail from Rui", None),
        ("is it going to rain?", None),
        ("play Bohemian Rhapsody", None),
    ],
)
def test_item_that_was_shown_is_meant(text: str, item: str | None) -> None:
    reading = read(state_of(None, "What is there?", items=SHOWN, about="c1"), text)
    meant = reading.referent.item if reading and reading.referent else None
    assert (meant.id if meant else None) == item


@pytest.mark.parametrize(
    ("tool", "name"), [("Mail/delete_email", "email_subject"), ("mailer/mail_drop", "subject")]
)
def test_last_call_is_made_over_another_item(tool: str, name: str) -> None:
    plan = call(tool, **{name: "Kiln slots"})
    source = (Source("item", "m1", "subject"),)
    plan = replace(plan, arguments={name: Argument("Kiln slots", source)})
    reading = read(state_of(plan, items=SHOWN, about="m1"), "the second mail")
    assert reading is not None
    assert reading.plan is not None
    assert (reading.plan.args, reading.plan.decision) == ({name: "Clay order"}, "confirm")


def test_state_of_another_catalogue_is_left_out() -> None:
    unknown = replace(call("daylist/todo_add", **TASK), tool="gone/tool")
    assert read(state_of(unknown), "make it 10") is None
    wrong = call("tables/book_table", **{**TABLE, "party_size": "many"})
    assert read(state_of(wrong), "make it 8 pm") is None


def test_state_names_the_item_that_a_call_takes_its_values_from() -> None:
    plan = replace(call("Calendar/get_event", event_name="Dentist"), decision="act", question=None)
    plan = replace(plan, arguments={"event_name": Argument("Dentist", (Source("item", "c1", "event_name"),))})
    context = [ItemHit(BY_ID["m1"], 1.0), ItemHit(BY_ID["c1"], 0.5)]
    assert next_state(None, "When is it?", plan, context, None).about == "c1"
