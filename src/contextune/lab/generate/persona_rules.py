"""What the persona format asks of a person and of what their phone holds."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, cast

from contextune.datasets import Persona
from contextune.lab.generate.faults import RuleFault
from contextune.types import Item, User
from contextune.types.app_schema import APPS

WORDS = ("name", "profession", "city")
FAVORITES = ("favorite_music_genre", "favorite_movie_genre", "favorite_cuisine", "favorite_sport")
AGES = (10, 110)
AROUND = timedelta(days=31)
"""How far from its queries the items of a persona may lie."""
MOST_TIMES = 50
MOST_SENTENCES = 6
"""In a mail; four are asked for, but "Dr. Okoye" counts as one more."""
_ADDRESS = re.compile(r"[\w.+-]+@[\w.-]*\w")
_INVENTED = re.compile(r"[@.]example\.(?:com|org|net)$")
_NUMBER = re.compile(r"555-[\d-]+")
_MINUTE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")
_SENTENCE = re.compile(r"[.!?…]+(?=\s+\S|\s*$)")


def user_faults(user: User) -> Iterator[RuleFault]:
    """What is wrong with the profile, the places and the contacts."""
    profile = user.profile
    for name in (*WORDS, *FAVORITES):
        if not _said(profile.get(name)):
            yield RuleFault(f"profile.{name}", "is missing: say it in a word or two")
    age = profile.get("age")
    if not isinstance(age, int) or not AGES[0] <= age <= AGES[1]:
        yield RuleFault("profile.age", f"{age!r} is no age: write years, as in 34")
    hobbies = profile.get("hobbies")
    if not isinstance(hobbies, list) or not hobbies or not all(map(_said, cast("list[object]", hobbies))):
        yield RuleFault("profile.hobbies", "is to be a list of at least one hobby")
    if not user.places:
        yield RuleFault("places", "there is none: name at least where they live")
    yield from _contact_faults(user)


def _contact_faults(user: User) -> Iterator[RuleFault]:
    for contact in user.contacts:
        at = f"contacts.{contact.name}"
        if not _said(contact.relation):
            yield RuleFault(f"{at}.relation", "is missing: say who they are to the user")
        if contact.email is not None and (_outside(contact.email) or not _ADDRESS.fullmatch(contact.email)):
            yield RuleFault(
                f"{at}.email", f"{contact.email!r} does not end in example.com, example.org or example.net"
            )
        if contact.phone is not None and not _NUMBER.fullmatch(contact.phone):
            yield RuleFault(f"{at}.phone", f"{contact.phone!r} does not begin with 555-")
    for name in ("email", "phone"):
        values = [value for contact in user.contacts if (value := getattr(contact, name))]
        for value, times in Counter(values).items():
            if times > 1:
                yield RuleFault("contacts", f"{times} people have the {name} {value!r}: give each their own")


def item_faults(persona: Persona) -> Iterator[RuleFault]:
    """What is wrong with the items."""
    numbers = {contact.name: contact.phone for contact in persona.user.contacts}
    twins = Counter((item.app, item.text, item.time) for item in persona.items)
    for number, item in enumerate(persona.items):
        at = f"items[{number}]"
        if item.app not in APPS:
            yield RuleFault(f"{at}.app", f"{item.app!r} is none of {', '.join(APPS)}")
            continue
        if twins[item.app, item.text, item.time] > 1:
            yield RuleFault(at, "says the same as another at the same time: leave one out")
        if not item.title.strip():
            yield RuleFault(f"{at}.{item.schema.title}", "is empty")
        for place, text in _texts(item.fields):
            for address in filter(_outside, _ADDRESS.findall(text)):
                yield RuleFault(
                    f"{at}.{place}", f"{address!r} does not end in example.com, example.org or example.net"
                )
        if item.app == "PhoneCall":
            yield from _call_faults(item.fields, numbers, at)
        if item.app == "Mail":
            yield from _mail_faults(item.fields, at)
        yield from _time_faults(persona, item, at)
        yield from _use_faults(persona, item, at)


def _call_faults(call: Mapping[str, Any], numbers: Mapping[str, str | None], at: str) -> Iterator[RuleFault]:
    number, contact = str(call["number"]), str(call["contact"])
    if not _NUMBER.fullmatch(number):
        yield RuleFault(f"{at}.number", f"{number!r} does not begin with 555-")
    elif contact in numbers and numbers[contact] != number:
        yield RuleFault(
            f"{at}.number", f"{number!r} is not that of {contact!r} in the contacts: {numbers[contact]!r}"
        )
    if call["direction"] == "missed" and call["duration_s"]:
        yield RuleFault(f"{at}.duration_s", "a missed call lasts 0 seconds")


def _mail_faults(mail: Mapping[str, Any], at: str) -> Iterator[RuleFault]:
    content = str(mail["content"])
    if not content.strip():
        yield RuleFault(f"{at}.content", "is empty: write one to four sentences")
    elif len(_SENTENCE.findall(content)) > MOST_SENTENCES:
        yield RuleFault(f"{at}.content", "is too long: write one to four sentences")
    if not mail["recipients"]:
        yield RuleFault(f"{at}.recipients", "is empty: a mail goes to somebody")


def _time_faults(persona: Persona, item: Item, at: str) -> Iterator[RuleFault]:
    fields = {name: item.fields.get(name) for name in item.schema.times.values()}
    unlike = [name for name, value in fields.items() if value and not _MINUTE.fullmatch(str(value))]
    for name in unlike:
        yield RuleFault(
            f"{at}.{name}", f"{fields[name]!r} is not written as 2024-05-16T17:40, local, without a zone"
        )
    if unlike:
        return
    times, names = item.times, item.schema.times
    if "end" in times and times["end"] <= times["start"]:
        yield RuleFault(f"{at}.{names['end']}", "is not after the start")
    if "due" in times and times["due"] < times["made"]:
        yield RuleFault(f"{at}.{names['due']}", "is before the reminder was made")
    asked = [query.time.replace(tzinfo=None) for query in persona.queries]
    if not asked:
        return
    for role, time in times.items():
        yield from _far(time, asked, f"{at}.{names[role]}", made=role == "made")


def _far(time: datetime, asked: Sequence[datetime], at: str, *, made: bool) -> Iterator[RuleFault]:
    if time < min(asked) - AROUND:
        yield RuleFault(at, f"is more than {AROUND.days} days before the first query")
    if made and time > max(asked):
        yield RuleFault(at, "is after the last query: no query can see it")
    elif time > max(asked) + AROUND:
        yield RuleFault(at, f"is more than {AROUND.days} days after the last query")


def _use_faults(persona: Persona, item: Item, at: str) -> Iterator[RuleFault]:
    said = Counter((habit.when, habit.where) for habit in persona.habits[item.id])
    for (when, where), times in said.items():
        if times > 1:
            yield RuleFault(f"{at}.use", f"{when}, {where} stands {times} times: add them up")
    for number, habit in enumerate(persona.habits[item.id]):
        if habit.times > MOST_TIMES:
            yield RuleFault(
                f"{at}.use[{number}]", f"{habit.times} times in 15 days is more than anybody does"
            )


def _texts(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in fields.items():
        if isinstance(value, str):
            yield name, value
        elif isinstance(value, list):
            for number, part in enumerate(cast("list[object]", value)):
                yield f"{name}[{number}]", str(part)


def _outside(address: str) -> bool:
    """Whether an address might be somebody's."""
    return _INVENTED.search(address) is None


def _said(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
