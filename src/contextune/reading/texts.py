"""The texts that the reading model reads: a request, an item, a tool, an argument and its values.

The model was trained on exactly these texts: after a change here, train it again.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, cast

from contextune.search import tokenize
from contextune.search.tokenize import identifier_words
from contextune.types import Contact, Item, Request, Tool, Turn, User, local_time
from contextune.types.field_values import to_text

MAX_TURNS = 4
"""Turns of the conversation that are read, newest last."""
_TURN = 200
_REQUEST = 600
_TITLE = 120
_FIELD = 80
_PASSAGE = 420
_BRIEF = 50
_DESCRIPTION = 240
_CALL_DESCRIPTION = 160
_ARGUMENT_DESCRIPTION = 90
_VALUE = 80
_MAX_NAMES = 4
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")
LONG_FIELDS = ("content", "notes", "text", "body", "note", "description")
"""Fields of running text."""


class Names:
    """What people are called: contacts by address, number or name; the user is "me"."""

    def __init__(self, user: User) -> None:
        self._names: dict[str, str] = {}
        for contact in user.contacts:
            called = _called(contact)
            for key in contact_keys(contact):
                self._names.setdefault(_key(key), called)
        for address in user.addresses:
            self._names[_key(address)] = "me"
        if isinstance(name := user.profile.get("name"), str) and name:
            self._names[_key(name)] = "me"

    def name(self, person: str) -> str:
        """The name of a person, with the relation if it is known."""
        return self._names.get(_key(person), person)


def contact_keys(contact: Contact) -> list[str]:
    """The name, addresses and numbers of a contact."""
    more = contact.more
    keys = [contact.name, contact.email or "", contact.phone or ""]
    for name in ("emails", "phones"):
        values: object = more.get(name) or ()
        keys += (
            [values] if isinstance(values, str) else [str(value) for value in cast("Iterable[Any]", values)]
        )
    return [key for key in keys if key]


def contact_text(contact: Contact) -> str:
    """A contact as text: name, nickname, relation, organization, role."""
    more = contact.more
    parts = [contact.name]
    values = (to_text(more.get(name)) for name in ("nickname", "organization", "title", "note"))
    parts += [_cut(value, _FIELD) for value in values if value]
    if contact.relation:
        parts.insert(1, contact.relation)
    return ", ".join(parts)


def _called(contact: Contact) -> str:
    return f"{contact.name} ({contact.relation})" if contact.relation else contact.name


def _key(text: str) -> str:
    low = text.casefold().strip()
    digits = "".join(char for char in low if char.isdigit())
    return digits[-9:] if len(digits) >= 7 and "@" not in low else low


def request_text(request: Request, now: datetime, place: str | None = None) -> str:
    """A request with its conversation, day, hour and place; `now` is on the user's wall clock."""
    parts = [_turn(turn) for turn in request.history[-MAX_TURNS:]]
    moment = f"{_day(now)} {now.year} {now:%H:%M}"
    parts.append(f"now: {moment}, at {place.replace('_', ' ')}" if place else f"now: {moment}")
    parts.append(f"request: {_cut(request.text, _REQUEST)}")
    return " | ".join(parts)


def _turn(turn: Turn) -> str:
    return f"{turn.speaker}: {_cut(' '.join(turn.text.split()), _TURN)}"


def item_text(
    item: Item,
    now: datetime,
    user: User,
    names: Names,
    words: Collection[str] = (),
    habits: Sequence[str] = (),
    *,
    passage: int = _PASSAGE,
) -> str:
    """An item: kind, title, time relative to now, people, fields, and the passage nearest to `words`.

    `passage` is the length of the passage in characters.
    """
    parts = [_head(item, now, user), *_people(item, names), *_fields(item)]
    if habits:
        parts.append("; ".join(habits[:2]))
    if text := best_passage(_running_text(item), words, passage):
        parts.append(text)
    return " | ".join(parts)


def passage_text(item: Item, passage: str, now: datetime, user: User, names: Names) -> str:
    """An item with one of its passages, in the form of `item_text`."""
    return " | ".join([_head(item, now, user), *_people(item, names), *_fields(item), passage])


def brief_item_text(item: Item, now: datetime, user: User, names: Names) -> str:
    """An item in a few words, for texts that list several."""
    people = "; ".join(_people(item, names))
    start = _cut(" ".join(_running_text(item).split()), _BRIEF)
    return " | ".join(filter(None, (_head(item, now, user), _cut(people, _BRIEF), start)))


def _head(item: Item, now: datetime, user: User) -> str:
    title = _cut(" ".join(item.title.split()), _TITLE)
    head = f"{item.schema.noun}: {title}"
    time = item.time
    return f"{head} | {when(local_time(time, user.zone), now)}" if time is not None else head


def _people(item: Item, names: Names) -> list[str]:
    texts: list[str] = []
    schema = item.schema
    for field in schema.people:
        if field == schema.title:
            continue
        value = item.fields.get(field)
        people = [value] if isinstance(value, str) else list(cast("Iterable[Any]", value or ()))
        called = list(dict.fromkeys(names.name(str(person)) for person in people if person))
        if called:
            more = f" and {len(called) - _MAX_NAMES} more" if len(called) > _MAX_NAMES else ""
            label = schema.text.get(field) or field
            texts.append(f"{label} {', '.join(called[:_MAX_NAMES])}{more}")
    return texts


def _fields(item: Item) -> list[str]:
    """The short fields, with their labels."""
    schema = item.schema
    texts: list[str] = []
    for field, label in schema.text.items():
        if field == schema.title or field in schema.people or field in LONG_FIELDS:
            continue
        if value := to_text(item.fields.get(field)):
            texts.append(f"{label} {_cut(value, _FIELD)}" if label else _cut(value, _FIELD))
    if place := item.place:
        texts.append(f"at {place.replace('_', ' ')}")
    return texts


def _running_text(item: Item) -> str:
    """The long fields; a title that is cut in the head counts, as that of a message is its text."""
    title = item.schema.title
    texts = [to_text(item.fields.get(name)) for name in LONG_FIELDS if name != title]
    return "\n".join(filter(None, [item.title if len(item.title) > _TITLE else "", *texts]))


def best_passage(text: str, words: Collection[str], size: int = _PASSAGE) -> str:
    """The sentences of a text that share most with `words`, about `size` characters; else its beginning."""
    flat = " ".join(text.split())
    if len(flat) <= size:
        return flat
    sentences = [clean for part in _SENTENCE_END.split(text[:20_000]) if (clean := " ".join(part.split()))]
    wanted = frozenset(words)
    weights = [len(wanted & frozenset(tokenize(sentence))) for sentence in sentences]
    if not any(weights):
        return _cut(flat, size)
    best, chosen = 0.0, (0, 1)
    for first in range(len(sentences)):  # the window of consecutive sentences with the highest weight
        total, length, last = 0.0, 0, first
        while last < len(sentences) and (not length or length + len(sentences[last]) <= size):
            total += weights[last]
            length += len(sentences[last]) + 1
            last += 1
        if total > best:
            best, chosen = total, (first, last)
    window = " ".join(sentences[slice(*chosen)])
    return _cut(f"… {window}" if chosen[0] else window, size)


def when(time: datetime, now: datetime) -> str:
    """A time as people say it: "in 2 hours, today 14:00", "3 days ago, Mon 14 Sep 09:00"."""
    time = time.replace(tzinfo=None)
    now = now.replace(tzinfo=None)
    days = (time.date() - now.date()).days
    clock = f" {time:%H:%M}" if (time.hour, time.minute) != (0, 0) else ""
    if days == 0:
        minutes = round((time - now).total_seconds() / 60)
        if clock and abs(minutes) < 60:
            near = f"in {minutes} minutes" if minutes > 0 else f"{-minutes} minutes ago"
        elif clock:
            hours = round(abs(minutes) / 60)
            near = f"in {hours} hours" if minutes > 0 else f"{hours} hours ago"
        else:
            near = ""
        return ", ".join(filter(None, (near, f"today{clock}")))
    if days in (1, -1):
        return f"{'tomorrow' if days == 1 else 'yesterday'}, {_day(time)}{clock}"
    far = abs(days)
    span = (
        f"{far} days" if far < 21 else f"{round(far / 7)} weeks" if far < 90 else f"{round(far / 30)} months"
    )
    year = f" {time.year}" if time.year != now.year else ""
    return f"{f'in {span}' if days > 0 else f'{span} ago'}, {_day(time)}{year}{clock}"


def _day(time: datetime) -> str:
    return f"{_DAYS[time.weekday()]} {time.day} {_MONTHS[time.month - 1]}"


def tool_text(tool: Tool) -> str:
    """A tool: its server and name in words, description, and the names of its parameters."""
    properties = cast("Mapping[str, Any]", tool.parameters.get("properties") or {})
    required = frozenset(cast("Iterable[str]", tool.parameters.get("required") or ()))
    arguments = [
        f"{' '.join(identifier_words(name))}{'' if name in required else '?'}"
        for name in list(properties)[:12]
    ]
    head = (
        f"{tool.app}: {' '.join(identifier_words(tool.name))}"
        if tool.app
        else " ".join(identifier_words(tool.name))
    )
    text = f"{head}. {_cut(' '.join(tool.description.split()), _DESCRIPTION)}"
    return f"{text} ({', '.join(arguments)})" if arguments else text


NO_TOOL = "none: no tool can do this"
"""What stands for a tool where none serves the request."""


def call_text(tool: Tool) -> str:
    """A tool whose arguments are read: its server and name in words, and the start of its description."""
    name = " ".join(identifier_words(tool.name))
    head = f"{tool.app}: {name}" if tool.app else name
    return f"{head}. {_cut(' '.join(tool.description.split()), _CALL_DESCRIPTION)}"


def argument_text(path: Sequence[str], description: str, kind: str, *, required: bool, is_list: bool) -> str:
    """An argument of a tool, with what its schema says; `path` leads to it through nested objects."""
    words = " ".join(word for part in path for word in identifier_words(part))
    about = _cut(" ".join(description.split()), _ARGUMENT_DESCRIPTION)
    return (
        f"{words}{' list' if is_list else ''}: {about}{f' {kind}' if kind else ''}"
        f"{'' if required else ', optional'}"
    )


def value_text(value: object, origin: str) -> str:
    """A value of an argument and where it is from."""
    shown = _cut(" ".join(str(value).split()), _VALUE)
    return f"{shown} ({_cut(origin, _VALUE)})" if origin else shown


def time_value_text(time: datetime, now: datetime, origin: str, *, day: bool) -> str:
    """A time as a value: the day, the hour, how far away it is, and where it is from."""
    moment = time.replace(tzinfo=None)
    shown = _day(moment) if day else f"{_day(moment)} {moment:%H:%M}"
    days = (moment.date() - now.date()).days
    near = {0: "today", 1: "tomorrow", -1: "yesterday"}.get(days, f"{days:+d} days")
    if timedelta() == moment - now.replace(tzinfo=None):
        near = "now"
    return f"{shown}, {near} ({_cut(origin, _VALUE)})"


def _cut(text: str, size: int) -> str:
    """The beginning of a text, cut between two words."""
    if len(text) <= size:
        return text
    start = text[:size]
    cut = start.rfind(" ")
    return f"{start[:cut] if cut > size // 2 else start}…"
