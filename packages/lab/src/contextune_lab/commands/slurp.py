"""SLURP: commands to a home assistant, by intent (Bastianelli and others, EMNLP 2020; not shipped)."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from contextune._internal.phrases import phrases
from contextune.errors import InvalidDataError
from contextune_lab.commands.command import Command

_EVENTS = "list_events get_event find_free_time list_reminders get_reminder"
_MAILS = "search_emails list_unread_emails read_email"
_MUSIC = "play_song play_album play_artist play_playlist search_music"
_LISTS = "list_reminders get_reminder list_notes search_notes read_note"

TOOLS: Mapping[str, str] = {
    "calendar_set": "create_event create_reminder invite_participant",
    "calendar_query": _EVENTS,
    "calendar_remove": "cancel_event delete_reminder complete_reminder",
    "email_query": _MAILS,
    "email_sendemail": "send_email reply_to_email forward_email",
    "weather_query": "get_weather",
    "play_music": _MUSIC,
    "music_query": "get_current_song get_recent_songs search_music",
    "news_query": "search_news search_web",
    "qa_factoid": "search_web",
    "qa_definition": "search_web",
    "qa_stock": "search_web search_news",
    "qa_currency": "search_web",
    "qa_maths": "search_web",
    "cooking_recipe": "search_web search_videos search_notes",
    "cooking_query": "search_web search_videos search_notes",
    "transport_query": "get_directions search_web search_places",
    "recommendation_locations": "search_places search_web",
    "recommendation_movies": "search_web search_videos search_places",
}
"""Intents that a bundled tool serves."""
MAY_REFUSE: Mapping[str, str] = {
    "email_querycontact": "call_contact search_emails read_email",
    "datetime_query": "search_web",
    "datetime_convert": "search_web",
    "lists_query": _LISTS,
    "lists_remove": "delete_reminder complete_reminder delete_note append_to_note",
    "lists_createoradd": "create_note append_to_note create_reminder",
    "alarm_set": "create_reminder create_event",
    "alarm_query": "list_reminders get_reminder",
    "alarm_remove": "delete_reminder",
    "play_radio": _MUSIC,
    "play_audiobook": _MUSIC,
    "play_podcasts": f"{_MUSIC} search_videos search_news",
    "music_likeness": "add_to_playlist",
    "music_settings": "skip_track pause_playback play_song play_playlist",
    "general_quirky": "search_web search_news search_places",
    "general_joke": "search_web",
    "transport_traffic": "get_directions search_web search_news",
    "transport_ticket": "search_web",
    "transport_taxi": "search_places get_directions",
    "recommendation_events": "search_web search_places search_news list_events",
    "takeaway_query": "search_places search_web get_opening_hours search_emails",
    "takeaway_order": "search_places",
    "social_query": "search_web search_news",
}
"""Intents that a tool serves in part: to refuse is right as well."""
UNSERVED_INTENTS = frozenset(
    phrases("""
        email_addcontact, social_post, play_game, general_greet, music_dislikeness, iot_hue_lightchange
        iot_hue_lightdim, iot_hue_lightoff, iot_hue_lighton, iot_hue_lightup, iot_cleaning, iot_coffee
        iot_wemo_on, iot_wemo_off, audio_volume_mute, audio_volume_up, audio_volume_down
    """)
)
"""Intents that no bundled tool serves."""


def read_slurp(folder: Path) -> list[Command]:
    """The commands of SLURP's utterances whose intent is known here."""
    file = folder / "utterances.jsonl"
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
        return list(_commands(json.loads(line) for line in lines))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidDataError(f"{file}: not a file of SLURP: {error}") from None


def _commands(rows: Iterator[Mapping[str, str]]) -> Iterator[Command]:
    for row in rows:
        intent = row["intent"]
        tools = TOOLS.get(intent) or MAY_REFUSE.get(intent, "")
        if tools or intent in UNSERVED_INTENTS:
            yield Command(
                str(row["id"]), row["sentence"], intent, frozenset(tools.split()), intent not in TOOLS
            )
