"""Invents a person (A.2), and the entries of their applications, one application after the other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from contextune.datasets import Habit, Persona
from contextune.errors import ContextuneError
from contextune.lab.generate import json_schemas
from contextune.lab.generate.ask_until_valid import ValidJsonWriter
from contextune.lab.generate.deduplicate import NearDuplicates
from contextune.lab.generate.faults import RuleFault
from contextune.lab.generate.persona_rules import FAVORITES, WORDS, item_faults, user_faults
from contextune.lab.generate.prompts import DAYS, item_messages, person_messages
from contextune.lab.generate.quotas import item_counts
from contextune.lab.generate.traits import Traits, traits
from contextune.types import ANYWHERE, COMMUTE, Contact, Item, User, check_coordinates
from contextune.types.app_schema import APPS

_LETTERS: Mapping[str, str] = {
    "Calendar": "c", "Mail": "m", "Reminders": "r", "Notes": "n", "Google": "g", "Music": "s",
    "PhoneCall": "p",
}  # fmt: skip
"""What the ids of an application's items begin with."""
_REACHED = 3
"""Contacts that have a number at least: calls are with them."""


@dataclass(frozen=True)
class InventedPerson:
    """Somebody made up, and what goes on in their life."""

    user: User
    threads: tuple[str, ...]
    given: Traits


def make_persona(
    scribe: ValidJsonWriter, name: str, number: int, n: int, people: NearDuplicates, *, seed: int = 0
) -> Persona:
    """The persona of a number, of `n` in all, without queries; `people` are those that there are."""
    person = make_person(scribe, name, traits(number, seed), people)
    persona = Persona(person.user, (), {}, ())
    for app, count in item_counts(number, n, seed).items():
        persona = add_items(scribe, persona, person, app, count)
    return persona


def make_person(scribe: ValidJsonWriter, name: str, given: Traits, people: NearDuplicates) -> InventedPerson:
    """Somebody with these traits who is not there yet."""

    def check(answer: Mapping[str, Any]) -> list[RuleFault]:
        faults = list(_person_faults(name, given, answer))
        # whoever is right is taken down at once: another thread may be given the same
        others = [] if faults else [people.add(told) for told in _told(answer)]
        if any(others):
            taken = "there is somebody of that name, or of that work in that town: invent somebody else"
            faults.append(RuleFault("name", taken))
        return faults

    answer = scribe.write(f"{name}/person", person_messages(given), json_schemas.PERSON, check=check)
    return InventedPerson(_user(name, given, answer), tuple(answer["threads"]), given)


def known_people(personas: Sequence[Persona]) -> NearDuplicates:
    """Those that there are, by name and by work, so that nobody is invented twice."""
    return NearDuplicates((told for persona in personas for told in _told(persona.user.profile)), alike=1.0)


def add_items(
    scribe: ValidJsonWriter, persona: Persona, person: InventedPerson, app: str, count: int
) -> Persona:
    """The persona with so many items of one more application."""

    def check(answer: Mapping[str, Any]) -> Iterator[object]:
        if (got := len(answer["items"])) != count:
            yield f"{got} entries are here, {count} are wanted"
        yield from _entry_faults(persona, person, app, answer["items"])

    messages = item_messages(app, count, person.user, person.threads, person.given.now, persona.items)
    answer = scribe.write(f"{persona.id}/{app}", messages, json_schemas.items(app), check=check)
    return _with(persona, app, answer["items"])


def _person_faults(name: str, given: Traits, answer: Mapping[str, Any]) -> Iterator[RuleFault]:
    places = [place["name"] for place in answer["places"]]
    if len(set(places)) < len(places) or {COMMUTE, ANYWHERE} & set(places):
        yield RuleFault("places", f"each has a name of its own, and none is called {COMMUTE} or {ANYWHERE}")
    if "home" not in places:
        yield RuleFault("places", "one of them is `home`")
    contacts = [contact["name"] for contact in answer["contacts"]]
    if len(set(contacts)) < len(contacts) or not all(contacts):
        yield RuleFault("contacts", "each has a name of their own")
    if sum(bool(contact["phone"]) for contact in answer["contacts"]) < _REACHED:
        yield RuleFault("contacts", f"at least {_REACHED} have a phone number")
    try:
        user = _user(name, given, answer)
    except ContextuneError as error:
        yield RuleFault("places", str(error))
    else:
        yield from user_faults(user)


def _entry_faults(
    persona: Persona, person: InventedPerson, app: str, entries: Sequence[Mapping[str, Any]]
) -> Iterator[RuleFault]:
    """What is wrong with new entries, each called by its own number."""
    places = {*persona.user.places, COMMUTE}
    reached = {contact.name for contact in persona.user.contacts if contact.phone}
    for number, entry in enumerate(entries):
        at = f"items[{number}]"
        if (place := entry.get("place")) is not None and place not in places:
            yield RuleFault(f"{at}.place", f"{place!r} is none of {', '.join(sorted(places))}, nor null")
        for use in entry["use"]:
            if use["where"] not in {*places, ANYWHERE}:
                yield RuleFault(
                    f"{at}.use", f"{use['where']!r} is none of {', '.join(sorted(places))}, {ANYWHERE}"
                )
        if app == "PhoneCall" and entry["contact"] not in reached:
            yield RuleFault(f"{at}.contact", f"{entry['contact']!r} is none of {', '.join(sorted(reached))}")
    titles = NearDuplicates(alike=1.0)
    for number, entry in enumerate(entries):
        if app != "PhoneCall" and titles.add(str(entry[APPS[app].title])) is not None:
            yield RuleFault(f"items[{number}]", "has the same title as another")
    try:
        new = replace(_with(persona, app, entries), queries=())
        new = replace(new, items=new.items[-len(entries) :])
        times = [item.times for item in new.items]
    except (ContextuneError, ValueError) as error:
        yield RuleFault("items", f"a time cannot be: {error}")
        return
    yield from item_faults(new)
    for number, found in enumerate(times):
        made = found.get("made")
        if made and not 0 <= (person.given.now - made).total_seconds() <= (DAYS + 1) * 86_400:
            yield RuleFault(f"items[{number}]", f"is to be made in the {DAYS} days before now")
        if any(abs((time - person.given.now).days) > 2 * DAYS for time in found.values()):
            yield RuleFault(f"items[{number}]", "lies too far from now")


def _user(name: str, given: Traits, answer: Mapping[str, Any]) -> User:
    profile = {
        "name": answer["name"],
        "age": given.age,
        **{key: answer[key] for key in (*WORDS[1:], *FAVORITES)},
    }
    return User(
        id=name,
        profile={**profile, "hobbies": list(answer["hobbies"])},
        places={
            one["name"]: check_coordinates((one["latitude"], one["longitude"])) for one in answer["places"]
        },
        contacts=tuple(
            Contact(one["name"], one["email"] or None, one["phone"] or None, one["relation"])
            for one in answer["contacts"]
        ),
    )


def _with(persona: Persona, app: str, entries: Sequence[Mapping[str, Any]]) -> Persona:
    numbers = {contact.name: contact.phone for contact in persona.user.contacts}
    items, habits = list(persona.items), dict(persona.habits)
    for number, entry in enumerate(entries, 1):
        fields = {name: value for name, value in entry.items() if value is not None and name != "use"}
        if app == "PhoneCall":
            fields = {"contact": fields["contact"], "number": numbers.get(fields["contact"]) or "", **fields}
        item = Item(f"{_LETTERS[app]}{number}", app, fields)
        items.append(item)
        habits[item.id] = tuple(Habit(use["when"], use["where"], use["times"]) for use in entry["use"])
    return replace(persona, items=tuple(items), habits=habits)


def _told(profile: Mapping[str, Any]) -> tuple[str, str]:
    return f"{profile.get('name')}", f"{profile.get('profession')} in {profile.get('city')}"
