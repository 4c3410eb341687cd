"""Music that a request describes by when or by whom it is heard: "what I run to", "something to cook to".

Such a clause is no title. What is played comes from the songs that were heard, or from a note that says which
playlist is for what: "Canal Pace: for running".
"""

import re
from collections.abc import Sequence
from datetime import datetime

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.opening_words import PLEASE
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.items.item_words import shares_form
from contextune.plan.pointer.request_words import folded_words
from contextune.plan.pointer.values.candidate import Candidate
from contextune.plan.schema import Parameter
from contextune.types import Source, local_time

_REPLAY = re.compile(
    rf"{PLEASE}(?:play|put|start|resume)(?: me)?(?: back| on)? "
    r"(?:(?:what(?:ever)?|the (?:song|track|one|music|tune)(?: that)?|that (?:song|track|tune)) (?:i|we)"
    r"(?: was| were|['’]ve been| have been|['’]d been| had been|['’]d| had)?(?: just| only)?"
    r" (?:listening to|playing|hearing|played|heard|on)(?: last| before| just now| earlier| again)*"
    r"|(?:that (?:song|track|tune)|the (?:last|same) (?:song|track|tune|one)|the (?:song|track|tune))"
    r"(?: on)? (?:again|once more|one more time))\W*",
    re.IGNORECASE,
)
_SOME = r"(?:something|anything|some (?:music|songs|tunes))"
_DESCRIBED = re.compile(
    rf"{PLEASE}(?:(?:(?:play|put on|start|turn on)(?: me| us)?"
    r" (?:(?:what(?:ever)?|the (?:stuff|songs?|music|playlist|ones?|tunes)(?: that)?) (?:i|we|she|he|they)\b"
    rf"|{_SOME} (?:to|for|while|when|that|i|we)\b)"
    rf"|(?:i|we)(?:['’]d)? (?:need|want|like|could use) {_SOME} (?:on|playing)\b)"
    r"(?P<clause>.*))",
    re.IGNORECASE,
)
_TITLE = re.compile(r"\w (?:What|Something|Anything|Some)\b")
_BY = re.compile(r"\bby \S", re.IGNORECASE)
_PURPOSE = re.compile(
    r"^[^\w\n]*(?P<name>[^:(–—\n]{1,100}?)[^\S\n]*(?::|\(|[–—]| - )[^\S\n]*"
    r"(?P<use>\S.*)$",
    re.MULTILINE,
)
"""A line of a note that says what a playlist is for."""
_LISTENING = frozenset(folded_words("listen listening hear heard play played playing music song"))


def replays_last(text: str) -> bool:
    """Whether the request means the song that was played last: "Put on what I was just listening to"."""
    return _REPLAY.fullmatch(text) is not None


def describes_music(text: str) -> bool:
    """Whether the request says what to play by a clause: "Put on what I run to"."""
    match = _DESCRIBED.match(text)
    if match is None or replays_last(text):
        return False
    is_title = _TITLE.search(text) is not None and not text.isupper()
    return not is_title and not _BY.search(match["clause"])


def described_candidates(
    candidates: Sequence[Candidate], inputs: PlanningInput, parameter: Parameter | None
) -> list[Candidate]:
    """The candidates for music that the request describes: playlists of notes, songs that were heard."""
    if parameter is not None and "playlist" in parameter.words and (named := described_playlists(inputs)):
        return named
    songs = {number for number, item in enumerate(inputs.items) if item.app == "Music"}
    songs = _heard_then(songs, inputs) or songs
    return [
        candidate
        for candidate in candidates
        if candidate.item in songs or (candidate.item is None and candidate.span is None)
    ]


def described_playlists(inputs: PlanningInput) -> list[Candidate]:
    """The playlists that lines of notes name for what the request says: "Canal Pace: for running"."""
    words = _clause_words(inputs.request.text)
    return [
        Candidate(line["name"], "Notes.content", (Source("item", item.id, "content", line["name"]),), number)
        for number, item in enumerate(inputs.items)
        if item.app == "Notes" and "playlist" in folded_words(item.text)
        for line in _PURPOSE.finditer(str(item.fields.get("content") or ""))
        if shares_form(words, line["use"])
    ]


def _heard_then(songs: set[int], inputs: PlanningInput) -> set[int]:
    """The songs that were last heard on the weekday and at the hours of an event that the clause names."""
    words = _clause_words(inputs.request.text)
    hours = [
        (_in_week(item.times["start"], inputs), _in_week(item.times["end"], inputs))
        for item in inputs.items
        if "start" in item.times and "end" in item.times and shares_form(words, item.title)
    ]
    return {
        number
        for number in songs
        if (heard := inputs.items[number].time) is not None
        and any(start <= _in_week(heard, inputs) <= end for start, end in hours)
    }


def _in_week(time: datetime, inputs: PlanningInput) -> tuple[int, int, int]:
    """The weekday, the hour and the minute."""
    local = local_time(time, inputs.user.zone)
    return local.weekday(), local.hour, local.minute


def _clause_words(text: str) -> frozenset[str]:
    match = _DESCRIBED.match(text)
    return frozenset(folded_words(match["clause"])) - STOP_WORDS - _LISTENING if match else frozenset()
