"""A tool in words: what its vector is made of, and what is matched word by word."""

import pytest

from contextune.tools.tool_text import FIELDS, field_words, tool_text
from contextune.types import Tool


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("send_email", "send email"),
        ("send-email", "send email"),
        ("sendEmail", "send email"),
        ("SendEmail", "send email"),
        ("mail.send_email", "mail send email"),
        ("mail/sendEmail", "mail send email"),
        ("getHTTPResponse", "get http response"),
        ("list_s3_objects_v2", "list s 3 objects v 2"),
        ("SEARCH", "search"),
        ("suche_straße", "suche strasse"),
    ],
)
def test_names_are_split_into_words(name: str, parts: str) -> None:
    tool = Tool(name, "Does it.")
    assert field_words(tool)["name"] == parts.split()
    assert tool_text(tool) == f"{parts} — Does it."


def test_what_tells_a_tool_from_its_neighbours_comes_first() -> None:
    tool = Tool("create_issue", "Opens an issue.", app="GitHub", about="Hosts code.")
    assert tool_text(tool) == "GitHub — create issue — Opens an issue. — Hosts code."


def test_a_title_stands_for_the_name_where_it_says_more() -> None:
    assert tool_text(Tool("gh_ci", "", title="Open an issue")) == "Open an issue"
    assert tool_text(Tool("open_issue", "", title="Open Issue")) == "open issue"


def test_a_server_does_not_say_twice_what_the_tool_says() -> None:
    tool = Tool("now", "Tells the time. Clocks.", app="clock", about="Clocks.")
    assert tool_text(tool) == "clock — now — Tells the time. Clocks."


def test_long_texts_are_cut() -> None:
    text = tool_text(Tool("a", "word " * 500, about="server " * 500))
    assert text.count("word") == 80
    assert text.count("server") == 24
    assert tool_text(Tool("a", " spread\n\tover   lines ")) == "a — spread over lines"


def test_a_tool_that_says_nothing_still_has_its_name() -> None:
    assert tool_text(Tool("do_it", "")) == "do it"


def test_the_words_of_each_field() -> None:
    tool = Tool(
        "create_event",
        "Puts an event on the calendar.",
        app="MyCalendar",
        title="New event",
        about="Keeps appointments.",
        examples=("Lunch with Ana on Friday",),
        parameters={
            "type": "object",
            "properties": {"startTime": {"type": "string", "description": "when it begins"}, "place": {}},
        },
    )
    found = field_words(tool)
    assert tuple(found) == FIELDS
    assert found["name"] == ["my", "calendar", "create", "event", "new", "event"]
    described = "puts an event on the calendar keeps appointments lunch with ana on friday"
    assert found["description"] == described.split()
    assert found["parameters"] == ["start", "time", "when", "it", "begins", "place"]


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({}, []),
        ({"properties": None}, []),
        ({"properties": ["to", "cc"]}, []),
        ({"properties": {"to": True, "cc": None, "bcc": []}}, ["to", "cc", "bcc"]),
        ({"properties": {"to": {"description": None}, "cc": {"description": 5}}}, ["to", "cc", "5"]),
    ],
)
def test_odd_schemas_are_read_as_far_as_they_go(schema: dict[str, object], found: list[str]) -> None:
    assert field_words(Tool("a", "", parameters=schema))["parameters"] == found
