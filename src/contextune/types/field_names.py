"""Other names of the fields of known applications: an event with `title` and `start` is read as one, too."""

from collections.abc import Mapping
from typing import Any

_OTHER_NAMES = """
Mail: subject = title; author = from sender; recipients = to; content = body text message
Mail: date = sent sent_at received received_at time timestamp
Calendar: event_name = title summary name subject; notes = description; participants = attendees
Calendar: start_time = start starts start_at starts_at dtstart; end_time = end ends end_at ends_at dtend
Google: query = text search title; date = time timestamp searched_at
Notes: title = name subject; content = text body; modified = updated updated_at modified_at date
Music: song_name = title song track name; album_title = album
Music: played_time = played played_at time timestamp date
Reminders: title = name task text summary; due = due_date due_time due_at deadline; created = created_at
PhoneCall: contact = name person; number = phone phone_number; date = time timestamp
"""


def _parse(table: str) -> dict[str, dict[str, str]]:
    names: dict[str, dict[str, str]] = {}
    for line in table.strip().splitlines():
        app, _, rules = line.partition(":")
        for rule in rules.split(";"):
            own, _, others = rule.partition("=")
            names.setdefault(app, {}).update(dict.fromkeys(others.split(), own.strip()))
    return names


_BY_APP = _parse(_OTHER_NAMES)


def with_own_names(app: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of an item under the names that the application has; the same object if they have them."""
    others = _BY_APP.get(app)
    if others is None or others.keys().isdisjoint(fields):
        return fields
    renamed = dict(fields)
    for name, own in others.items():
        if name in fields and own not in renamed:
            renamed[own] = renamed.pop(name)
    return fields if renamed.keys() == fields.keys() else renamed
