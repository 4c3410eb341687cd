"""A tool only reads if every verb of its name and description is a known reading verb."""

import json
from pathlib import Path

import pytest

from contextune.plan.policy import Policy, call_cost, tool_effect
from contextune.tools import bundled_toolbox
from contextune.types import Tool

WORDS = json.loads(Path(__file__).with_name("tool_descriptions.json").read_text(encoding="utf-8"))


READ = """Music/play_song Music/play_album Music/play_artist Music/play_playlist Music/pause_playback
Music/skip_track Music/get_current_song Music/get_recent_songs Music/search_music Google/search_web
Google/search_images Google/search_news Google/search_videos Google/search_places Google/get_directions
Google/get_weather Google/translate_text Google/get_opening_hours Google/get_search_history
Notes/read_note Notes/search_notes Notes/list_notes Mail/read_email Mail/search_emails
Mail/list_unread_emails PhoneCall/get_call_history PhoneCall/play_voicemail Calendar/get_event
Calendar/list_events Calendar/find_free_time Reminders/list_reminders Reminders/get_reminder
"""
"""The bundled tools that only read."""


def tool(entry: list[str]) -> Tool:
    return Tool(entry[0], entry[1], app="Other")


@pytest.mark.parametrize("entry", WORDS["harmful"], ids=lambda entry: entry[1])
def test_harm_behind_a_harmless_beginning_is_confirmed(entry: list[str]) -> None:
    assert Policy().confirms(tool(entry)), tool_effect(tool(entry))
    assert not tool_effect(tool(entry)).only_reads


def test_there_are_enough_descriptions() -> None:
    assert len(WORDS["harmful"]) >= 50
    assert len(WORDS["honest"]) >= 60


def test_most_honest_reading_tools_are_not_confirmed() -> None:
    confirmed = [entry for entry in WORDS["honest"] if Policy().confirms(tool(entry))]
    assert len(confirmed) <= 0.1 * len(WORDS["honest"]), confirmed


@pytest.mark.parametrize(
    ("name", "description", "kinds"),
    [
        ("get_invoice", "Returns an invoice.", {"reads"}),
        ("pay_invoice", "Pays an invoice.", {"pays"}),
        ("get_page", "Returns a page and deletes it.", {"reads", "deletes"}),
        ("notes_share", "Shares a note with a person.", {"sends"}),
        ("add_task", "Adds a task to a list.", {"changes"}),
        ("get_rates", "Fetches the rates, then buys the cheapest one.", {"reads", "pays"}),
        ("nearby", "Performs a search on the map.", {"reads"}),
        ("nearby", "Starts a payment.", {"sends"}),
    ],
)
def test_effects(name: str, description: str, kinds: set[str]) -> None:
    assert tool_effect(Tool(name, description)).kinds == kinds


@pytest.mark.parametrize(
    ("description", "unknown"),
    [
        ("Returns the weather and zaps the disk.", "zaps"),
        ("Gibt das Wetter aus und überweist Geld.", "überweist"),
        ("返回天气，并把钱转给作者。", "返回天气"),
        ("Affiche la météo.", "la"),
    ],
)
def test_unknown_verbs_and_languages_are_named(description: str, unknown: str) -> None:
    assert unknown in tool_effect(Tool("weather", description)).unknown


@pytest.mark.parametrize(
    "description",
    [
        "Shows a file without changing it.",
        "Returns a draft; does not send it.",
        "Lists messages that have been deleted.",
        "Returns the status of a payment, a transfer or an order.",
        "Lists the sent messages and the deleted files.",
    ],
)
def test_what_is_denied_or_past_is_not_done(description: str) -> None:
    assert tool_effect(Tool("get_item", description)).only_reads


def test_long_descriptions_are_not_judged_to_the_end() -> None:
    assert not tool_effect(Tool("get_item", "Returns an item. " * 2000)).only_reads


def test_costs_of_the_bundled_tools_are_as_by_their_names() -> None:
    costs = {tool.id: call_cost(tool) for tool in bundled_toolbox()}
    assert [name for name, cost in costs.items() if cost == "read"] == READ.split()
    assert all(tool_effect(tool).unknown == () for tool in bundled_toolbox())
