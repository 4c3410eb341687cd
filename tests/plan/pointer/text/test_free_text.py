"""Free text in the user's words."""

from collections.abc import Collection
from datetime import datetime

import pytest

from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.text.free_text import compose_text, dictated_text
from contextune.plan.schema import tool_parameters
from contextune.tools import bundled_toolbox
from contextune.types import Contact, Item, ItemHit, Request, User

TOOLS = {tool.name: tool for tool in bundled_toolbox()}
USER = User(
    "ines", {}, {}, (Contact("Lars Holm", "lars@example.com"), Contact("Pia Holm", relation="sister"))
)
MAIL = Item(
    "m1",
    "Mail",
    {"subject": "Nightly build", "author": "lars@example.com", "content": "It is red again today."},
)


def inputs_for(text: str, *items: Item) -> PlanningInput:
    request = Request(text, user="ines", time=datetime(2024, 5, 16, 14, 40))
    return PlanningInput(request, USER, [ItemHit(item, 1.0) for item in items])


def dictated(text: str, tool: str, argument: str, values: Collection[str] = ()) -> str | None:
    parameter = next(p for p in tool_parameters(TOOLS[tool]) if p.name == argument)
    return dictated_text(inputs_for(text), TOOLS[tool], parameter, values)


@pytest.mark.parametrize(
    ("text", "tool", "argument", "values", "expected"),
    [
        ("Create a playlist called Asado.", "create_playlist", "playlist_name", (), "Asado"),
        ("Make a list and call it Salt and Oil", "create_playlist", "playlist_name", (), "Salt and Oil"),
        ("Make a note called Wax: two coats, dry it.", "create_note", "title", (), "Wax"),
        ("Make a note called Wax: two coats, dry.", "create_note", "content", (), "two coats, dry"),
        ("Rename Way to Rome to Things to do", "rename_note", "new_title", ("way to rome",), "Things to do"),
        ("Rename 'Jeans rug' to 'Sauna rug'.", "rename_note", "new_title", ("jeans rug",), "Sauna rug"),
        ("Add 31:37 to Frío log.", "append_to_note", "text", ("frío log",), "31:37"),
        ("Add to Ride kit: spare tube.", "append_to_note", "text", ("ride kit",), "spare tube"),
        ("Find a photo studio near Nilkhet.", "search_places", "query", ("nilkhet",), "photo studio"),
        ("Search my notes for the paint code.", "search_notes", "query", (), "paint code"),
        ("Search for records by Los Tucu Tucu.", "search_music", "query", (), "Los Tucu Tucu"),
        ("Any news on the hockey team?", "search_news", "query", (), "hockey team"),
        ("What did I google about the pool fence?", "get_search_history", "topic", (), "pool fence"),
        ("Translate 'break a leg' into Italian.", "translate_text", "text", (), "break a leg"),
        ("How do you say good luck in Italian?", "translate_text", "text", (), "good luck"),
        ("Write Lars I need the key", "send_email", "body", ("lars@example.com",), "I need the key."),
        ("Make a note to ask Jo about it", "create_note", "content", (), "ask Jo about it"),
        ("Note that the slot is free", "append_to_note", "text", ("ride kit",), "the slot is free"),
        ("Tell my sister the tent's dry", "send_email", "body", ("pia holm",), "The tent's dry."),
        ("Remind me at 4 pm to stretch my back", "create_reminder", "title", (), "Stretch my back"),
        ("Remind me at a quarter to nine to call Bo", "create_reminder", "title", (), "Call Bo"),
        ("Remind me an hour before the echo to take shoes", "create_reminder", "title", (), "Take shoes"),
        ("Remind me to water it tomorrow at six.", "create_reminder", "title", (), "Water it"),
        ("Schedule a haircut on Saturday at four.", "create_event", "event_name", (), "haircut"),
        ("Dentist on Monday at ten.", "create_event", "event_name", (), "Dentist"),
        ("Vet Monday at nine, put it in", "create_event", "event_name", (), "Vet"),
        ("Put tea with Jo in my calendar, Friday at noon.", "create_event", "event_name", (), "tea with Jo"),
    ],
)  # fmt: skip
def test_request_dictates_the_text(
    text: str, tool: str, argument: str, values: Collection[str], expected: str
) -> None:
    assert dictated(text, tool, argument, values) == expected


@pytest.mark.parametrize(
    ("text", "tool", "argument"),
    [
        ("Find it?", "search_notes", "query"),
        ("Open my search history.", "get_search_history", "topic"),
        ("Find all mail from Lars.", "search_emails", "text"),
        ("Put it into German.", "translate_text", "text"),
        ("Name it after him.", "create_playlist", "playlist_name"),
        ("Email Lars that I am late.", "send_email", "subject"),
    ],
)
def test_text_that_is_not_said_is_not_made_up(text: str, tool: str, argument: str) -> None:
    assert dictated(text, tool, argument) is None


def composed(text: str, tool: str, argument: str, item: Item | None) -> str | None:
    parameter = next(p for p in tool_parameters(TOOLS[tool]) if p.name == argument)
    argument_value = compose_text(inputs_for(text, MAIL), TOOLS[tool], parameter, item)
    return argument_value.value if argument_value else None


def test_nothing_of_an_item_goes_into_a_message() -> None:
    assert composed("Reply to Lars that it builds now", "reply_to_email", "body", MAIL) == "It builds now."
    assert composed("Yes to all of it!", "reply_to_email", "body", MAIL) == "Yes to all of it!"
    assert composed("Email Lars that I am late.", "send_email", "subject", MAIL) is None


def test_subject_is_what_is_said() -> None:
    text = "Email Lars with the subject Red build and say I fixed it"
    assert composed(text, "send_email", "subject", MAIL) == "Red build"
    assert composed(text, "send_email", "body", MAIL) == "I fixed it."


def test_command_alone_is_no_message() -> None:
    assert composed("Reply to Lars.", "reply_to_email", "body", MAIL) is None


def test_item_is_used_where_the_request_refers_to_it() -> None:
    assert composed("Put it into German.", "translate_text", "text", MAIL) == "It is red again today."
    assert composed("More of that, please.", "search_web", "query", MAIL) == "Nightly build"
    assert composed("Search the web for red pandas.", "search_web", "query", MAIL) == "red pandas"


def test_new_note_that_is_only_named_does_not_repeat_the_order() -> None:
    tool = TOOLS["create_note"]
    content = next(p for p in tool_parameters(tool) if p.name == "content")
    text = compose_text(inputs_for("Open a new note named Kiln log"), tool, content, None)
    assert text is not None
    assert text.value == "Kiln log"
