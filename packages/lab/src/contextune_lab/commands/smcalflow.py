"""SMCalFlow: dialogues with a calendar assistant, by program (Semantic Machines, TACL 2020; not shipped).

What was meant is a program; its functions say which tools may serve a turn. Turns that only confirm, or that
ask for several things, are left out.
"""

import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from contextune._internal.phrases import phrases
from contextune.errors import InvalidDataError
from contextune.types import Turn
from contextune_lab.commands.command import Command

_NAME = re.compile(r"\(\s*([A-Za-z]\w*(?:\.\w+)?)")
_SKIPPED = frozenset(
    phrases("""
        ConfirmAndReturnAction, DoNotConfirm, FenceMultiAction, UserPauseResponse, NewClobber, FenceOther
        FenceSpecify, FenceScope, FenceAttendee, RespondComment
    """)
)
"""Turns that say nothing new, or of which it is unknown what the bundled tools could do."""
_EVENT = frozenset(["create_event", "reschedule_event", "invite_participant", "cancel_event"])
RULES: Sequence[tuple[frozenset[str], frozenset[str], bool]] = (
    (frozenset(["DeleteCommitEventWrapper"]), frozenset(["cancel_event"]), False),
    (
        frozenset(["UpdateCommitEventWrapper", "ChooseUpdateEvent"]),
        frozenset(["reschedule_event", "invite_participant", "create_event"]),
        True,
    ),
    (
        frozenset(["CreateCommitEventWrapper", "ChooseCreateEvent", "ChooseCreateEventFromConstraint"]),
        frozenset(["create_event", "create_reminder"]),
        False,
    ),
    (frozenset(["ReviseConstraint"]), _EVENT, True),
    (
        frozenset(["WeatherQueryApi", "WeatherForEvent", "WeatherAggregate", "FenceWeather"]),
        frozenset(["get_weather"]),
        False,
    ),
    (
        frozenset(
            ["FindPlace", "FindPlaceMultiResults", "PlaceSearchResponse", "PlaceHasFeature", "AtPlace"]
        ),
        frozenset(["search_places", "search_web", "get_opening_hours", "get_directions", "get_event"]),
        True,
    ),
    (frozenset(["FenceReminder"]), frozenset(["create_reminder", "create_event"]), True),
    (
        frozenset(
            ["FindEventWrapperWithDefaults", "QueryEventResponse", "FindNumNextEvent", "FindLastEvent"]
        ),
        frozenset(["list_events", "get_event", "find_free_time"]),
        False,
    ),
    (
        frozenset(["FindManager", "FindTeamOf", "FindReports"]),
        frozenset[str](),
        True,
    ),
    (
        frozenset(["PleasantryAnythingElseCombined", "PleasantryCalendar", "GenericPleasantry"]),
        frozenset[str](),
        True,
    ),
)
"""Functions of a program, the tools for it, and whether to refuse is right; the first match counts."""


def read_smcalflow(folder: Path) -> list[Command]:
    """The turns of the dialogues whose program is known here, each with the turns before it."""
    file = folder / "dialogues.jsonl.gz"
    try:
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            return [command for line in lines for command in _commands(json.loads(line))]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidDataError(f"{file}: not a file of SMCalFlow: {error}") from None


def _commands(dialogue: Mapping[str, object]) -> Iterator[Command]:
    history: list[Turn] = []
    turns: Sequence[Mapping[str, str]] = dialogue["turns"]  # pyright: ignore[reportAssignmentType]
    for number, turn in enumerate(turns):
        meant = classify(turn["program"])
        if meant and turn["user"].strip():
            label, tools, may_refuse = meant
            name = f"{dialogue['id']}-{number}"
            yield Command(name, turn["user"], label, tools, may_refuse, tuple(history))
        agent = turn["agent"].replace("__BREAK", " ")
        history += [Turn("user", turn["user"]), Turn("assistant", agent)]


def classify(program: str) -> tuple[str, frozenset[str], bool] | None:
    """The function that tells what was meant, the tools for it, and whether to refuse is right."""
    names = frozenset(name.partition(".")[0] for name in _NAME.findall(program))
    if names & _SKIPPED:
        return None
    for functions, tools, may_refuse in RULES:
        if found := sorted(names & functions):
            return found[0], tools, may_refuse
    return None
