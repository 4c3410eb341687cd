"""`PointerPlanner`: filled arguments, questions, and no invented values."""

from datetime import datetime
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextune._internal.assets import asset
from contextune.errors import RankerError
from contextune.plan import ArgumentScorer, PlanningInput, PointerPlanner, default_scorer, plan_errors
from contextune.plan.explain import explain_arguments, format_call
from contextune.plan.judge import is_hallucinated
from contextune.tools import bundled_toolbox
from contextune.types import Argument, Contact, Item, ItemHit, Plan, Request, Source, Tool, ToolHit, User

TOOLS = {tool.name: tool for tool in bundled_toolbox()}
NOW = datetime(2024, 5, 16, 17, 40)
USER = User(
    "ines",
    {"name": "Ines Duarte", "city": "Porto"},
    {"home": (41.1, -8.6)},
    (
        Contact("Rui Duarte", "rui@example.com", "555-0142", "brother"),
        Contact("Marta Reis", "marta@example.org", "555-0150", "pottery teacher"),
    ),
)
EVENT = Item(
    "c1",
    "Calendar",
    {
        "event_name": "Glaze night",
        "start_time": "2024-05-18T19:00",
        "end_time": "2024-05-18T21:00",
        "organizer": "marta@example.org",
        "participants": ["marta@example.org"],
        "location": "Barro Studio",
    },
)
MAIL = Item(
    "m1",
    "Mail",
    {
        "subject": "Kiln slots",
        "author": "marta@example.org",
        "recipients": ["ines@example.com"],
        "content": "Thursday is yours. Call Dewi on 555-0437 for clay.",
        "date": "2024-05-13T09:00",
    },
)
SONG = Item(
    "s1",
    "Music",
    {"song_name": "Says", "artist": "Nils Frahm", "playlist": "Kiln", "played_time": "2024-05-15T06:20"},
)


def planned(text: str, tool: str | Tool, *items: Item) -> Plan:
    hits = [ItemHit(item, 1.0 - n / 10) for n, item in enumerate(items)]
    inputs = PlanningInput(Request(text, user="ines", time=NOW), USER, hits)
    found = PointerPlanner().plan_tool(inputs, TOOLS[tool] if isinstance(tool, str) else tool)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "tool", "args"),
    [
        ("When is it?", "get_event", {"event_name": "Glaze night"}),
        ("What did she write?", "read_email", {"email_subject": "Kiln slots"}),
        ("That one again.", "play_song", {"song_name": "Says", "artist": "Nils Frahm"}),
        (
            "Make it an hour later.",
            "reschedule_event",
            {"event_name": "Glaze night", "start_time": "2024-05-18T20:00"},
        ),
        (
            "Play La Llorona by Chavela Vargas",
            "play_song",
            {"song_name": "La Llorona", "artist": "Chavela Vargas"},
        ),
        ("Get me the clay man.", "call_number", {"number": "555-0437"}),
        ("Dial 555-0777", "call_number", {"number": "555-0777"}),
        ("Call Marta Reis.", "call_contact", {"contact": "Marta Reis"}),
        (
            "Remind me at 8 pm to stretch my back",
            "create_reminder",
            {"title": "Stretch my back", "due_time": "2024-05-16T20:00"},
        ),
        (
            "Email Rui that I'll be late",
            "send_email",
            {"recipient": "rui@example.com", "body": "I'll be late."},
        ),
        ("Ring my brother.", "call_contact", {"contact": "Rui Duarte"}),
        (
            "Forward the mail from Marta Reis to Rui",
            "forward_email",
            {"email_subject": "Kiln slots", "recipient": "rui@example.com"},
        ),
        ("What's on tomorrow?", "list_events", {"date": "2024-05-17"}),
        ("Skip it.", "skip_track", {}),
    ],
)
def test_arguments_are_filled_from_the_data(text: str, tool: str, args: dict[str, Any]) -> None:
    assert planned(text, tool, EVENT, MAIL, SONG).args == args


def test_every_value_has_a_source() -> None:
    plan = planned("Make it an hour later.", "reschedule_event", EVENT, MAIL)
    assert plan.arguments["event_name"].sources == (Source("item", "c1", "event_name"),)
    (source,) = plan.arguments["start_time"].sources
    assert (source.item, source.words) == ("c1", "an hour")
    assert dict(explain_arguments(plan, {"c1": EVENT}))["event_name"] == "event name of “Glaze night”"
    assert format_call(plan) == 'reschedule_event(event_name="Glaze night", start_time="2024-05-18T20:00")'


def test_missing_argument_becomes_a_question() -> None:
    plan = planned("Do it.", "add_to_playlist")
    assert not plan.ready
    assert {one.argument for one in plan.missing} == {"song_name", "playlist_name"} - plan.args.keys()
    assert all(one.question.endswith("?") for one in plan.missing)


def test_free_text_is_composed_from_request_and_item() -> None:
    plan = planned("Tell her I'll be late.", "reply_to_email", MAIL)
    assert plan.args["email_subject"] == "Kiln slots"
    assert "late" in plan.args["body"]
    copied = planned("Put it into German.", "translate_text", MAIL)
    assert copied.args == {"text": MAIL.fields["content"], "target_language": "German"}


def test_unseen_tool_is_filled_by_its_schema() -> None:
    schema = {
        "type": "object",
        "properties": {
            "songName": {"type": "string", "description": "title of the song to look for lyrics of"},
            "language": {"enum": ["en", "pt"]},
        },
        "required": ["songName"],
    }
    tool = Tool("fetch_lyrics", "Finds the lyrics of a song", app="Lyrics", parameters=schema)
    assert planned("What does he sing there?", tool, SONG).args["songName"] == "Says"


def test_tool_with_invalid_schema_is_not_called() -> None:
    broken = Tool("read_email", "Reads a mail", parameters={"type": "object", "$ref": "#/$defs/nowhere"})
    inputs = PlanningInput(Request("What did she write?", user="ines", time=NOW), USER, [ItemHit(MAIL, 1.0)])
    assert PointerPlanner().plan_tool(inputs, broken) is None


def test_first_tool_is_planned() -> None:
    inputs = PlanningInput(Request("When is it?", user="ines", time=NOW), USER, [ItemHit(EVENT, 1.0)])
    planner = PointerPlanner()
    assert planner.plan(inputs, []) is None
    sure = planner.plan(inputs, [ToolHit(TOOLS["get_event"], 9.0), ToolHit(TOOLS["list_events"], 1.0)])
    torn = planner.plan(
        inputs, [ToolHit(TOOLS["get_event"], 1.0), ToolHit(TOOLS["list_events"], 1.0)], fits=0.5
    )
    assert sure is not None
    assert torn is not None
    assert sure.name == torn.name == "get_event"
    assert sure.tool == "Calendar/get_event"
    assert torn.confidence < 0.3 < sure.confidence


def test_scorer_round_trip_and_version_check(tmp_path: Path) -> None:
    default_scorer().save(tmp_path / "planner")
    for name in ("arguments.json.gz", "known.json.gz", "card.json"):
        assert (tmp_path / "planner" / name).read_bytes() == (asset("planner") / name).read_bytes()
    with pytest.raises(RankerError, match="contextune train plan"):
        ArgumentScorer.load(tmp_path)


WORDS = st.sampled_from(
    [
        *(
            "my",
            "brother",
            "tomorrow",
            "at",
            "nine",
            "Kiln",
            "in",
            "German",
            "555-0142",
            "the",
            "usual",
            "three",
        ),
        *("loud", "song", "for", "half", "an", "hour", "Porto", "“Says”", "Sunday", "before", "ignore", "it"),
    ]
)
TEXT = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)
FIELD = st.one_of(
    TEXT, st.text(min_size=1, max_size=12), st.lists(TEXT, max_size=3), st.just("2024-05-18T19:00")
)
ITEM = st.builds(
    Item,
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from(["Notes", "Music", "Recipes"]),
    st.dictionaries(st.sampled_from(["title", "content", "artist", "song_name", "steps"]), FIELD, max_size=4),
)
SCHEMAS: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": "string", "x-free-text": True, "maxLength": 20},
    {"type": "string", "format": "date-time"},
    {"type": "string", "format": "date"},
    {"type": "string", "format": "duration"},
    {"type": "string", "pattern": "^[0-9-]+$"},
    {"type": "integer", "minimum": 2},
    {"type": "number"},
    {"type": "boolean"},
    {"enum": ["walking", "driving", 3]},
    {"type": "array", "items": {"type": "string"}},
    {"type": "object"},
    {"anyOf": [{"type": "string"}, {"type": "null"}]},
]
NAMES = ["contact", "title", "date", "body", "when", "location", "count", "mode", "recipients"]


@st.composite
def some_tool(draw: st.DrawFn) -> Tool:
    properties = draw(st.dictionaries(st.sampled_from(NAMES), st.sampled_from(SCHEMAS), max_size=4))
    required = draw(st.lists(st.sampled_from(sorted(properties)), unique=True)) if properties else []
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    if draw(st.booleans()):
        schema["additionalProperties"] = False
    return Tool("some_tool", draw(TEXT), app="Some", parameters=schema)


KNOWN = {spelled for contact in USER.contacts for spelled in (contact.name, contact.email, contact.phone)}


def stands_somewhere(argument: Argument, inputs: PlanningInput) -> bool:
    """Whether the value can be traced to the item, contact, words or schema that it names."""
    value, source = argument.value, argument.sources[0]
    items = {item.id: item for item in inputs.items}
    fields: dict[str, Any] = dict(items[source.item].fields) if source.item in items else {}
    if isinstance(value, list):
        return all(part in KNOWN for part in cast("list[Any]", value))
    match source.kind:
        case "item":
            return value in fields[source.field or ""]
        case "contact":
            return value in KNOWN
        case "said":
            return source.words.casefold() in inputs.request.text.casefold()
        case "time":
            return bool(datetime.fromisoformat(value))
        case "choice":
            return str(value) == source.words
        case "place" | "profile":
            return value in ("home", "Porto")
        case "frame":
            held = str(fields.get(source.field or "", ""))
            worded = "".join(f"{inputs.request.text} {held}".casefold().split())
            return all(word.strip(".,") in worded for word in str(value).casefold().split())
        case _:
            return False


@settings(max_examples=60)
@given(text=TEXT, tool=some_tool(), items=st.lists(ITEM, max_size=4, unique_by=lambda item: item.id))
def test_no_value_is_invented(text: str, tool: Tool, items: list[Item]) -> None:
    hits = [ItemHit(item, 1.0 / (n + 1)) for n, item in enumerate(items)]
    inputs = PlanningInput(Request(text, user="ines", time=NOW), USER, hits)
    plan = PointerPlanner().plan_tool(inputs, tool)
    if plan is None:
        return
    assert not is_hallucinated(plan, {tool.name: tool})
    assert plan_errors(plan, tool) == []
    required = set(tool.parameters["required"])
    assert required == (required & plan.args.keys()) | {one.argument for one in plan.missing}
    for argument in plan.arguments.values():
        assert stands_somewhere(argument, inputs), argument


def test_mail_goes_to_an_address_and_not_to_a_number() -> None:
    missed = Item.call(contact="Rui Duarte", number="555-0142", direction="missed", date="2024-05-16T12:00")
    plan = planned("Email Rui that I'll be late", "send_email", missed)
    assert plan.args == {"recipient": "rui@example.com", "body": "I'll be late."}
    assert planned("Ring my brother.", "call_number", missed).args == {"number": "555-0142"}
