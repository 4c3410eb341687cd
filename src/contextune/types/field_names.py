"""Field names: compare them whatever their spelling, and other names of the fields of known applications.

An event with `title` and `start` is read as one, too; `createdAt` and `Created at` are `created_at`.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

_WORD_STARTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS = re.compile(r"[\W_]+")

_OTHER_NAMES = """
Mail: subject = title; author = from sender; recipients = to; content = body text message
Mail: date = sent sent_at received received_at time timestamp; folder =
Calendar: event_name = title summary name subject; notes = description; participants = attendees
Calendar: start_time = start starts start_at starts_at dtstart; end_time = end ends end_at ends_at dtend
Calendar: location =; organizer =; category =; status =
Google: query = text search title; date = time timestamp searched_at
Notes: title = name subject; content = text body; modified = updated updated_at modified_at date
Notes: folder =
Music: song_name = title song track name; album_title = album; artist =; playlist =
Music: played_time = played played_at time timestamp date
Reminders: title = name task text summary; due = due_date due_time due_at deadline; created = created_at
Reminders: list =; status =
PhoneCall: contact = name person; number = phone phone_number; date = time timestamp
PhoneCall: direction =; duration_s =
"""
_TIMES = frozenset(["date", "start_time", "end_time", "modified", "played_time", "due", "created"])


def _parse(table: str) -> dict[str, dict[str, str]]:
    """By application, the field that each name stands for; first the field's own name."""
    names: dict[str, dict[str, str]] = {}
    for line in table.strip().splitlines():
        app, _, rules = line.partition(":")
        for rule in rules.split(";"):
            own, _, others = rule.partition("=")
            names.setdefault(app, {}).update(dict.fromkeys([own.strip(), *others.split()], own.strip()))
    return names


_BY_APP = _parse(_OTHER_NAMES)
_OWN_NAMES = {app: frozenset(["place", *names.values()]) for app, names in _BY_APP.items()}


@lru_cache(maxsize=4096)
def snake_case(name: str) -> str:
    """The words of a name in lower case, joined by underscores: `created_at` for `createdAt`."""
    return _SEPARATORS.sub("_", _WORD_STARTS.sub("_", name)).strip("_").casefold() or name


def all_names(app: str, field: str) -> tuple[str, ...]:
    """The name of a field of a known application, and its other names."""
    return tuple(name for name, own in _BY_APP[app].items() if own == field) or (field,)


def with_own_names(app: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of an item under the names that the application has; the same object if they have them."""
    known = _BY_APP.get(app)
    if known is None or _OWN_NAMES[app].issuperset(fields):
        return fields
    renamed = dict(fields)
    for name, own in known.items():
        if name in fields and own not in renamed:
            renamed[own] = renamed.pop(name)
    for name, value in fields.items():
        own = known.get(snake_case(name))
        if name not in known and own and own not in renamed and not (own in _TIMES and not _is_iso(value)):
            renamed[own] = renamed.pop(name)
    return fields if renamed.keys() == fields.keys() else renamed


def _is_iso(value: object) -> bool:
    """A time that cannot be read would make the item invalid; under another name it is ignored."""
    try:
        return isinstance(value, str) and bool(datetime.fromisoformat(value))
    except ValueError:
        return False
