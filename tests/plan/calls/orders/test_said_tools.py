"""Tools that the words of a request name."""

from datetime import datetime

import pytest
from tests.plan.calls.tiny_ranker import inputs_for as tiny_inputs
from tests.plan.calls.tiny_ranker import tiny_ranker, tool_hits

from contextune.plan import CallPlanner, PlanningInput, Policy
from contextune.plan.calls.orders.said_tools import is_open_tool, is_said_tool, open_tools, said_tools
from contextune.tools import bundled_toolbox
from contextune.types import Contact, Item, ItemHit, Request, ToolHit, User

TOOLS = {tool.name: tool for tool in bundled_toolbox()}
USER = User(
    "ines",
    {},
    contacts=(
        Contact("Marta Reis", "marta@example.org", "555-0150", "sister, in Porto"),
        Contact("Rui Reis", "rui@example.org", "555-0151", "mother's gardener"),
    ),
)
SLOT = Item.event(name="Kiln slot", start="2026-03-06T15:00", end="2026-03-06T16:00")
LIST = Item("n1", "Notes", {"title": "Glaze list", "content": "Celadon."})
NAIMA = Item("s1", "Music", {"song_name": "Naima", "artist": "John Coltrane", "playlist": "Uptown"})
TOAST = Item.reminder(title="write toast", due="2026-03-09T21:00", created="2026-03-01T19:00")
MAIL = Item.mail(subject="Clay", content="Two bags.", author="rui@example.org", date="2026-03-04T09:00")
ITEMS = (SLOT, LIST, NAIMA, TOAST, MAIL)


def inputs_for(text: str) -> PlanningInput:
    request = Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5))
    return PlanningInput(request, USER, [ItemHit(item, 1.0) for item in ITEMS])


def test_mail_about_an_event_leaves_no_doubt_whom_to_invite_to_it() -> None:
    request = Request("Add Marta to the kiln slot", user="ines", time=datetime(2026, 3, 5, 10, 5))
    mail = Item.mail(
        subject="Kiln slot moved?", content="To four?", author="rui@example.org", date="2026-03-04T09:00"
    )
    inputs = PlanningInput(request, USER, [ItemHit(item, 1.0) for item in (mail, SLOT)])
    assert is_said_tool(TOOLS["invite_participant"], inputs)


def test_what_the_user_has_to_do_is_no_order_to_call() -> None:
    for text in ("I have to call Marta", "I need to call Marta"):
        assert not is_said_tool(TOOLS["call_contact"], inputs_for(text))


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
        ("Play Naima by John Coltrane", "play_song"),
        ("Play Uptown", "play_playlist"),
        ("Add Marta Reis to the kiln slot.", "invite_participant"),
        ("Add Marta to the slot", "invite_participant"),
        ("Jot down: the gate code is 4411", "create_note"),
        ("Call Marta", "call_contact"),
        ("Call 112", "call_number"),
        ("Dial *100#", "call_number"),
        ("Block +56 9 8100 2233", "block_caller"),
        ("please block the number 555 010 0199", "block_caller"),
        ("Block all calls from 555-010-0199, please", "block_caller"),
        ("Please ring my sister", "call_contact"),
        ("Did Marta ever get back to me?", "search_emails"),
        ("Has my sister written yet?", "search_emails"),
        ("mails from marta", "search_emails"),
        ("What did Rui say?", "read_email"),
        ("Add cobalt to the glaze list", "append_to_note"),
        ("Put Naima on the Uptown playlist", "add_to_playlist"),
        ("Remind me tomorrow at four to stretch", "create_reminder"),
        ("Don't let me forget to stretch on Monday", "create_reminder"),
        ("Reminder for Saturday morning: stretch between 9 and 11", "create_reminder"),
        ("reminder: stretch at six", "create_reminder"),
        ("Dial nine one one", "call_number"),
        ("Call the number in Rui's mail", "call_number"),
        ("Give my sister a ring", "call_contact"),
        ("Would you call Marta", "call_contact"),
        ("Book in brunch with Marta", "create_event"),
        ("Let's plan a swim with my sister", "create_event"),
        ("Create a note called Firing with the text cone six", "create_note"),
        ("Send the clay mail to Marta", "forward_email"),
        ("Share the glaze list with Marta", "share_note"),
        ("Send the glaze list to Marta", "share_note"),
        ("Pass the glaze list on to Marta", "share_note"),
        ("Send the clay offer on to Marta", "forward_email"),
        ("pass on the clay offer to my sister", "forward_email"),
        ("Schedule a firing on Monday at three", "create_event"),
        ("Put the firing in my calendar for Monday at three", "create_event"),
        ("Push the kiln slot back by an hour", "reschedule_event"),
        ("Cancel my 3 o'clock", "cancel_event"),
        ("Answer Rui that it works", "reply_to_email"),
        ("Send Rui Reis's mail to my sister", "forward_email"),
        ("Email Rui that it works", "send_email"),
        ("Tell my sister it works", "send_email"),
        ("Remind Marta to bring clay", "send_email"),
        ("Call Marta and Rui Reis", "start_group_call"),
        ("Write in my glaze list: more cobalt", "append_to_note"),
        ("Wake me up in seven hours", "create_reminder"),
        ("Make an appointment with Rui on Monday at 11:45", "create_event"),
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
        "Call Marta back",
        "Call Marta about the kiln",
        "Call my mother",
        "Call Reis",
        "Did Marta write the list?",
        "What did Marta say?",
        "What did Rui say about the kiln?",
        "Add cobalt to the shopping list",
        "Add Blue Train to Uptown",
        "Remind me to stretch after the dance",
        "Remind me what Rui said",
        "Schedule the kiln slot",
        "Call Marta and Zebulon",
        "Wake me up when it rains",
        "Write in my diary: more cobalt",
        "Schedule an email to Marta for Monday at three",
        "Cancel my 4 o'clock",
        "Share the studio list with Marta",
    ],
)
def test_words_leave_the_tool_open(text: str) -> None:
    hits = [ToolHit(tool, 1.0) for tool in TOOLS.values()]
    assert said_tools(hits, inputs_for(text)) == []


@pytest.mark.parametrize(
    "text",
    ["Reply to Rui that it works", "Could you just write back to Rui?", "Ok, would you respond to the mail"],
)
def test_reply_leaves_tools_that_reply(text: str) -> None:
    hits = tool_hits("send_email", "reply_to_email")
    assert said_tools(hits, inputs_for(text)) == [1]


@pytest.mark.parametrize("text", ["Reply to Marta that it works", "Write back to my sister that it works"])
def test_reply_to_somebody_who_wrote_nothing_is_a_new_mail(text: str) -> None:
    inputs = inputs_for(text)
    assert said_tools(tool_hits("reply_to_email", "send_email"), inputs) == [1]
    assert said_tools(tool_hits("reply_to_email"), inputs) == [0]
    assert is_open_tool(TOOLS["send_email"], inputs)
    assert not is_said_tool(TOOLS["send_email"], inputs)


def test_answering_the_phone_is_no_reply() -> None:
    hits = tool_hits("send_email", "reply_to_email")
    assert said_tools(hits, inputs_for("Now answer the phone")) == []


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("Move the toast to Friday", {"reschedule_reminder"}),
        ("Push the slot to Monday", {"reschedule_event"}),
        ("Write down that the rope is frayed", {"create_note", "append_to_note"}),
        ("Make a note that Rui is late", {"create_note", "append_to_note"}),
        ("Tell Marta that it's off", {"send_email"}),
        ("Thank my sister for the clay", {"send_email"}),
        ('Send Marta "clay attached"', {"send_email"}),
        ("Ask Rui if he comes", {"send_email", "reply_to_email"}),
        ("Tell Zebulon that it's off", set[str]()),
        ("Move the appointment to Friday", set[str]()),
        ("Schedule a firing next month", {"create_event"}),
        ("Schedule a meeting with Marta", {"create_event"}),
        ("Schedule a chat with Marta", {"create_event"}),
        ("Block Friday afternoon for glazing", {"create_event"}),
        ("Tell Rui it works", {"send_email", "reply_to_email"}),
        ("Message my mother's gardener: it works", set[str]()),
        ("Move the party to Friday", set[str]()),
        ("Sit down and write that mail", set[str]()),
        ("Is there a kiln on Monday?", {"list_events"}),
        ("Is there karaoke on Monday?", set[str]()),
        ("Navigate to the harbour on foot", {"get_directions"}),
        ("Put on what I glaze to", {"play_song", "play_artist", "play_playlist"}),
    ],
)
def test_words_leave_a_kind_of_tool(text: str, tools: set[str]) -> None:
    hits = [ToolHit(tool, 1.0) for tool in TOOLS.values()]
    inputs = inputs_for(text)
    assert {hits[rank].tool.name for rank in open_tools(hits, inputs)} == tools
    assert {name for name, tool in TOOLS.items() if is_open_tool(tool, inputs)} == tools


def test_album_named_after_its_song_is_the_song() -> None:
    song = Item("s2", "Music", {"song_name": "Giant Steps", "album_title": "Giant Steps"})
    request = Request("Play Giant Steps", user="ines", time=datetime(2026, 3, 5, 10, 5))
    inputs = PlanningInput(request, USER, [ItemHit(song, 1.0)])
    assert [name for name, tool in TOOLS.items() if is_said_tool(tool, inputs)] == ["play_song"]


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


def test_order_to_call_one_contact_is_carried_out() -> None:
    hits = tool_hits("call_contact", "read_email", "play_song")
    planner = CallPlanner(ranker=tiny_ranker())
    readings = planner.readings(tiny_inputs("Call Marta", direction=3), hits, 0.05)
    plan = Policy().decide(readings, {hit.tool.id: hit.tool for hit in hits}.__getitem__)
    assert plan is not None
    assert (plan.name, plan.args, plan.decision) == ("call_contact", {"contact": "Marta Reis"}, "act")


def test_named_reminder_is_proposed_to_be_moved_instead_of_an_event() -> None:
    toast = Item.reminder(title="write toast", due="2024-05-20T21:00", created="2024-05-10T19:00")
    slot = Item.event(name="Kiln slot", start="2024-05-17T15:00", end="2024-05-17T16:00")
    hits = tool_hits("reschedule_event", "reschedule_reminder", "read_email")
    planner = CallPlanner(ranker=tiny_ranker())
    readings = planner.readings(tiny_inputs("Move the toast to Friday", slot, toast, direction=3), hits, 0.05)
    plan = Policy().decide(readings, {hit.tool.id: hit.tool for hit in hits}.__getitem__)
    assert plan is not None
    assert (plan.name, plan.args["title"], plan.decision) == ("reschedule_reminder", "write toast", "confirm")


def test_missed_call_is_returned_to_its_caller() -> None:
    missed = Item.call(contact="Rui Reis", number="555-0151", direction="missed", date="2026-03-05T09:00")

    def inputs(text: str, *items: Item) -> PlanningInput:
        request = Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5))
        return PlanningInput(request, USER, [ItemHit(item, 1.0) for item in items])

    returning = TOOLS["return_missed_call"]
    assert is_said_tool(returning, inputs("Call Rui back", missed))
    assert not is_said_tool(returning, inputs("Call Marta back", missed))
    assert is_open_tool(returning, inputs("Oh no, I missed Rui's call", missed))
    assert not is_open_tool(returning, inputs("I missed Rui", SLOT))
    assert not is_open_tool(returning, inputs("I missed the bus", missed))
