"""Actions: orders that no tool carries out, and small talk, are refused."""

import pytest
from tests.plan.calls.tiny_ranker import inputs_for, tiny_ranker, tool_hits

from contextune.plan import CallPlanner, Policy
from contextune.plan.calls.actions import does_action, is_small_talk, is_unserved
from contextune.tools import bundled_toolbox
from contextune.types import Tool

TOOLS = {tool.name: tool for tool in bundled_toolbox()}


@pytest.mark.parametrize(
    "text",
    [
        "Archive the parcel mail.",
        "Pay the electricity bill.",
        "Can you print the April rota?",
        "Unsubscribe me from the newsletter",
        "Please unpin the loft book",
        "Mark the rota as spam",
        "Book a table for four tonight",
        "Buy the Giant Steps album",
        "Unblock Patrice",
        "Turn off burner two",
        "Switch the dehumidifier on",
        "Book me on the four o'clock boat",
    ],
)
def test_order_that_no_bundled_tool_carries_out(text: str) -> None:
    assert is_unserved(text, TOOLS.values())


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("Snooze the toast reminder until nine", "reschedule_reminder"),
        ("Rename the loft book to Birds", "rename_note"),
        ("Clear the dentist off my calendar and delete it", "delete_reminder"),
        ("Mark the rota as important", "flag_email"),
        ("Mark the milk reminder as done", "complete_reminder"),
        ("Book a haircut on Saturday at four", "create_event"),
        ("Print shop near me", "search_places"),
        ("Pay scales meeting, when is it?", "get_event"),
        ("Remind me to pay Neusa", "create_reminder"),
        ("Pay Neusa at six, remind me", "create_reminder"),
        ("Scan my notes for gluten", "search_notes"),
        ("Turn the music off", "pause_playback"),
        ("Turn this mail into French", "translate_text"),
    ],
)
def test_tool_that_does_what_is_ordered(text: str, tool: str) -> None:
    assert does_action(TOOLS[tool], text)


def test_tool_of_another_catalogue_serves_the_order() -> None:
    archive = Tool("archive_message", "Moves a message to the archive", app="Mail")
    assert is_unserved("Archive the parcel mail", [TOOLS["flag_email"]])
    assert not is_unserved("Archive the parcel mail", [TOOLS["flag_email"], archive])
    assert not does_action(TOOLS["flag_email"], "Archive the parcel mail")


def test_call_of_a_number_does_not_update_a_contact() -> None:
    assert not does_action(TOOLS["call_number"], "Update Marta's number to 912 555 340")


@pytest.mark.parametrize(
    "text", ["Thanks.", "Thank you", "OK", "Hello", "Great, thanks a lot!", "Forget it.", "What time is it?"]
)
def test_small_talk(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    ["Thank Marta for the clay", "Say thanks to Marta", "Hello by Adele", "What time is the slot?"],
)
def test_request_is_no_small_talk(text: str) -> None:
    assert not is_small_talk(text)


@pytest.mark.parametrize("text", ["Thanks.", "Archive Marta Reis"])
def test_planner_refuses(text: str) -> None:
    hits = tool_hits("call_contact", "play_song")
    planner = CallPlanner(ranker=tiny_ranker())
    readings = planner.readings(inputs_for(text, direction=0), hits, 0.99)
    served = planner.readings(inputs_for("Call Marta Reis", direction=0), hits, 0.99)
    by_id = {hit.tool.id: hit.tool for hit in hits}
    refused = Policy().decide(readings, by_id.__getitem__)
    assert refused is not None
    assert refused.decision == "none"
    assert readings.none + sum(plan.confidence for plan in readings.plans) <= 1 + 1e-6
    assert served.none < 0.5
