"""Find candidate values for an argument in the items, contacts and the request, each with its source."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, cast

from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.spans import LANGUAGES, TextSpan, find_spans
from contextune.plan.schema import Parameter, is_valid
from contextune.plan.times.resolve import CandidateTime, candidate_times
from contextune.plan.values import find_durations, find_numbers, format_duration, normalize_text
from contextune.types import ANYWHERE, COMMUTE, Contact, Source
from contextune.types.app_schema import APPS

_CITY = "profile.city"
_MAX_SPAN_ITEMS = 6
"""Items whose texts are searched for spans, best first."""
_MAX_LIST = 6
_MAX_GROUPS = 4
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
    """A value with its source; `origin` is the kind of source, such as `Mail.author` or `contact`."""

    value: Any
    origin: str
    sources: tuple[Source, ...] = ()
    item: int | None = None
    """The index of its item in `PlanningInput.items`."""
    field: str = ""
    span: TextSpan | None = None
    time: CandidateTime | None = None
    people: tuple[int, ...] = ()
    """The indexes of the contacts it names."""

    @property
    def is_omitted(self) -> bool:
        """Whether it stands for omitting the argument."""
        return self.origin == OMITTED


OMITTED = "nothing"
FREE_TEXT = "free"


def find_candidates(
    inputs: PlanningInput, parameter: Parameter, origins: frozenset[str] | None = None
) -> list[Candidate]:
    """All candidates for an argument; `origins` restricts them to those seen in training, if any match."""
    candidates = _valid_candidates(inputs, parameter, origins)
    if not candidates and origins is not None:
        candidates = _valid_candidates(inputs, parameter, None)
    return candidates if parameter.required else [*candidates, Candidate(None, OMITTED)]


def origin_allowed(origin: str, origins: frozenset[str] | None) -> bool:
    """Whether the restriction to `origins` admits a text of this origin."""
    if origins is None or origin in origins or origin in (OMITTED, "choice"):
        return True
    if origin.startswith("said "):
        return any(other.startswith("said ") for other in origins)
    # apps without training examples are not restricted
    return origin not in ("contact", "place", _CITY) and origin.partition(".")[0] not in APPS


def _valid_candidates(
    inputs: PlanningInput, parameter: Parameter, origins: frozenset[str] | None
) -> list[Candidate]:
    return [
        candidate
        for candidate in _by_kind(inputs, parameter, origins)
        if _matches_name(candidate.value, parameter) and is_valid(candidate.value, parameter)
    ]


def _matches_name(value: Any, parameter: Parameter) -> bool:
    """Whether a text is of the type in the argument's name: a language, a phone number, a place."""
    if parameter.kind != "text":
        return True
    name, text = frozenset(parameter.words), str(value)
    if name & _LANGUAGES:
        return text.casefold() in LANGUAGES
    is_number = sum(map(str.isdigit, text)) * 2 > len(text)
    if name & _NUMBERS:
        return is_number
    return not (name & _PLACES and (is_number or "@" in text))


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
            yield from _times(inputs, day=parameter.kind == "day")
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
        item = inputs.items[candidate.item] if candidate.item is not None else None
        origin = f"{item.app}.{candidate.field}{'~' if candidate.in_text else ''}" if item else "time"
        if item and not candidate.day_from_item and not candidate.clock_from_item:
            origin = "time"
        source = Source("time", item.id if item else None, candidate.field, candidate.words)
        yield Candidate(value, origin, (source,), candidate.item, candidate.field or "", time=candidate)


def _texts(
    inputs: PlanningInput, parameter: Parameter, origins: frozenset[str] | None
) -> Iterator[Candidate]:
    yield from _fields(inputs, origins)
    if origin_allowed("contact", origins):
        yield from _contacts(inputs, parameter)
    for name in inputs.user.places if origin_allowed("place", origins) else ():
        if name not in (COMMUTE, ANYWHERE):
            yield Candidate(name.replace("_", " "), "place", (Source("place", field=name),))
    city = inputs.user.profile.get("city")
    if isinstance(city, str) and city and origin_allowed(_CITY, origins):
        yield Candidate(city, _CITY, (Source("profile", field="city"),))
    if origin_allowed("said words", origins):
        for span in find_spans(inputs.request.text):
            yield Candidate(span.text, f"said {span.shape}", (Source("said", words=span.text),), span=span)
    for word in _named_choices(parameter):
        if word in inputs.tokens:
            yield Candidate(word, "choice", (Source("said", words=word),))
    if origins is None or any(origin.endswith("~") for origin in origins):
        yield from _item_spans(inputs, origins)


def _fields(inputs: PlanningInput, origins: frozenset[str] | None) -> Iterator[Candidate]:
    for index, item in enumerate(inputs.items):
        for name, value in item.fields.items():
            origin = f"{item.app}.{name}"
            if not origin_allowed(origin, origins):
                continue
            values = cast("Sequence[object]", value) if isinstance(value, list | tuple) else [value]
            for text in values[:_MAX_LIST]:
                if isinstance(text, str) and name not in item.schema.times.values() and _is_informative(text):
                    person = inputs.people.index(text)
                    people = () if person is None else (person,)
                    yield Candidate(
                        text, origin, (Source("item", item.id, name),), index, name, people=people
                    )


def _is_informative(value: str) -> bool:
    """Whether the text is informative: the caller "Unknown" is not."""
    return normalize_text(value) not in _UNKNOWN


def _named_choices(parameter: Parameter) -> Iterator[str]:
    """Values listed in the description: "walking, driving, transit or cycling"."""
    text = parameter.description.casefold()
    if "," in text or " or " in text:
        pieces = text.replace(" or ", ",").split(",")
        yield from (piece.strip() for piece in pieces if piece.strip().isalpha())


def _item_spans(inputs: PlanningInput, origins: frozenset[str] | None) -> Iterator[Candidate]:
    """Spans in the texts of the first items."""
    for index, item in enumerate(inputs.items[:_MAX_SPAN_ITEMS]):
        for name in item.schema.text:
            value, origin = item.fields.get(name), f"{item.app}.{name}~"
            if not isinstance(value, str) or name in item.schema.people:
                continue
            if not origin_allowed(origin, origins):
                continue
            for span in find_spans(value):
                if span.text != value:
                    source = Source("item", item.id, name, span.text)
                    yield Candidate(span.text, origin, (source,), index, name, span)


def contact_value(contact: Contact, parameter: Parameter) -> str:
    """The contact's phone number, address or name, whichever the argument asks for."""
    words = frozenset((*parameter.words, *parameter.description_words))
    if words & _NUMBERS and contact.phone:
        return contact.phone
    if words & _ADDRESSES and contact.email:
        return contact.email
    return contact.name


def _contacts(inputs: PlanningInput, parameter: Parameter) -> Iterator[Candidate]:
    for number, contact in enumerate(inputs.user.contacts):
        value = contact_value(contact, parameter)
        sources = (Source("contact", contact.name, words=contact.relation or ""),)
        yield Candidate(value, "contact", sources, people=(number,))


def _lists(inputs: PlanningInput, parameter: Parameter) -> Iterator[Candidate]:
    """Groups of people: those of an item, and those named or described in the request."""
    contacts, first = inputs.user.contacts, inputs.people.first_names
    groups: dict[tuple[int, ...], tuple[str, int | None, str]] = {}

    def add(group: Sequence[int], origin: str, item: int | None, name: str = "") -> None:
        key = tuple(dict.fromkeys(group))
        if key and len(key) <= _MAX_LIST:
            groups.setdefault(key, (origin, item, name))

    named = [n for n, count in enumerate(inputs.name_matches) if count]
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
    for members, (origin, item, name) in groups.items():
        value = [contact_value(contacts[number], parameter) for number in members]
        sources = tuple(
            Source("contact", contacts[n].name, words=contacts[n].relation or "") for n in members
        )
        if item is not None:
            sources = (Source("item", inputs.items[item].id), *sources)
        yield Candidate(value, origin, sources, item, name, people=members)
