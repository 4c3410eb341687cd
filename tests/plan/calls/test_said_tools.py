"""Tools that the words of a request name."""

from datetime import datetime

import pytest
from tests.plan.calls.tiny_ranker import inputs_for as tiny_inputs
from tests.plan.calls.tiny_ranker import tiny_ranker, tool_hits

from contextune.plan import CallPlanner, PlanningInput, Policy
from contextune.plan.calls.said_tools import is_said_tool, said_tools
from contextune.tools import bundled_toolbox
from contextune.types import Contact, Item, ItemHit, Request, ToolHit, User

TOOLS = {tool.name: tool for tool in bundled_toolbox()}
USER = User("ines", {}, contacts=(Contact("Marta Reis", "marta@example.org"),))
SLOT = Item.event(name="Kiln slot", start="2026-03-06T15:00", end="2026-03-06T16:00")
LIST = Item("n1", "Notes", {"title": "Glaze list", "content": "Celadon."})
NAIMA = Item("s1", "Music", {"song_name": "Naima", "artist": "John Coltrane", "playlist": "Uptown"})
ITEMS = (SLOT, LIST, NAIMA)


def inputs_for(text: str) -> PlanningInput:
    request = Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5))
    return PlanningInput(request, USER, [ItemHit(item, 1.0) for item in ITEMS])


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("Note: the code of the garage is 4411.", "create_note"),
        ("Note to self: tyre pressure 110", "create_note"),
        ("Please take a note: bring the long cable", "create_note"),
        ("Put on what I was just listening to.", "play_song"),
        ("Play that song again", "play_song"),
        ("Play the last one again", "play_song"),
        ("Play Naima.", "play_song"),
        ("Play Uptown", "play_playlist"),
        ("Add Marta Reis to the kiln slot.", "invite_participant"),
        ("Add Marta to the slot", "invite_participant"),
    ],
)
def test_words_name_the_tool(text: str, tool: str) -> None:
    hits = [ToolHit(other, 1.0) for other in TOOLS.values()]
    inputs = inputs_for(text)
    assert [hits[rank].tool.name for rank in said_tools(hits, inputs)] == [tool]
    assert is_said_tool(TOOLS[tool], inputs)
    assert not is_said_tool(TOOLS["read_note"], inputs)


@pytest.mark.parametrize(
    "text",
    [
        "What was I listening to yesterday?",
        "Note that Marta is late",
        "Add Marta to the glaze list",
        "Add clay to the kiln slot",
        "Play Giant Steps",
        "Which note: the old or the new?",
    ],
)
def test_words_leave_the_tool_open(text: str) -> None:
    hits = [ToolHit(tool, 1.0) for tool in TOOLS.values()]
    assert said_tools(hits, inputs_for(text)) == []


@pytest.mark.parametrize(
    "text",
    ["Reply to Marta that it works", "Could you just write back to Marta?", "Ok, would you respond to Marta"],
)
def test_reply_leaves_tools_that_reply(text: str) -> None:
    hits = tool_hits("send_email", "reply_to_email")
    assert said_tools(hits, inputs_for(text)) == [1]


def test_answering_the_phone_is_no_reply() -> None:
    hits = tool_hits("send_email", "reply_to_email")
    assert said_tools(hits, inputs_for("Now answer the phone")) == []


def test_tool_that_is_not_among_those_found_is_not_required() -> None:
    assert said_tools([ToolHit(TOOLS["read_note"], 1.0)], inputs_for("Note: the code is 4411")) == []


def test_dictated_note_is_written_whatever_the_ranker_says() -> None:
    hits = tool_hits("create_note", "read_email", "call_contact")
    planner = CallPlanner(ranker=tiny_ranker())
    readings = planner.readings(tiny_inputs("Note: the gate code is 4411", direction=3), hits, 0.05)
    by_id = {hit.tool.id: hit.tool for hit in hits}
    plan = Policy().decide(readings, by_id.__getitem__)
    assert plan is not None
    assert (plan.name, plan.args["content"], plan.decision) == ("create_note", "the gate code is 4411", "act")
    assert readings.none + sum(reading.confidence for reading in readings.plans) <= 1 + 1e-6
