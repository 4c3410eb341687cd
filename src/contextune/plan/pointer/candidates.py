"""What an argument may be filled with: values that stand somewhere, each saying where."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, cast

from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.spans import LANGUAGES, TextSpan, spans
from contextune.plan.schema import Parameter, fits
from contextune.plan.times.resolve import CandidateTime, moments
from contextune.plan.values import durations, iso_duration, numbers, text_form
from contextune.types import ANYWHERE, COMMUTE, Contact, Source
from contextune.types.app_schema import APPS

_CITY = "profile.city"
_SPANNED = 6
"""So many items are looked into for parts of their text, best first."""
_LISTED = 6
_GROUPS = 4
_UNKNOWN = frozenset(
    [
        *("", "unknown", "unknown caller", "unknown number", "private", "private number", "withheld"),
        *("no caller id", "anonymous", "n/a"),
    ]
)
_NUMBERS = frozenset(["number", "phone", "tel", "telephone", "dial", "mobile"])
_LANGUAGES = frozenset(["language", "lang", "locale"])
_PLACES = frozenset(
    [
        *("location", "destination", "place", "near", "where", "city", "area", "venue"),
        *("business", "shop", "store", "restaurant"),
    ]
)
_ADDRESSES = frozenset(["address", "email", "mail", "recipient", "recipients"])


@dataclass(frozen=True)
class Candidate:
    """A value and where it stands. `origin` is the kind of place, such as `Mail.author` or `contact`."""

    value: Any
    origin: str
    sources: tuple[Source, ...] = ()
    item: int | None = None
    """The place of its item among those of the situation."""
    field: str = ""
    span: TextSpan | None = None
    moment: CandidateTime | None = None
    people: tuple[int, ...] = ()
    """Contacts it names, by place in the address book."""

    @property
    def left_out(self) -> bool:
        """Whether it stands for not giving the argument at all."""
        return self.origin == NOTHING


NOTHING = "nothing"
FREE = "free"


def candidates(
    situation: PlanningInput, parameter: Parameter, seen: frozenset[str] | None = None
) -> list[Candidate]:
    """All there are for an argument; `seen` narrows them to origins that such values are known to have."""
    found = _fitting(situation, parameter, seen)
    if not found and seen is not None:
        found = _fitting(situation, parameter, None)
    return found if parameter.required else [*found, Candidate(None, NOTHING)]


def within(origin: str, seen: frozenset[str] | None) -> bool:
    """Whether `seen` leaves a text of this origin among the candidates."""
    if seen is None or origin in seen or origin in (NOTHING, "choice"):
        return True
    if origin.startswith("said "):
        return any(other.startswith("said ") for other in seen)
    # of applications that no example has, everything may be meant
    return origin not in ("contact", "place", _CITY) and origin.partition(".")[0] not in APPS


def _fitting(situation: PlanningInput, parameter: Parameter, seen: frozenset[str] | None) -> list[Candidate]:
    return [
        one
        for one in _by_kind(situation, parameter, seen)
        if _suits(one.value, parameter) and fits(one.value, parameter)
    ]


def _suits(value: Any, parameter: Parameter) -> bool:
    """Whether a text can be what the argument is called after: a language, a number, a place."""
    if parameter.kind != "text":
        return True
    name, text = frozenset(parameter.words), str(value)
    if name & _LANGUAGES:
        return text.casefold() in LANGUAGES
    dialled = sum(map(str.isdigit, text)) * 2 > len(text)
    if name & _NUMBERS:
        return dialled
    return not (name & _PLACES and (dialled or "@" in text))


def _by_kind(
    situation: PlanningInput, parameter: Parameter, seen: frozenset[str] | None
) -> Iterator[Candidate]:
    match parameter.kind:
        case "choice":
            for value in parameter.choices:
                yield Candidate(value, "choice", (Source("choice", words=str(value)),))
        case "boolean":
            for value in (True, False):
                yield Candidate(value, f"choice {value}", (Source("choice", words=str(value)),))
        case "number" | "integer":
            for value, words in numbers(situation.request.text):
                number = int(value) if value.is_integer() else value
                yield Candidate(number, "said", (Source("said", words=words),))
        case "duration":
            text = situation.request.text
            for length, start, end in durations(text):
                yield Candidate(iso_duration(length), "said", (Source("said", words=text[start:end]),))
        case "moment" | "day":
            yield from _times(situation, day=parameter.kind == "day")
        case "list":
            yield from _lists(situation, parameter)
        case "text":
            yield from _texts(situation, parameter, seen)
        case "free" | "other":
            return


def _times(situation: PlanningInput, *, day: bool) -> Iterator[Candidate]:
    seen: set[tuple[str, int | None]] = set()
    for one in moments(situation.times, situation.now, situation.items, situation.user.zone):
        if day:
            value = one.day.isoformat()
        elif (time := one.time) is not None:
            value = time.isoformat(timespec="minutes")
        else:
            continue
        if (value, one.item) in seen:
            continue
        seen.add((value, one.item))
        item = situation.items[one.item] if one.item is not None else None
        origin = f"{item.app}.{one.field}{'~' if one.read else ''}" if item else "time"
        if item and not one.item_day and not one.item_clock:
            origin = "time"
        source = Source("time", item.id if item else None, one.field, one.words)
        yield Candidate(value, origin, (source,), one.item, one.field or "", moment=one)


def _texts(
    situation: PlanningInput, parameter: Parameter, seen: frozenset[str] | None
) -> Iterator[Candidate]:
    yield from _fields(situation, seen)
    if within("contact", seen):
        yield from _persons(situation, parameter)
    for name in situation.user.places if within("place", seen) else ():
        if name not in (COMMUTE, ANYWHERE):
            yield Candidate(name.replace("_", " "), "place", (Source("place", field=name),))
    city = situation.user.profile.get("city")
    if isinstance(city, str) and city and within(_CITY, seen):
        yield Candidate(city, _CITY, (Source("profile", field="city"),))
    if within("said words", seen):
        for span in spans(situation.request.text):
            yield Candidate(span.text, f"said {span.shape}", (Source("said", words=span.text),), span=span)
    for word in _named_choices(parameter):
        if word in situation.words:
            yield Candidate(word, "choice", (Source("said", words=word),))
    if seen is None or any(origin.endswith("~") for origin in seen):
        yield from _parts(situation, seen)


def _fields(situation: PlanningInput, seen: frozenset[str] | None) -> Iterator[Candidate]:
    for place, item in enumerate(situation.items):
        for name, value in item.fields.items():
            origin = f"{item.app}.{name}"
            if not within(origin, seen):
                continue
            values = cast("Sequence[object]", value) if isinstance(value, list | tuple) else [value]
            for one in values[:_LISTED]:
                if isinstance(one, str) and name not in item.schema.times.values() and _says(one):
                    person = situation.people.number(one)
                    mine = () if person is None else (person,)
                    yield Candidate(one, origin, (Source("item", item.id, name),), place, name, people=mine)


def _says(value: str) -> bool:
    """Whether the text says anything: a caller called "Unknown" has no name."""
    return text_form(value) not in _UNKNOWN


def _named_choices(parameter: Parameter) -> Iterator[str]:
    """Words that the description names as values: "walking, driving, transit or cycling"."""
    text = parameter.description.casefold()
    if "," in text or " or " in text:
        pieces = text.replace(" or ", ",").split(",")
        yield from (piece.strip() for piece in pieces if piece.strip().isalpha())


def _parts(situation: PlanningInput, seen: frozenset[str] | None) -> Iterator[Candidate]:
    """Stretches of what the first items say."""
    for place, item in enumerate(situation.items[:_SPANNED]):
        for name in item.schema.text:
            value, origin = item.fields.get(name), f"{item.app}.{name}~"
            if not isinstance(value, str) or name in item.schema.people:
                continue
            if not within(origin, seen):
                continue
            for span in spans(value):
                if span.text != value:
                    source = Source("item", item.id, name, span.text)
                    yield Candidate(span.text, origin, (source,), place, name, span)


def spelled(contact: Contact, parameter: Parameter) -> str:
    """The contact as the argument wants it: by number, by address or by name."""
    said = frozenset((*parameter.words, *parameter.about))
    if said & _NUMBERS and contact.phone:
        return contact.phone
    if said & _ADDRESSES and contact.email:
        return contact.email
    return contact.name


def _persons(situation: PlanningInput, parameter: Parameter) -> Iterator[Candidate]:
    for number, contact in enumerate(situation.user.contacts):
        value = spelled(contact, parameter)
        sources = (Source("contact", contact.name, words=contact.relation or ""),)
        yield Candidate(value, "contact", sources, people=(number,))


def _lists(situation: PlanningInput, parameter: Parameter) -> Iterator[Candidate]:
    """Groups of people: those of an item, and those who are named or related in the way that is said."""
    contacts, first = situation.user.contacts, situation.people.first_names
    groups: dict[tuple[int, ...], tuple[str, int | None, str]] = {}

    def add(group: Sequence[int], origin: str, item: int | None, name: str = "") -> None:
        key = tuple(dict.fromkeys(group))
        if key and len(key) <= _LISTED:
            groups.setdefault(key, (origin, item, name))

    named = [n for n, count in enumerate(situation.named) if count]
    best = max(situation.related, default=0)
    related = [n for n, count in enumerate(situation.related) if count]
    closest = [n for n in related if situation.related[n] == best]
    add([*named, *related], "said people", None)
    add([*named, *closest], "said people", None)
    add(named, "said people", None)
    add(related, "said people", None)
    callers: list[int] = []
    for place, item in enumerate(situation.items):
        involved = [n for person in item.people if (n := situation.people.number(person)) is not None]
        said = situation.word_sets[place] & first.keys()
        mentioned = sorted(n for name in said for n in first[name])
        origin = f"{item.app}.people"
        add(involved, origin, place)
        add(mentioned, f"{item.app}.mentioned", place)
        add([*involved, *mentioned], f"{item.app}.mentioned", place)
        add([*named, *closest, *involved], f"{item.app}.people", place)
        callers += involved if item.app == "PhoneCall" else []
        if len(callers) > 1:
            add(callers, "PhoneCall.people", place)
    for size in (2, 3):
        for some in combinations(closest[:_GROUPS], size):
            add(some, "said people", None)
    for numbers_, (origin, item, name) in groups.items():
        value = [spelled(contacts[number], parameter) for number in numbers_]
        sources = tuple(
            Source("contact", contacts[n].name, words=contacts[n].relation or "") for n in numbers_
        )
        if item is not None:
            sources = (Source("item", situation.items[item].id), *sources)
        yield Candidate(value, origin, sources, item, name, people=numbers_)
