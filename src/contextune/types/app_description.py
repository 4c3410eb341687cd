"""Describe an application by data: which field names stand for title, text, times and people.

A description names alternatives, since the same application exports different field names; `AppDescription.
schema` picks those that an item has. `DESCRIBED_APPS` holds applications that are common but not among those
the bundled models were trained on. Any other application is read by `ANY_APP`, the most common field names.

Times under other names are found by the words of the name and by the value. A field whose role is not clear
is the start of something: unlike the time of creation, it hides the item from no request.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from contextune._internal.phrases import phrases
from contextune.types.field_names import snake_case
from contextune.types.field_values import is_iso_time, looks_like_date, read_time

_WORDS_BY_ROLE = {
    "due": "due deadline expires expiry expiration",
    "end": "end ends until arrival arrives arrive finish finishes finished return returns checkout stop",
    "start": "start starts begin begins departure departs depart when scheduled checkin",
    "made": "created made sent received posted updated modified edited added saved taken captured recorded "
    "logged seen viewed opened played visited ordered purchased paid published issued timestamp ts mtime",
}
_ROLES = {word: role for role, words in _WORDS_BY_ROLE.items() for word in words.split()}
_TIME_WORDS = frozenset(["at", "on", "date", "day", "time", "datetime", "epoch"])
"""Last words of names of times that say nothing of the role."""
_NEVER = frozenset(["birth", "birthday", "birthdate", "born", "dob", "anniversary", "wedding"])
"""Words of names of times at which the item neither was made nor takes place."""
_TITLES = ("title", "name", "subject", "query", "event_name", "summary", "headline", "filename", "file_name")
_BODIES = phrases("""
    text, body, content, message, description, caption, note, notes, comment, msg, snippet, contents,
    details
""")
_ROUTES = (("origin", "destination"), ("departure_airport", "arrival_airport"))
"""Two fields that are a title only together."""
_MADE = phrases("""
    date, created, modified, time, timestamp, datetime, created_at, sent, sent_at, received, received_at,
    posted, posted_at, updated, updated_at, modified_at, last_modified, taken, taken_at, last_contact_date
""")
_STARTS = ("start_time", "start", "start_at", "starts_at", "start_date", "event_start")
_ENDS = ("end_time", "end", "end_at", "ends_at", "end_date", "event_end")
_DUE = ("due", "due_date", "due_at", "deadline", "follow_up_by")
_PEOPLE = phrases("""
    author, recipients, sender, organizer, participants, contact, from, to, cc, attendees, members, people,
    assignee, assigned_to, assigned_to_email, owner, customer_name, customer_email, customer_phone,
    participant_email, sender_email, sent_by, created_by, posted_by, written_by, reported_by, assigned_by,
    sender_name, from_name, from_email, to_name, to_email, user, username, user_name, who, person,
    participant, attendee, recipient, invitees, guests, reporter, host, caller, callee
""")
_MAY_HOLD_TEXT = frozenset(["time", "start", "end", "sent", "received", "posted", "updated", "taken"])
"""Field names that often hold something else than a time, such as "20 min"."""
_NOT_A_TITLE = frozenset(
    ["id", "uuid", "key", "ref", "number", "url", "type", "kind", "status", "state", "currency", "language"]
)
"""Last words of names of fields that do not tell items apart for a person."""
_TIME_ROLES = ("made", "start", "end", "due")


@lru_cache(maxsize=4096)
def role_of(name: str) -> str | None:
    """The role of a field whose name tells that it holds a time; None for any other field."""
    words = snake_case(name).split("_")
    if not _NEVER.isdisjoint(words):
        return None
    for role in _WORDS_BY_ROLE:
        if any(_ROLES.get(word) == role for word in words):
            return role
    return "start" if len(words) > 1 and words[-1] in _TIME_WORDS else None


def infer_times(fields: Mapping[str, object], times: Mapping[str, str]) -> dict[str, str]:
    """The fields of roles that are not in `times`, by role.

    A name that tells of a time may hold any format; under any other name only ISO 8601 is a time, since
    numbers may be something else, and only if the item has no other time.
    """
    inferred: dict[str, str] = {}
    for name, value in fields.items():
        role = role_of(name)
        if role and role not in times and role not in inferred and read_time(value) is not None:
            inferred[role] = name
    if not times and not inferred:
        for name, value in fields.items():
            if is_iso_time(value) and _NEVER.isdisjoint(snake_case(name).split("_")):
                return {"start": name}
    return inferred


@dataclass(frozen=True, slots=True)
class AppSchema:
    """Maps the fields of one application to roles."""

    noun: str
    """What a person calls such an item; the item's text begins with it."""
    title: str
    """The field with the title."""
    text: Mapping[str, str]
    """Text fields in reading order, each with its label (empty for none)."""
    made: str | None
    """The field with the time of creation; earlier requests do not see the item."""
    times: Mapping[str, str]
    """Time fields by role: made, start, end, due."""
    people: tuple[str, ...]
    """Fields with names, addresses or numbers of people."""
    verb: str = "opened"
    """The verb for using such an item."""
    title_end: str | None = None
    """The field with the second half of the title, such as the destination of a trip."""


@dataclass(frozen=True, slots=True)
class AppDescription:
    """Field names by role, the preferred ones first. An item has some of them."""

    noun: str = ""
    """What a person calls such an item; the application's name if empty."""
    titles: Sequence[str] = _TITLES
    bodies: Sequence[str] = _BODIES
    """Running text, which also serves as title where there is none."""
    made: Sequence[str] = _MADE
    starts: Sequence[str] = _STARTS
    ends: Sequence[str] = _ENDS
    due: Sequence[str] = _DUE
    people: Sequence[str] = _PEOPLE
    verb: str = "opened"
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Labels of fields in the item's text, in reading order; others follow under their own names."""
    infers_times: bool = False
    """Whether to look for times in other fields too, by their names and values."""
    _keys: Mapping[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)
    """The names of each role in snake case."""
    _certain_times: frozenset[str] = field(init=False, repr=False, compare=False)
    """Names that stand for a time and nothing else."""

    def __post_init__(self) -> None:
        names = {
            "title": (*self.titles, *self.bodies),
            "people": self.people,
            "made": self.made,
            "start": self.starts,
            "end": self.ends,
            "due": self.due,
        }
        keys = {role: tuple(map(snake_case, alternatives)) for role, alternatives in names.items()}
        defaults = {"made": _MADE, "start": _STARTS, "end": _ENDS, "due": _DUE}
        certain = {
            key
            for role, default in defaults.items()
            for key in keys[role]
            if names[role] is not default or key not in _MAY_HOLD_TEXT
        }
        object.__setattr__(self, "_keys", keys)
        object.__setattr__(self, "_certain_times", frozenset(certain))

    def schema(self, app: str, fields: Mapping[str, object]) -> AppSchema:
        """The schema of an item with these fields. Names match whatever their case, `sentBy` as `sent_by`."""
        by_key = {snake_case(name): name for name in reversed(list(fields))}
        by_key |= {name: name for name in fields}  # a name that is spelled like this comes first
        times, dated = self._times(fields, by_key)
        people = tuple(by_key[key] for key in self._keys["people"] if key in by_key)
        spoken = [name for name in fields if name != "place" and name not in dated]
        title, title_end = self._title(spoken, people, fields, by_key)
        own = [name for name in (title, title_end) if name is not None]
        labels = {by_key[key]: label for key, label in self.labels.items() if by_key.get(key) in spoken}
        labels |= {name: _label(name) for name in spoken if name not in labels}
        return AppSchema(
            noun=self.noun or app,
            title=title,
            text={
                **dict.fromkeys(own, ""),
                **{name: label for name, label in labels.items() if name not in own},
            },
            made=times.get("made"),
            times=times,
            people=people,
            verb=self.verb,
            title_end=title_end,
        )

    def unread_times(self, fields: Mapping[str, object]) -> tuple[str, ...]:
        """Fields that are named like a time and hold something that cannot be read as one.

        A name such as `time` may stand for something else: then only what looks like a date is reported,
        unless the description lists names of its own for that role.
        """
        names = {key for role in _TIME_ROLES for key in self._keys[role]}
        return tuple(
            name
            for name, value in fields.items()
            if value
            and (
                (key := snake_case(name)) in self._certain_times
                or ((key in names or (self.infers_times and role_of(key))) and looks_like_date(value))
            )
            and read_time(value) is None
        )

    def _times(
        self, fields: Mapping[str, object], by_key: Mapping[str, str]
    ) -> tuple[dict[str, str], set[str]]:
        """The field of each role that has one, and all fields with times."""
        times: dict[str, str] = {}
        dated: set[str] = set()
        for role in _TIME_ROLES:
            for key in self._keys[role]:
                name = by_key.get(key)
                if name is not None and read_time(fields[name]) is not None:
                    times.setdefault(role, name)
                    dated.add(name)
        if self.infers_times:
            others = {name: value for name, value in fields.items() if name not in dated}
            inferred = infer_times(others, times)
            times |= inferred
            dated.update(inferred.values())
        return times, dated

    def _title(
        self,
        spoken: Sequence[str],
        people: Sequence[str],
        fields: Mapping[str, object],
        by_key: Mapping[str, str],
    ) -> tuple[str, str | None]:
        """The fields of the title: never a sender, if there is anything else to call the item by."""
        for key in self._keys["title"]:
            name = by_key.get(key)
            if name is not None and name in spoken and fields[name]:
                return name, None
        others = [name for name in spoken if name not in people and isinstance(fields[name], str)]
        for ends in _ROUTES:
            first, second = (by_key.get(name) for name in ends)
            if first is not None and first in others and second in others:
                return first, second
        telling = [name for name in others if snake_case(name).rpartition("_")[2] not in _NOT_A_TITLE]
        return next(iter([*telling, *others, *spoken]), ""), None


def _label(name: str) -> str:
    return snake_case(name).replace("_", " ")


ANY_APP = AppDescription(infers_times=True)
"""For applications that are not described."""
DESCRIBED_APPS: Mapping[str, AppDescription] = {
    "Messages": AppDescription(
        "message",
        titles=("text", "body", "content", "message", "msg"),
        bodies=(),
        verb="read",
        infers_times=True,
    ),
    "Tasks": AppDescription(
        "task", titles=("title", "name", "task", "task_name", "summary"), infers_times=True
    ),
    "Files": AppDescription(
        "file",
        titles=("name", "filename", "file_name", "title", "path"),
        made=("modified", "modified_at", "last_modified", "mtime", "date", "created", "created_at"),
        infers_times=True,
    ),
    "CRM": AppDescription(
        "customer record",
        titles=("customer_name", "name", "company", "account", "title"),
        made=("last_contact_date", "last_contact", "updated_at", "modified", "created_at", "created", "date"),
        infers_times=True,
    ),
    "Photos": AppDescription(
        "photo",
        titles=("caption", "title", "description", "album", "filename", "file_name", "name"),
        made=("taken", "taken_at", "date", "timestamp", "created", "created_at"),
        people=("people", "faces", "persons"),
        verb="viewed",
        infers_times=True,
    ),
    "Contacts": AppDescription(
        "contact",
        titles=("name", "full_name", "display_name"),
        people=("name", "full_name", "display_name", "email", "emails", "phone", "phones"),
    ),  # a birthday is not a time at which something happens: no times are inferred
}
"""Applications beyond those the bundled models were trained on."""
