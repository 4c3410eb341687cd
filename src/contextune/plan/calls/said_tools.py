"""Tools that the words of a request name: to reply, to play a title, to write a note, to invite somebody.

Most rules only narrow the choice. Where the words leave no other reading (`is_said_tool`), the call also gets
a probability of its own.
"""

import re
from collections.abc import Callable, Sequence

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.calls.actions import FILLER
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.argument_words import PEOPLE
from contextune.plan.pointer.references import replays_last
from contextune.plan.pointer.said import folded_words
from contextune.plan.pointer.spans import title_and_artist
from contextune.plan.schema import tool_parameters
from contextune.plan.values import normalize_text
from contextune.search.tokenize import identifier_words
from contextune.types import Tool, ToolHit

Accepts = Callable[[Tool], bool]

_REPLY = re.compile(
    rf"{FILLER}(?:reply|write back|respond"
    r"|answer (?!(?:the|my|that) (?:phone|call|door|bell)\b|(?:it|this|me)\b))\b",
    re.IGNORECASE,
)
_SONGS, _ALBUMS = frozenset(["song", "track"]), frozenset(["album", "record"])
_NOTE = re.compile(
    rf"{FILLER}(?:(?:new |quick )?note(?: to (?:self|myself))?"
    r"|(?:take|make|write|create|start|add)(?: me)? a (?:new |quick )?note):\s+\S",
    re.IGNORECASE,
)
_WRITING = frozenset(["create", "write", "add", "new", "make", "take"])
_PLAY = re.compile(
    rf"{FILLER}(?:play|put on)(?: me)? (?P<title>\S.*?)(?: please| again| now)*[\s.!?]*$", re.IGNORECASE
)
_PLAYED_FIELDS = {"song_name": _SONGS, "playlist": frozenset(["playlist"]), "album_title": _ALBUMS}
"""By field of a song, the words of arguments that take it."""
_INVITE = re.compile(
    rf"{FILLER}(?:add|invite|include|put) (?P<who>\S.*?) (?:to|in|on) (?P<event>\S.*)", re.IGNORECASE
)
_GUESTS = PEOPLE & {"participant", "attendee", "guest"}


def said_tools(tools: Sequence[ToolHit], inputs: PlanningInput) -> list[int]:
    """The ranks of the tools that the words of the request leave; none if they say nothing of tools."""
    if _REPLY.match(inputs.request.text):
        return [rank for rank, hit in enumerate(tools) if identifier_words(hit.tool.name)[:1] == ["reply"]]
    accepts = _said_kind(inputs)
    ranks = [rank for rank, hit in enumerate(tools) if accepts(hit.tool)] if accepts else []
    return ranks or _tools_for_title(tools, inputs)


def is_said_tool(tool: Tool, inputs: PlanningInput) -> bool:
    """Whether the words of the request mean this tool and leave no other reading."""
    accepts = _said_kind(inputs)
    return accepts is not None and accepts(tool)


def _said_kind(inputs: PlanningInput) -> Accepts | None:
    """The kind of tool that the words of the request mean; None if they leave it open."""
    text = inputs.request.text
    if _NOTE.match(text):
        return _writes_note
    if replays_last(text):
        return lambda tool: _plays(tool, _SONGS)
    if (words := _played(inputs)) is not None:
        return lambda tool: _plays(tool, words)
    return _takes_guest if _adds_guest(inputs) else None


def _writes_note(tool: Tool) -> bool:
    words = identifier_words(tool.name)
    return words[-1:] == ["note"] and not _WRITING.isdisjoint(words)


def _plays(tool: Tool, words: frozenset[str]) -> bool:
    """Whether a tool plays what an argument with one of these words in its name takes."""
    return identifier_words(tool.name)[:1] == ["play"] and any(
        not words.isdisjoint(parameter.words) for parameter in tool_parameters(tool) if parameter.required
    )


def _played(inputs: PlanningInput) -> frozenset[str] | None:
    """The words of arguments that take what is to be played, if it is all of a known title: "Play Naima"."""
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
    return next(iter(kinds)) if title and len(kinds) == 1 else None


def _adds_guest(inputs: PlanningInput) -> bool:
    """Whether a person is to be added to an event: "Add Teresa to the sprint demo"."""
    match = _INVITE.match(inputs.request.text)
    if match is None:
        return False
    start, end = match.span("who")
    if not any(name.words and name.start == start and name.end >= end for name in inputs.names):
        return False
    words = frozenset(folded_words(match["event"])) - STOP_WORDS
    events, others = (
        max((len(words.intersection(folded_words(item.title))) for item in items), default=0)
        for items in (
            [item for item in inputs.items if item.app == "Calendar"],
            [item for item in inputs.items if item.app != "Calendar"],
        )
    )
    return events > others


def _takes_guest(tool: Tool) -> bool:
    parameters = [parameter for parameter in tool_parameters(tool) if parameter.required]
    return any(not _GUESTS.isdisjoint(parameter.words) for parameter in parameters)


def _tools_for_title(tools: Sequence[ToolHit], inputs: PlanningInput) -> list[int]:
    """The ranks of the tools that take the title of "play TITLE by ARTIST": an album only if that is said."""
    title, _ = title_and_artist(inputs.request.text)
    if title is None:
        return []
    wanted = _ALBUMS if _ALBUMS.intersection(inputs.tokens) else _SONGS
    return [
        rank
        for rank, hit in enumerate(tools)
        if any(wanted.intersection(parameter.words) for parameter in tool_parameters(hit.tool))
    ]
