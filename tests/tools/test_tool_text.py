"""The text of a tool that is embedded, and its tokens by field."""

import pytest

from contextune.tools.tool_text import FIELDS, field_tokens, tool_text
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
    assert field_tokens(tool)["name"] == parts.split()
    assert tool_text(tool) == f"{parts} — Does it."


def test_order_of_the_parts() -> None:
    tool = Tool("create_issue", "Opens an issue.", app="GitHub", about="Hosts code.")
    assert tool_text(tool) == "GitHub — create issue — Opens an issue. — Hosts code."


def test_title_replaces_the_name_if_it_differs() -> None:
    assert tool_text(Tool("gh_ci", "", title="Open an issue")) == "Open an issue"
    assert tool_text(Tool("open_issue", "", title="Open Issue")) == "open issue"


def test_about_is_left_out_if_the_description_contains_it() -> None:
    tool = Tool("now", "Tells the time. Clocks.", app="clock", about="Clocks.")
    assert tool_text(tool) == "clock — now — Tells the time. Clocks."


def test_long_texts_are_truncated() -> None:
    text = tool_text(Tool("a", "word " * 500, about="server " * 500))
    assert text.count("word") == 80
    assert text.count("server") == 24
    assert tool_text(Tool("a", " spread\n\tover   lines ")) == "a — spread over lines"


def test_tool_without_description_has_its_name() -> None:
    assert tool_text(Tool("do_it", "")) == "do it"


def test_tokens_of_each_field() -> None:
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
    tokens = field_tokens(tool)
    assert tuple(tokens) == FIELDS
    assert tokens["name"] == ["my", "calendar", "create", "event", "new", "event"]
    described = "puts an event on the calendar keeps appointments lunch with ana on friday"
    assert tokens["description"] == described.split()
    assert tokens["parameters"] == ["start", "time", "when", "it", "begins", "place"]


@pytest.mark.parametrize(
    ("schema", "tokens"),
    [
        ({}, []),
        ({"properties": None}, []),
        ({"properties": ["to", "cc"]}, []),
        ({"properties": {"to": True, "cc": None, "bcc": []}}, ["to", "cc", "bcc"]),
        ({"properties": {"to": {"description": None}, "cc": {"description": 5}}}, ["to", "cc", "5"]),
    ],
)
def test_invalid_schemas_are_read_as_far_as_possible(schema: dict[str, object], tokens: list[str]) -> None:
    assert field_tokens(Tool("a", "", parameters=schema))["parameters"] == tokens
