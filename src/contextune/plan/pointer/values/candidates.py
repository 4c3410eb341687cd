"""Find candidate values for an argument in the items, contacts and the request, each with its source."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations, product
from typing import cast

from contextune.plan.lures import has_link
from contextune.plan.names import fold_accents
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.clauses import crosses_clauses
from contextune.plan.pointer.people.late_arrivals import says_late, waiting_people
from contextune.plan.pointer.times.arrival_days import arrival_day
from contextune.plan.pointer.times.next_events import next_day
from contextune.plan.pointer.values.argument_words import (
    ADDRESSES,
    ARTISTS,
    LANGUAGE_ARGUMENTS,
    NUMBERS,
    PEOPLE,
    PLACES,
    TITLES,
)
from contextune.plan.pointer.values.candidate import OMITTED, Candidate
from contextune.plan.pointer.values.event_details import said_location
from contextune.plan.pointer.values.explicit_values import certain_candidates
from contextune.plan.pointer.values.homes import said_home, said_workplace
from contextune.plan.pointer.values.online_places import is_online
from contextune.plan.pointer.values.spans import LANGUAGES, TextSpan, find_spans
from contextune.plan.pointer.values.travel_modes import listed_values, said_mode
from contextune.plan.pointer.values.weather_places import says_only_weather
from contextune.plan.schema import Parameter, is_valid
from contextune.plan.times.resolve import candidate_times
from contextune.plan.values import find_durations, find_numbers, format_duration, normalize_text
from contextune.types import ANYWHERE, COMMUTE, Contact, Source
from contextune.types.app_schema import APPS

_CITY = "profile.city"
_MAX_SPAN_ITEMS = 3
"""Items whose texts are searched for spans, best first."""
_MAX_LIST = 6
_MAX_GROUPS = 4
_ANY_TEXT = frozenset(["type", "description", "title", "default"])
_UNKNOWN = frozenset(
    [
        *("", "unknown", "unknown caller", "unknown number", "private", "private number", "withheld"),
        *("no caller id", "anonymous", "n/a"),
    ]
)
_TYPED_NAMES = LANGUAGE_ARGUMENTS | NUMBERS | ADDRESSES | PEOPLE | PLACES | TITLES | ARTISTS
"""Words of names of arguments that take texts of one type."""
_MIN_NUMBER = 7
"""Characters of a number that can be called from anywhere."""
_OMITTED_CANDIDATE = Candidate(None, OMITTED)


def find_candidates(
    inputs: PlanningInput, parameter: Parameter, origins: frozenset[str] | None = None
) -> list[Candidate]:
    """All candidates for an argument; `origins` restricts them to those seen in training, if any match.

    What the request says is a candidate in any case. Where it leaves no doubt, it is the only one.
    """
    if said := (
        said_mode(inputs, parameter)
        or said_location(inputs, parameter)
        or arrival_day(inputs, parameter)
        or next_day(inputs, parameter)
    ):
        return said
    if "destination" in parameter.words:
        place = said_home(inputs)
        if (place := said_workplace(inputs) if place is None else place) is not None:
            return place
    candidates = _valid_candidates(inputs, parameter, origins)
    if not candidates and origins is not None:
        candidates = _valid_candidates(inputs, parameter, None)
    if certain := certain_candidates(inputs, parameter, candidates):
        return certain
    if PEOPLE & {*parameter.words} and says_late(inputs.request.text):
        waiting = waiting_people(inputs)
        candidates = [c for c in candidates if c.origin == "contact" and waiting.issuperset(c.people)]
    if "location" in parameter.words and says_only_weather(inputs):
        candidates = [candidate for candidate in candidates if candidate.origin in ("place", _CITY)]
    return candidates if parameter.required else [*candidates, _OMITTED_CANDIDATE]


def origin_allowed(origin: str, origins: frozenset[str] | None) -> bool:
    """Whether the restriction to `origins` admits a text of this origin."""
    if origins is None or origin in origins or origin in (OMITTED, "choice"):
        return True
    if origin.startswith("said "):
        return True
    # apps without training examples are not restricted
    return origin not in ("contact", "place", _CITY) and origin.partition(".")[0] not in APPS


def _valid_candidates(
    inputs: PlanningInput, parameter: Parameter, origins: frozenset[str] | None
) -> list[Candidate]:
    # most arguments take any text, and a check of the schema costs more than all features
    any_text = parameter.kind == "text" and parameter.schema.keys() <= _ANY_TEXT
    any_name = parameter.kind != "text" or _TYPED_NAMES.isdisjoint(parameter.words)
    return [
        candidate
        for candidate in _by_kind(inputs, parameter, origins)
        if (any_name or _matches_name(candidate, parameter, inputs))
        and (any_text or is_valid(candidate.value, parameter))
    ]


def _matches_name(candidate: Candidate, parameter: Parameter, inputs: PlanningInput) -> bool:
    """Whether a text is of the type that is one of `_TYPED_NAMES`: a language, a phone number, a place."""
    name, text, span = frozenset(parameter.words), str(candidate.value), candidate.span
    if name & LANGUAGE_ARGUMENTS:
        # a language that is not listed: "into Sranan"
        unlisted = span is not None and span.before in ("into", "in") and text.istitle() and text.isalpha()
        return fold_accents(text) in LANGUAGES or (unlisted and candidate.item is None)
    is_number = sum(map(str.isdigit, text)) * 2 > len(text)
    if name & NUMBERS:
        return is_number
    if is_number and name & (ADDRESSES | PEOPLE) and len(text) >= _MIN_NUMBER:
        phone, address = _wanted_spellings(parameter)
        # no mail goes to a phone number, and a contact has a name
        return phone or not (address or inputs.people.index(text) is not None)
    if name & PLACES:
        if is_number or "@" in text or has_link(text) or is_online(text):
            return False
        # "Will it rain on Saturday" says no place
        return span is None or candidate.item is not None or not _is_time(span, inputs)
    # a song may be called "1999", but not like a number to call
    return not (name & (TITLES | ARTISTS) and is_number and len(text) >= _MIN_NUMBER)


def _is_time(span: TextSpan, inputs: PlanningInput) -> bool:
    """Whether a span of the request lies within what it says about time."""
    return any(phrase.first <= span.start and span.end <= phrase.last for phrase in inputs.time_phrases)


def _by_kind(
    inputs: PlanningInput, parameter: Parameter, origins: frozenset[str] | None
) -> Iterator[Candidate]:
    match parameter.kind:
        case "choice":
            for value in parameter.choices:
                yield Candidate(value, "choice", (Source("choice", words=str(value)),))
        case "boolean":
            for value in (True, False):
                yield Candidate(value, f"choice {value}", (Source("choice", words=str(value)),))
        case "number" | "integer":
            for value, words in find_numbers(inputs.request.text):
                number = int(value) if value.is_integer() else value
                yield Candidate(number, "said", (Source("said", words=words),))
        case "duration":
            text = inputs.request.text
            for length, start, end in find_durations(text):
                yield Candidate(format_duration(length), "said", (Source("said", words=text[start:end]),))
        case "moment" | "day":
            pool = _pool(inputs)
            if parameter.kind not in pool.times:
                pool.times[parameter.kind] = list(_times(inputs, day=parameter.kind == "day"))
            yield from pool.times[parameter.kind]
        case "list":
            yield from _lists(inputs, parameter)
        case "text":
            yield from _texts(inputs, parameter, origins)
        case "free" | "other":
            return


def _times(inputs: PlanningInput, *, day: bool) -> Iterator[Candidate]:
    emitted: set[tuple[str, int | None]] = set()
    for candidate in candidate_times(inputs.times, inputs.now, inputs.items, inputs.user.zone):
        if day:
            value = candidate.day.isoformat()
        elif (moment := candidate.time) is not None:
            value = moment.isoformat(timespec="minutes")
        else:
            continue
        if (value, candidate.item) in emitted:
            continue
        emitted.add((value, candidate.item))
        if day:  # the clock does not matter
            candidate = replace(candidate, clock=None)
        item = inputs.items[candidate.item] if candidate.item is not None else None
        origin = f"{item.app}.{candidate.field}{'~' if candidate.in_text else ''}" if item else "time"
        if item and not candidate.day_from_item and not candidate.clock_from_item:
            origin = "time"
        source = Source("time", item.id if item else None, candidate.field, candidate.words)
        yield Candidate(value, origin, (source,), candidate.item, candidate.field or "", time=candidate)


@dataclass(eq=False)
class _TextGroup:
    """Texts of one origin, collected when an argument first takes them: most are never asked for."""

    origin: str
    collect: Callable[[], Iterator[Candidate]]

    @cached_property
    def candidates(self) -> list[Candidate]:
        return list(self.collect())


@dataclass(frozen=True, slots=True)
class _Pool:
    """Candidates of a request that all its tools and arguments share."""

    texts: list[_TextGroup]
    """Fields of items, places, and spans of the request and of the items."""
    contacts: dict[tuple[bool, bool], list[Candidate]]
    """By what stands for a contact: see `_wanted_spellings`."""
    times: dict[str, list[Candidate]]
    """By the kind of the argument."""


_POOL = "candidates"


def _pool(inputs: PlanningInput) -> _Pool:
    pool = inputs.kept.get(_POOL)
    if not isinstance(pool, _Pool):
        pool = inputs.kept[_POOL] = _Pool(list(_text_groups(inputs)), {}, {})
    return pool


def forget_candidates(inputs: PlanningInput) -> None:
    """Drop what is kept for a request; training holds many requests at once."""
    inputs.kept.pop(_POOL, None)


def _texts(
    inputs: PlanningInput, parameter: Parameter, origins: frozenset[str] | None
) -> Iterator[Candidate]:
    pool = _pool(inputs)
    allowed = {origin: origin_allowed(origin, origins) for origin in {group.origin for group in pool.texts}}
    for group in pool.texts:
        if allowed[group.origin]:
            yield from group.candidates
    if origin_allowed("contact", origins):
        wanted = _wanted_spellings(parameter)
        if wanted not in pool.contacts:
            pool.contacts[wanted] = list(_contacts(inputs, wanted))
        yield from pool.contacts[wanted]
    for word in listed_values(parameter):
        if word in inputs.tokens:
            yield Candidate(word, "choice", (Source("said", words=word),))


def _text_groups(inputs: PlanningInput) -> Iterator[_TextGroup]:
    for index, item in enumerate(inputs.items):
        times = frozenset(item.schema.times.values())
        for name in item.fields:
            if name not in times:
                yield _TextGroup(f"{item.app}.{name}", partial(_field, inputs, index, name))
    yield _TextGroup("place", partial(_places, inputs))
    yield _TextGroup(_CITY, partial(_city, inputs))
    yield _TextGroup("said span", partial(_said_spans, inputs))
    for index, item in enumerate(inputs.items[:_MAX_SPAN_ITEMS]):
        for name in item.schema.text:
            if isinstance(item.fields.get(name), str) and name not in item.schema.people:
                yield _TextGroup(f"{item.app}.{name}~", partial(_item_spans, inputs, index, name))


def _field(inputs: PlanningInput, index: int, name: str) -> Iterator[Candidate]:
    """The texts of a field of an item."""
    item = inputs.items[index]
    value = item.fields[name]
    values = cast("Sequence[object]", value) if isinstance(value, list | tuple) else [value]
    for text in values[:_MAX_LIST]:
        if isinstance(text, str) and _is_informative(text):
            person = inputs.people.index(text)
            people = () if person is None else (person,)
            source = Source("item", item.id, name)
            yield Candidate(text, f"{item.app}.{name}", (source,), index, name, people=people)


def _is_informative(value: str) -> bool:
    """Whether the text is informative: the caller "Unknown" is not."""
    return normalize_text(value) not in _UNKNOWN


def _places(inputs: PlanningInput) -> Iterator[Candidate]:
    for name in inputs.user.places:
        if name not in (COMMUTE, ANYWHERE):
            yield Candidate(name.replace("_", " "), "place", (Source("place", field=name),))


def _city(inputs: PlanningInput) -> Iterator[Candidate]:
    city = inputs.user.profile.get("city")
    if isinstance(city, str) and city:
        yield Candidate(city, _CITY, (Source("profile", field="city"),))


def _said_spans(inputs: PlanningInput) -> Iterator[Candidate]:
    for span in find_spans(inputs.request.text):
        if not crosses_clauses(span.start, span.end, inputs):
            yield Candidate(span.text, f"said {span.shape}", (Source("said", words=span.text),), span=span)


def _item_spans(inputs: PlanningInput, index: int, name: str) -> Iterator[Candidate]:
    """Spans in a text of an item."""
    item = inputs.items[index]
    value, origin = str(item.fields[name]), f"{item.app}.{name}~"
    for span in find_spans(value):
        if span.text != value:
            yield Candidate(span.text, origin, (Source("item", item.id, name, span.text),), index, name, span)


def contact_value(contact: Contact, parameter: Parameter) -> str:
    """The contact's phone number, address or name, whichever the argument asks for."""
    return _spelling(contact, _wanted_spellings(parameter))


def person_value(value: object, parameter: Parameter, inputs: PlanningInput) -> object:
    """The value, or for a contact the name or the address, whichever the argument takes: "Call Jan"."""
    if not PEOPLE.intersection(parameter.words):
        return value
    if _wanted_spellings(parameter) == (False, True):
        contact = inputs.people.get(value)
        return contact.email if contact is not None and contact.email else value
    if any(_wanted_spellings(parameter)):
        return value
    contact = inputs.people.get(value) if "@" in str(value) else None
    return value if contact is None else contact.name


def _wanted_spellings(parameter: Parameter) -> tuple[bool, bool]:
    """Whether the argument asks for a phone number, and for an email address."""
    words = frozenset((*parameter.words, *parameter.description_words))
    return bool(words & NUMBERS), bool(words & ADDRESSES)


def _spelling(contact: Contact, wanted: tuple[bool, bool]) -> str:
    phone, address = wanted
    if phone and contact.phone:
        return contact.phone
    return contact.email if address and contact.email else contact.name


def _contacts(inputs: PlanningInput, wanted: tuple[bool, bool]) -> Iterator[Candidate]:
    for number, contact in enumerate(inputs.user.contacts):
        sources = (Source("contact", contact.name, words=contact.relation or ""),)
        yield Candidate(_spelling(contact, wanted), "contact", sources, people=(number,))


def _described(inputs: PlanningInput, word: str) -> list[int]:
    """The few contacts whose relation has this word."""
    matches = [n for n, count in enumerate(inputs.people.count_relation_matches([word])) if count]
    return matches if len(matches) < _MAX_GROUPS else []


def _lists(inputs: PlanningInput, parameter: Parameter) -> Iterator[Candidate]:
    """Groups of people: those of an item, and those named or described in the request."""
    contacts, first = inputs.user.contacts, inputs.people.first_names
    groups: dict[tuple[int, ...], tuple[str, int | None, str]] = {}

    def add(group: Sequence[int], origin: str, item: int | None, name: str = "") -> None:
        key = tuple(dict.fromkeys(group))
        if key and len(key) <= _MAX_LIST:
            groups.setdefault(key, (origin, item, name))

    # another of the same surname is not meant by a whole name
    named = [
        n
        for n, match in enumerate(inputs.names)
        if match.words
        and not any(other.words > match.words and other.overlaps(match) for other in inputs.names)
    ]
    best = max(inputs.relation_matches, default=0)
    related = [n for n, count in enumerate(inputs.relation_matches) if count]
    closest = [n for n in related if inputs.relation_matches[n] == best]
    add([*named, *related], "said people", None)
    add([*named, *closest], "said people", None)
    add(named, "said people", None)
    add(related, "said people", None)
    callers: list[int] = []
    for index, item in enumerate(inputs.items):
        involved = [n for person in item.people if (n := inputs.people.index(person)) is not None]
        names = inputs.item_tokens[index] & first.keys()
        mentioned = sorted(n for first_name in names for n in first[first_name])
        origin = f"{item.app}.people"
        add(involved, origin, index)
        add(mentioned, f"{item.app}.mentioned", index)
        add([*involved, *mentioned], f"{item.app}.mentioned", index)
        add([*named, *closest, *involved], f"{item.app}.people", index)
        callers += involved if item.app == "PhoneCall" else []
        if len(callers) > 1:
            add(callers, "PhoneCall.people", index)
    for size in (2, 3):
        for some in combinations(closest[:_MAX_GROUPS], size):
            add(some, "said people", None)
    # "my mechanic and the boss": one person for each word
    described = [matches for word in dict.fromkeys(inputs.tokens) if (matches := _described(inputs, word))]
    for pair in combinations(described[:_MAX_GROUPS], 2):
        for both in product(*pair):
            add([*named, *both], "said people", None)
    for members, (origin, item, name) in groups.items():
        value = [contact_value(contacts[number], parameter) for number in members]
        sources = tuple(
            Source("contact", contacts[n].name, words=contacts[n].relation or "") for n in members
        )
        if item is not None:
            sources = (Source("item", inputs.items[item].id), *sources)
        yield Candidate(value, origin, sources, item, name, people=members)
