"""Candidate values for arguments."""

from datetime import datetime
from typing import Any

from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.candidates import find_candidates
from contextune.plan.pointer.spans import find_spans
from contextune.plan.schema import tool_parameters
from contextune.tools import bundled_toolbox
from contextune.types import Contact, Item, ItemHit, Request, Tool, User

TOOLS = {tool.name: tool for tool in bundled_toolbox()}
USER = User(
    "ines",
    {"name": "Ines Duarte", "city": "Porto"},
    {"home": (41.1, -8.6)},
    (
        Contact("Rui Duarte", "rui@example.com", "555-0142", "brother"),
        Contact("Marta Reis", None, "555-0150", "sister"),
        Contact("Lia Reis", None, None, "sister"),
    ),
)
MAIL = Item(
    "m1",
    "Mail",
    {
        "subject": "Kiln slots",
        "author": "rui@example.com",
        "content": "Speak to Dewi on 555-0437, at Barro Studio, Rua 5.",
        "date": "2024-05-13T09:00",
    },
)
CALL = Item("p1", "PhoneCall", {"contact": "Unknown", "number": "555-0499", "date": "2024-05-13T09:00"})


def values(text: str, tool: str | Tool, argument: str, *items: Item) -> list[Any]:
    request = Request(text, user="ines", time=datetime(2024, 5, 16, 17, 40))
    inputs = PlanningInput(request, USER, [ItemHit(item, 1.0) for item in items])
    chosen = TOOLS[tool] if isinstance(tool, str) else tool
    parameter = next(one for one in tool_parameters(chosen) if one.name == argument)
    return [one.value for one in find_candidates(inputs, parameter)]


def test_fields_and_spans_are_candidates() -> None:
    found = values("Read it.", "read_email", "email_subject", MAIL)
    assert "Kiln slots" in found
    assert "555-0437" in values("Get me the man.", "call_number", "number", MAIL)
    assert {"Barro Studio", "Barro Studio, Rua 5"} <= set(
        values("Go.", "get_directions", "destination", MAIL)
    )


def test_contact_value_depends_on_the_argument() -> None:
    assert "rui@example.com" in values("Tell him.", "send_email", "recipient")
    assert "Rui Duarte" in values("Ring him.", "call_contact", "contact")
    assert "555-0142" in values("Ring him.", "call_number", "number")


def test_unknown_caller_is_given_by_number() -> None:
    found = values("Block them.", "block_caller", "contact", CALL)
    assert "Unknown" not in found
    assert "555-0499" in found


def test_groups_of_people_are_candidates() -> None:
    found = values("Both my sisters on one line.", "start_group_call", "contacts")
    assert ["Marta Reis", "Lia Reis"] in found
    assert ["Rui Duarte"] not in found


def test_optional_argument_may_be_omitted() -> None:
    assert None in values("Play it.", "play_song", "artist")
    assert None not in values("Play it.", "play_song", "song_name")


def test_candidates_of_other_kinds() -> None:
    schema = {
        "type": "object",
        "properties": {
            "unit": {"enum": ["c", "f"]},
            "count": {"type": "integer"},
            "share": {"type": "number", "maximum": 5},
            "loud": {"type": "boolean"},
            "length": {"type": "string", "format": "duration"},
            "deep": {"type": "object"},
        },
        "required": ["unit", "count", "share", "loud", "length", "deep"],
    }
    tool = Tool("t", "d", parameters=schema)
    text = "Three of them, 7.5 loud, for half an hour"
    assert values(text, tool, "unit") == ["c", "f"]
    assert values(text, tool, "count") == [3]
    assert values(text, tool, "share") == [3]
    assert values(text, tool, "loud") == [True, False]
    assert values(text, tool, "length") == ["PT30M"]
    assert values(text, tool, "deep") == []


def test_finds_spans() -> None:
    found = {
        span.text: span.shape
        for span in find_spans("Speak to Dewi on 555-0437, in German, or mail d@example.com.")
    }
    assert found["555-0437"] == "number"
    assert found["German"] == "language"
    assert found["d@example.com"] == "address"
    assert found["Dewi"] == "name"
    assert "2024-05-16" not in {span.text for span in find_spans("2024-05-16") if span.shape == "number"}
