"""What is to be played, and the tools that play it: a song, an album, a playlist."""

import re
from collections.abc import Sequence

from contextune.plan.opening_words import OPENING
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.values.explicit_values import said_title_and_artist
from contextune.plan.schema import tool_parameters
from contextune.plan.values import normalize_text
from contextune.search.tokenize import identifier_words
from contextune.types import Item, Tool, ToolHit

SONGS, _ALBUMS = frozenset(["song", "track"]), frozenset(["album", "record"])
PLAYLISTS, ARTISTS = frozenset(["playlist"]), frozenset(["artist", "band"])
_PLAY = re.compile(
    rf"{OPENING}(?:play|put on)(?: me)? (?P<title>\S.{{0,300}}?)(?: please| again"
    rf"| now){{0,8}}[\s.!?]*$",
    re.IGNORECASE,
)

_PLAYED_FIELDS = {"song_name": SONGS, "playlist": PLAYLISTS, "album_title": _ALBUMS}
"""By field of a song, the words of arguments that take it."""


def played(inputs: PlanningInput) -> frozenset[str] | None:
    """The words of arguments that take what is to be played, if it is all of a known title: "Play Naima"."""
    said, artist = said_title_and_artist(inputs)
    if said is not None and artist is not None:
        # "Play Terra by Tanxugueiras": both are stored with one song
        stored = [_words_of_title(item, said.text, artist.text) for item in inputs.items]
        return next((words for words in stored if words is not None), None)
    match = _PLAY.match(inputs.request.text)
    if match is None:
        return None
    title = normalize_text(match["title"])
    kinds = {
        words
        for item in inputs.items
        for field, words in _PLAYED_FIELDS.items()
        if item.app == "Music" and normalize_text(str(item.fields.get(field) or "")) == title
    }
    if not title or not kinds:
        return None
    # many an album is named after one of its songs
    return SONGS if kinds == {SONGS, _ALBUMS} else next(iter(kinds)) if len(kinds) == 1 else None


def _words_of_title(item: Item, title: str, artist: str) -> frozenset[str] | None:
    """The words of arguments that take a title of an item by this artist, if it has it."""
    if item.app != "Music" or normalize_text(str(item.fields.get("artist") or "")) != normalize_text(artist):
        return None
    fields = (field for field in _PLAYED_FIELDS if field != "playlist")
    wanted = normalize_text(title)
    field = next((f for f in fields if normalize_text(str(item.fields.get(f) or "")) == wanted), None)
    return None if field is None else _PLAYED_FIELDS[field]


def tools_for_title(tools: Sequence[ToolHit], inputs: PlanningInput) -> list[int]:
    """The ranks of the tools that take the title of "play TITLE by ARTIST": an album only if that is said."""
    title, _ = said_title_and_artist(inputs)
    if title is None:
        return []
    wanted = _ALBUMS if _ALBUMS.intersection(inputs.tokens) else SONGS
    return [
        rank
        for rank, hit in enumerate(tools)
        if any(wanted.intersection(parameter.words) for parameter in tool_parameters(hit.tool))
    ]


def plays(tool: Tool, words: frozenset[str]) -> bool:
    """Whether a tool plays what an argument with one of these words in its name takes."""
    return identifier_words(tool.name)[:1] == ["play"] and any(
        not words.isdisjoint(parameter.words) for parameter in tool_parameters(tool) if parameter.required
    )
