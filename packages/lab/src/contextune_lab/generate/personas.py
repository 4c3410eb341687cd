"""Generate a person (A.2) and the items of their applications."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from contextune.datasets import Habit, Persona
from contextune.errors import ContextuneError
from contextune.types import ANYWHERE, COMMUTE, Contact, Item, User, check_coordinates
from contextune.types.app_schema import APPS
from contextune_lab.generate import json_schemas
from contextune_lab.generate.ask_until_valid import ValidJsonWriter
from contextune_lab.generate.deduplicate import NearDuplicates
from contextune_lab.generate.faults import RuleFault
from contextune_lab.generate.persona_rules import FAVORITES, WORDS, item_faults, user_faults
from contextune_lab.generate.prompts import DAYS, item_messages, person_messages
from contextune_lab.generate.quotas import item_counts
from contextune_lab.generate.traits import Traits, draw_traits

_ID_PREFIXES: Mapping[str, str] = {
    "Calendar": "c", "Mail": "m", "Reminders": "r", "Notes": "n", "Google": "g", "Music": "s",
    "PhoneCall": "p",
}  # fmt: skip
"""Prefix of the item ids by application."""
_MIN_PHONE_NUMBERS = 3
"""Minimum number of contacts with a phone number: calls need them."""


@dataclass(frozen=True)
class InventedPerson:
    """An invented person and the storylines of their life."""

    user: User
    threads: tuple[str, ...]
    traits: Traits


def make_persona(
    writer: ValidJsonWriter,
    name: str,
    number: int,
    n: int,
    known_identities: NearDuplicates,
    *,
    seed: int = 0,
) -> Persona:
    """Generate persona `number` of `n`, without queries; `known_identities` rejects duplicates."""
    person = make_person(writer, name, draw_traits(number, seed), known_identities)
    persona = Persona(person.user, (), {}, ())
    for app, count in item_counts(number, n, seed).items():
        persona = add_items(writer, persona, person, app, count)
    return persona


def make_person(
    writer: ValidJsonWriter, name: str, traits: Traits, known_identities: NearDuplicates
) -> InventedPerson:
    """Generate a person with these traits who is not a duplicate."""

    def check(answer: Mapping[str, Any]) -> list[RuleFault]:
        faults = list(_person_faults(name, traits, answer))
        # record a valid person at once: another thread may get the same
        duplicates = [] if faults else [known_identities.add(identity) for identity in _identity(answer)]
        if any(duplicates):
            message = (
                "duplicate of another persona's name, or of their profession and city: invent somebody else"
            )
            faults.append(RuleFault("name", message))
        return faults

    answer = writer.write(f"{name}/person", person_messages(traits), json_schemas.PERSON, check=check)
    return InventedPerson(_user(name, traits, answer), tuple(answer["threads"]), traits)


def known_people(personas: Sequence[Persona]) -> NearDuplicates:
    """Names and professions of existing personas, so that nobody is generated twice."""
    return NearDuplicates(
        (identity for persona in personas for identity in _identity(persona.user.profile)), min_similarity=1.0
    )


def add_items(
    writer: ValidJsonWriter, persona: Persona, person: InventedPerson, app: str, count: int
) -> Persona:
    """Add `count` items of one application."""

    def check(answer: Mapping[str, Any]) -> Iterator[object]:
        if (count_given := len(answer["items"])) != count:
            yield f"{count_given} entries, expected {count}"
        yield from _entry_faults(persona, person, app, answer["items"])

    messages = item_messages(app, count, person.user, person.threads, person.traits.now, persona.items)
    answer = writer.write(f"{persona.id}/{app}", messages, json_schemas.items_schema(app), check=check)
    return _add_entries(persona, app, answer["items"])


def _person_faults(name: str, traits: Traits, answer: Mapping[str, Any]) -> Iterator[RuleFault]:
    places = [place["name"] for place in answer["places"]]
    if len(set(places)) < len(places) or {COMMUTE, ANYWHERE} & set(places):
        yield RuleFault("places", f"each has a name of its own, and none is called {COMMUTE} or {ANYWHERE}")
    if "home" not in places:
        yield RuleFault("places", "one of them is `home`")
    contacts = [contact["name"] for contact in answer["contacts"]]
    if len(set(contacts)) < len(contacts) or not all(contacts):
        yield RuleFault("contacts", "each has a name of their own")
    if sum(bool(contact["phone"]) for contact in answer["contacts"]) < _MIN_PHONE_NUMBERS:
        yield RuleFault("contacts", f"at least {_MIN_PHONE_NUMBERS} have a phone number")
    try:
        user = _user(name, traits, answer)
    except ContextuneError as error:
        yield RuleFault("places", str(error))
    else:
        yield from user_faults(user)


def _entry_faults(
    persona: Persona, person: InventedPerson, app: str, entries: Sequence[Mapping[str, Any]]
) -> Iterator[RuleFault]:
    """Faults of new entries, by their number."""
    places = {*persona.user.places, COMMUTE}
    contacts_with_phone = {contact.name for contact in persona.user.contacts if contact.phone}
    for number, entry in enumerate(entries):
        path = f"items[{number}]"
        if (place := entry.get("place")) is not None and place not in places:
            yield RuleFault(f"{path}.place", f"{place!r} not one of {', '.join(sorted(places))}, nor null")
        for use in entry["use"]:
            if use["where"] not in {*places, ANYWHERE}:
                yield RuleFault(
                    f"{path}.use", f"{use['where']!r} not one of {', '.join(sorted(places))}, {ANYWHERE}"
                )
        if app == "PhoneCall" and entry["contact"] not in contacts_with_phone:
            yield RuleFault(
                f"{path}.contact", f"{entry['contact']!r} not one of {', '.join(sorted(contacts_with_phone))}"
            )
    titles = NearDuplicates(min_similarity=1.0)
    for number, entry in enumerate(entries):
        if app != "PhoneCall" and titles.add(str(entry[APPS[app].title])) is not None:
            yield RuleFault(f"items[{number}]", "duplicate title")
    try:
        added = replace(_add_entries(persona, app, entries), queries=())
        added = replace(added, items=added.items[-len(entries) :])
        times = [item.times for item in added.items]
    except (ContextuneError, ValueError) as error:
        yield RuleFault("items", f"invalid time: {error}")
        return
    yield from item_faults(added)
    for number, times_of_item in enumerate(times):
        made = times_of_item.get("made")
        if made and not 0 <= (person.traits.now - made).total_seconds() <= (DAYS + 1) * 86_400:
            yield RuleFault(f"items[{number}]", f"must be made in the {DAYS} days before now")
        if any(abs((time - person.traits.now).days) > 2 * DAYS for time in times_of_item.values()):
            yield RuleFault(f"items[{number}]", "too far from now")


def _user(name: str, traits: Traits, answer: Mapping[str, Any]) -> User:
    profile = {
        "name": answer["name"],
        "age": traits.age,
        **{key: answer[key] for key in (*WORDS[1:], *FAVORITES)},
    }
    return User(
        id=name,
        profile={**profile, "hobbies": list(answer["hobbies"])},
        places={
            entry["name"]: check_coordinates((entry["latitude"], entry["longitude"]))
            for entry in answer["places"]
        },
        contacts=tuple(
            Contact(entry["name"], entry["email"] or None, entry["phone"] or None, entry["relation"])
            for entry in answer["contacts"]
        ),
    )


def _add_entries(persona: Persona, app: str, entries: Sequence[Mapping[str, Any]]) -> Persona:
    numbers = {contact.name: contact.phone for contact in persona.user.contacts}
    items, habits = list(persona.items), dict(persona.habits)
    for number, entry in enumerate(entries, 1):
        fields = {name: value for name, value in entry.items() if value is not None and name != "use"}
        if app == "PhoneCall":
            fields = {"contact": fields["contact"], "number": numbers.get(fields["contact"]) or "", **fields}
        item = Item(f"{_ID_PREFIXES[app]}{number}", app, fields)
        items.append(item)
        habits[item.id] = tuple(Habit(use["when"], use["where"], use["times"]) for use in entry["use"])
    return replace(persona, items=tuple(items), habits=habits)


def _identity(profile: Mapping[str, Any]) -> tuple[str, str]:
    return f"{profile.get('name')}", f"{profile.get('profession')} in {profile.get('city')}"
