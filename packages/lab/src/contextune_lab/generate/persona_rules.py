"""Rules of the persona format for people and items."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, cast

from contextune.datasets import Persona
from contextune.types import Item, User
from contextune.types.app_schema import APPS
from contextune_lab.generate.faults import RuleFault

WORDS = ("name", "profession", "city")
FAVORITES = ("favorite_music_genre", "favorite_movie_genre", "favorite_cuisine", "favorite_sport")
AGES = (10, 110)
MAX_DISTANCE = timedelta(days=31)
"""Maximum distance of an item's times from the queries."""
MAX_USES = 50
MAX_SENTENCES = 6
"""Sentences per mail; four are asked for, but "Dr. Okoye" counts as one more."""
_ADDRESS = re.compile(r"[\w.+-]+@[\w.-]*\w")
_INVENTED = re.compile(r"[@.]example\.(?:com|org|net)$")
_NUMBER = re.compile(r"555-[\d-]+")
_MINUTE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")
_SENTENCE = re.compile(r"[.!?…]+(?=\s+\S|\s*$)")


def user_faults(user: User) -> Iterator[RuleFault]:
    """Faults of the profile, places and contacts."""
    profile = user.profile
    for name in (*WORDS, *FAVORITES):
        if not _is_text(profile.get(name)):
            yield RuleFault(f"profile.{name}", "missing: one or two words")
    age = profile.get("age")
    if not isinstance(age, int) or not AGES[0] <= age <= AGES[1]:
        yield RuleFault("profile.age", f"{age!r} not an age: write years, as in 34")
    hobbies = profile.get("hobbies")
    if not isinstance(hobbies, list) or not hobbies or not all(map(_is_text, cast("list[object]", hobbies))):
        yield RuleFault("profile.hobbies", "must be a list of at least one hobby")
    if not user.places:
        yield RuleFault("places", "empty: add at least the home")
    yield from _contact_faults(user)


def _contact_faults(user: User) -> Iterator[RuleFault]:
    for contact in user.contacts:
        path = f"contacts.{contact.name}"
        if not _is_text(contact.relation):
            yield RuleFault(f"{path}.relation", "missing: who they are to the user")
        if contact.email is not None and (
            _is_real_address(contact.email) or not _ADDRESS.fullmatch(contact.email)
        ):
            yield RuleFault(
                f"{path}.email", f"{contact.email!r} does not end in example.com, example.org or example.net"
            )
        if contact.phone is not None and not _NUMBER.fullmatch(contact.phone):
            yield RuleFault(f"{path}.phone", f"{contact.phone!r} does not start with 555-")
    for name in ("email", "phone"):
        values = [value for contact in user.contacts if (value := getattr(contact, name))]
        for value, times in Counter(values).items():
            if times > 1:
                yield RuleFault("contacts", f"{times} people have the {name} {value!r}: give each their own")


def item_faults(persona: Persona) -> Iterator[RuleFault]:
    """Faults of the items."""
    numbers = {contact.name: contact.phone for contact in persona.user.contacts}
    duplicates = Counter((item.app, item.text, item.time) for item in persona.items)
    for number, item in enumerate(persona.items):
        path = f"items[{number}]"
        if item.app not in APPS:
            yield RuleFault(f"{path}.app", f"{item.app!r} not one of {', '.join(APPS)}")
            continue
        if duplicates[item.app, item.text, item.time] > 1:
            yield RuleFault(path, "duplicate of another item at the same time: remove one")
        if not item.title.strip():
            yield RuleFault(f"{path}.{item.schema.title}", "empty")
        for field, text in _texts(item.fields):
            for address in filter(_is_real_address, _ADDRESS.findall(text)):
                yield RuleFault(
                    f"{path}.{field}", f"{address!r} does not end in example.com, example.org or example.net"
                )
        if item.app == "PhoneCall":
            yield from _call_faults(item.fields, numbers, path)
        if item.app == "Mail":
            yield from _mail_faults(item.fields, path)
        yield from _time_faults(persona, item, path)
        yield from _use_faults(persona, item, path)


def _call_faults(
    call: Mapping[str, Any], numbers: Mapping[str, str | None], path: str
) -> Iterator[RuleFault]:
    number, contact = str(call["number"]), str(call["contact"])
    if not _NUMBER.fullmatch(number):
        yield RuleFault(f"{path}.number", f"{number!r} does not start with 555-")
    elif contact in numbers and numbers[contact] != number:
        yield RuleFault(
            f"{path}.number", f"{number!r} not {contact!r}'s number in the contacts, {numbers[contact]!r}"
        )
    if call["direction"] == "missed" and call["duration_s"]:
        yield RuleFault(f"{path}.duration_s", "a missed call lasts 0 seconds")


def _mail_faults(mail: Mapping[str, Any], path: str) -> Iterator[RuleFault]:
    content = str(mail["content"])
    if not content.strip():
        yield RuleFault(f"{path}.content", "empty: write one to four sentences")
    elif len(_SENTENCE.findall(content)) > MAX_SENTENCES:
        yield RuleFault(f"{path}.content", "is too long: write one to four sentences")
    if not mail["recipients"]:
        yield RuleFault(f"{path}.recipients", "empty: a mail needs a recipient")


def _time_faults(persona: Persona, item: Item, path: str) -> Iterator[RuleFault]:
    fields = {name: item.fields.get(name) for name in item.schema.times.values()}
    malformed = [name for name, value in fields.items() if value and not _MINUTE.fullmatch(str(value))]
    for name in malformed:
        yield RuleFault(
            f"{path}.{name}", f"{fields[name]!r} not in the form 2024-05-16T17:40 (local time, no zone)"
        )
    if malformed:
        return
    times, names = item.times, item.schema.times
    if "end" in times and times["end"] <= times["start"]:
        yield RuleFault(f"{path}.{names['end']}", "not after the start")
    if "due" in times and times["due"] < times["made"]:
        yield RuleFault(f"{path}.{names['due']}", "before the reminder was made")
    query_times = [query.time.replace(tzinfo=None) for query in persona.queries]
    if not query_times:
        return
    for role, time in times.items():
        yield from _distance_faults(time, query_times, f"{path}.{names[role]}", made=role == "made")


def _distance_faults(
    time: datetime, query_times: Sequence[datetime], path: str, *, made: bool
) -> Iterator[RuleFault]:
    if time < min(query_times) - MAX_DISTANCE:
        yield RuleFault(path, f"is more than {MAX_DISTANCE.days} days before the first query")
    if made and time > max(query_times):
        yield RuleFault(path, "is after the last query: no query can see it")
    elif time > max(query_times) + MAX_DISTANCE:
        yield RuleFault(path, f"is more than {MAX_DISTANCE.days} days after the last query")


def _use_faults(persona: Persona, item: Item, path: str) -> Iterator[RuleFault]:
    uses = Counter((habit.when, habit.where) for habit in persona.habits[item.id])
    for (when, where), times in uses.items():
        if times > 1:
            yield RuleFault(f"{path}.use", f"{when}, {where} occurs {times} times: add them up")
    for number, habit in enumerate(persona.habits[item.id]):
        if habit.times > MAX_USES:
            yield RuleFault(f"{path}.use[{number}]", f"{habit.times} uses in 15 days is implausible")


def _texts(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in fields.items():
        if isinstance(value, str):
            yield name, value
        elif isinstance(value, list):
            for number, part in enumerate(cast("list[object]", value)):
                yield f"{name}[{number}]", str(part)


def _is_real_address(address: str) -> bool:
    """Whether an address could belong to a real person."""
    return _INVENTED.search(address) is None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
