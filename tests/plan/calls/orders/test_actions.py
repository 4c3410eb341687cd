"""Actions: orders that no tool carries out, and small talk, are refused."""

import pytest
from tests.plan.calls.tiny_ranker import inputs_for, tiny_ranker, tool_hits

from contextune.plan import CallPlanner, Policy
from contextune.plan.calls.orders.actions import does_action, is_small_talk, is_unserved
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
        "Put subtitles on",
        "Put the kettle on, please",
        "Close the garage door",
        "Start the dishwasher",
        "Stop the timer",
        "Lower the volume",
        "Put the caller on hold",
        "Take a photo",
        "Take another picture of the tree",
        "Change the language to Spanish",
        "List my bike in the web shop",
        "Sell the old kiln",
        "Scroll down",
        "Merge the two notes",
        "Sort my notes by date",
        "Tweet that I'm running late",
        "Put the loft book away",
        "Send Neusa 40 euros",
        "Please transfer £120 to my landlord",
        "Make the music a bit louder",
        "quieter please",
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
        ("Put Emmylou on", "play_song"),
        ("Start my car playlist", "play_playlist"),
        ("Open the garage note", "read_note"),
        ("Put the car on Friday at nine", "create_event"),
        ("Take a note: new lamp", "create_note"),
        ("Change the dentist to Friday", "reschedule_event"),
        ("List my notes in the Shop folder", "list_notes"),
        ("Type a note: gate code 4411", "create_note"),
        ("Read the page about glazes", "read_note"),
        ("What is 14 October like?", "list_events"),
        ("How many days a week do I row?", "read_note"),
        ("Post office near me", "search_places"),
        ("Send Neusa a mail that the kiln costs $65", "send_email"),
        ("Tell Neusa: $65", "send_email"),
    ],
)
def test_tool_that_does_what_is_ordered(text: str, tool: str) -> None:
    assert does_action(TOOLS[tool], text)


def test_tool_of_another_catalogue_serves_the_order() -> None:
    archive = Tool("archive_message", "Moves a message to the archive", app="Mail")
    assert is_unserved("Archive the parcel mail", [TOOLS["flag_email"]])
    assert not is_unserved("Archive the parcel mail", [TOOLS["flag_email"], archive])
    assert not does_action(TOOLS["flag_email"], "Archive the parcel mail")


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("Read this page aloud", "read_note"),
        ("Type out this handwritten page", "search_notes"),
        ("Empty the trash", "delete_email"),
        ("What's 36 times 41?", "read_note"),
        ("How many ounces are in a pound?", "read_note"),
    ],
)
def test_nearest_tool_does_something_else(text: str, tool: str) -> None:
    assert not does_action(TOOLS[tool], text)


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("Put the kettle on", Tool("control_device", "Turns an appliance on or off")),
        ("Dim the lights", Tool("set_light", "Sets the brightness of a light")),
        ("Take a photo", Tool("camera", "Captures an image")),
        ("Turn the page", Tool("next_page", "Goes to the next page of the book")),
        ("What's 36 times 41?", Tool("calculator", "Evaluates a formula")),
        ("Sell my bike", Tool("create_offer", "Puts something up for sale")),
    ],
)
def test_tool_for_things_serves_the_order(text: str, tool: Tool) -> None:
    assert does_action(tool, text)


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


def test_booking_a_time_is_an_event() -> None:
    tools = list(TOOLS.values())
    assert not is_unserved("Book me dentist on Thursday at half past ten", tools)
    assert is_unserved("Book me a flight on Thursday at half past ten", tools)
    assert is_unserved("Book me a massage", tools)
