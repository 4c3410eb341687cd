"""The values that the arguments of a call may have, from the request, items, people and schemas.

Everything proposes and nothing vetoes: which candidate fits which argument is for the reading model to say.
A candidate is text to it, with the place it comes from.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, Literal, cast

from contextune.plan.arguments.leaves import Leaf
from contextune.plan.planning_input import PlanningInput
from contextune.plan.times.resolve import CandidateTime, candidate_times
from contextune.plan.values import find_durations, find_numbers
from contextune.reading.texts import Names, contact_text, time_value_text, value_text
from contextune.search import tokenize
from contextune.types import Contact, Item, Source
from contextune.types.field_values import to_text

Group = Literal["time", "person", "title", "field", "number", "choice", "boolean", "said"]
_TIMES, _PEOPLE, _TITLES, _FIELDS, _NUMBERS, _CHOICES = 24, 8, 10, 8, 5, 16
"""Most candidates of each group."""
_TIMED_ITEMS, _FIELD_ITEMS, _CODED_ITEMS = 3, 5, 3
_SPELT, _SPELT_TOKENS, _LIKE = 4, 24, 0.72
"""Least letters of words that are compared by spelling, most words of a request, and least likeness."""
_RARE = 3
"""Contacts that may share a word that tells who is meant."""
_CODES, _EXAMPLES, _WRITTEN = 3, 8, 8
_DAY = timedelta(days=1)
_SEARCHED = 4000
"""Characters of a text that are searched for references and examples."""
_LONGEST = 60
_LAST_MINUTE = 24 * 60 - 1
_TIME_WORDS = frozenset(
    tokenize(
        "date day time datetime timestamp iso when at start end due from to until since after before begin"
        " deadline moment hour minute yyyy month"
    )
)
_LISTED = re.compile(r"(?:e\.g\.|for example|such as|one of|like|:)\s*([^.;()]{2,120})", re.IGNORECASE)
"""Examples in the description of an argument."""
_CODE = re.compile(
    r"(?<![\w/])(?:\+?\d[\d .-]{3,18}\d|[A-Z][A-Z0-9]{0,20}[-/#]?\d[\w-]{0,30}"
    r"|(?<![\w./-])[\w.-]{1,40}+/[\w.-]{1,40}+)(?![\w/])"
)
"""References in running text: numbers of four digits and more, codes, paths."""
_QUOTED = re.compile(r"[\"“”«»]([^\"“”«»]{2,80})[\"“”«»]")
_IDENTIFIER = re.compile(r"(?<!\w)(?=[\w./:+@-]{0,40}\d)[A-Za-z0-9][\w./:+@-]{1,40}(?<![.:])")


@dataclass(frozen=True, slots=True)
class ValueCandidate:
    """A value that an argument may have; `text` is what the reading model reads."""

    value: Any
    group: Group
    text: str
    source: Source
    contact: Contact | None = None
    is_day: bool = False
    """A day without an hour."""
    item: int = -1
    """The rank of the item that it is from; -1 if it is from none."""
    role: str = ""
    """What it is where it comes from, in words: "subject of mail"; empty if only its group says."""
    weight: float = 0.0
    """How strongly it is proposed, compared with others of its group."""


def takes_time(leaf: Leaf) -> bool:
    """Whether an argument may take a time: by its kind, or by a word of its name or description."""
    parameter = leaf.parameter
    if parameter.kind in ("moment", "day"):
        return True
    return parameter.kind in ("text", "free") and not _TIME_WORDS.isdisjoint(
        (*parameter.words, *parameter.description_words)
    )


def takes_text(leaf: Leaf) -> bool:
    """Whether an argument may take a text."""
    return leaf.parameter.kind in ("text", "free")


@dataclass(frozen=True, eq=False)
class RequestValues:
    """What a request and its items propose for arguments, found once for all tools that are read."""

    inputs: PlanningInput
    names: Names

    @cached_property
    def _texts(self) -> list[ValueCandidate]:
        return [
            *_said(self.inputs),
            *_people(self.inputs, self.names),
            *_titles(self.inputs, self.names),
            *_fields(self.inputs),
            *_codes(self.inputs),
        ]

    @cached_property
    def _times(self) -> list[ValueCandidate]:
        return _times(self.inputs)

    @cached_property
    def _numbers(self) -> list[ValueCandidate]:
        return list(_numbers(self.inputs))

    def candidates(self, leaves: Sequence[Leaf]) -> list[ValueCandidate]:
        """The candidates for the arguments of one tool, those that are said first."""
        found: list[ValueCandidate] = []
        if any(map(takes_text, leaves)):
            found += self._texts
        if any(map(takes_time, leaves)):
            found += self._times
        if any(leaf.parameter.kind in ("number", "integer", "duration", "text") for leaf in leaves):
            found += self._numbers
        found += _choices(leaves)
        found += _examples(leaves)
        unique: dict[tuple[str, str], ValueCandidate] = {}
        for candidate in found:
            unique.setdefault((candidate.group, candidate.text), candidate)
        return list(unique.values())


def value_candidates(inputs: PlanningInput, leaves: Sequence[Leaf], names: Names) -> list[ValueCandidate]:
    """The candidates for the arguments of one tool."""
    return RequestValues(inputs, names).candidates(leaves)


def fits(candidate: ValueCandidate, leaf: Leaf) -> bool:
    """Whether the type of an argument admits a candidate."""
    kind = leaf.parameter.kind
    match candidate.group:
        case "time":
            return kind == ("day" if candidate.is_day else "moment") or (
                kind in ("text", "free") and takes_time(leaf)
            )
        case "number":
            return kind in ("number", "integer", "duration") or (
                kind == "text" and isinstance(candidate.value, str)
            )
        case "choice":
            return candidate.value in leaf.parameter.choices
        case "boolean":
            return kind == "boolean"
        case _:
            return kind in ("text", "free")


def _said(inputs: PlanningInput) -> Iterator[ValueCandidate]:
    """Quoted texts and identifiers of the request."""
    text = inputs.request.text
    for pattern, origin in ((_QUOTED, "quoted"), (_IDENTIFIER, "said")):
        for match in list(pattern.finditer(text))[:3]:
            words = match.group(1) if pattern.groups else match.group()
            yield ValueCandidate(
                words, "said", value_text(words, origin), Source("said", words=words), role=origin
            )


def _people(inputs: PlanningInput, names: Names) -> list[ValueCandidate]:
    """The contacts that the request or the conversation names, then those of the best items."""
    contacts = inputs.people.contacts
    weights: dict[int, float] = {}
    ranks: dict[int, int] = {}
    for index, (match, relation) in enumerate(zip(inputs.names, inputs.relation_matches, strict=True)):
        if match.words or relation:
            weights[index] = 4 + 2 * match.words + match.share + 1.5 * relation
    for turn in inputs.request.history[-2:]:
        for index, count in enumerate(inputs.people.count_name_matches(tokenize(turn.text))):
            if count:
                weights[index] = max(weights.get(index, 0.0), 3 + count)
    others: list[ValueCandidate] = []
    for rank, item in enumerate(inputs.items):
        for person in item.people:
            index = inputs.people.index(person)
            if index is not None:
                weights[index] = max(weights.get(index, 0.0), 2 - rank / 10)
                ranks.setdefault(index, rank)
            elif names.name(person) == person and len(others) < 3:
                source = Source("item", item.id, words=person)
                text = value_text(person, f"person of {_origin(item, rank)}")
                role = f"person of {item.schema.noun}"
                others.append(ValueCandidate(person, "person", text, source, item=rank, role=role))
    for index, shared in _described(inputs.tokens, contacts).items():
        weights[index] = max(weights.get(index, 0.0), 1 + shared)
    for index, likeness in _spelt_alike(inputs.tokens, contacts).items():
        weights.setdefault(index, 3 * likeness)
    order = sorted(weights, key=lambda index: -weights[index])[:_PEOPLE]
    called = [
        ValueCandidate(
            contacts[index].name,
            "person",
            value_text(contacts[index].name, _about(contacts[index])),
            Source("contact", contacts[index].name),
            contacts[index],
            item=ranks.get(index, -1),
            role="contact",
            weight=weights[index],
        )
        for index in order
    ]
    return called + others


@lru_cache(maxsize=64)
def _contact_words(contacts: tuple[Contact, ...]) -> tuple[list[frozenset[str]], Counter[str]]:
    words = [frozenset(tokenize(contact_text(contact))) for contact in contacts]
    return words, Counter(word for each in words for word in each)


def _described(tokens: Sequence[str], contacts: tuple[Contact, ...]) -> dict[int, float]:
    """The contacts that share rare words with the request in whatever their cards say."""
    words, counts = _contact_words(contacts)
    wanted = {token for token in tokens if 0 < counts[token] <= _RARE}
    return {
        index: sum(1 / counts[word] for word in shared)
        for index, each in enumerate(words)
        if (shared := each & wanted)
    }


def _spelt_alike(tokens: Sequence[str], contacts: tuple[Contact, ...]) -> dict[int, float]:
    """The contacts with a word in the name that is spelt nearly as one of the request."""
    alike: dict[int, float] = {}
    wanted = [token for token in tokens if len(token) >= _SPELT][:_SPELT_TOKENS]
    for index, words in enumerate(_name_words(contacts)):
        best = max((_likeness(token, word) for token in wanted for word in words), default=0.0)
        if best >= _LIKE:
            alike[index] = best
    return alike


@lru_cache(maxsize=64)
def _name_words(contacts: tuple[Contact, ...]) -> list[list[str]]:
    called = (f"{contact.name} {to_text(contact.more.get('nickname'))}" for contact in contacts)
    return [[word for word in dict.fromkeys(tokenize(text)) if len(word) >= _SPELT] for text in called]


@lru_cache(maxsize=65536)
def _likeness(first: str, second: str) -> float:
    """The share of letters that two words have in common, in order; 0 if they begin otherwise."""
    if first[0] != second[0] or abs(len(first) - len(second)) > 2:
        return 0.0
    return SequenceMatcher(None, first, second, autojunk=False).ratio()


def _about(contact: Contact) -> str:
    more = contact.more
    parts = (
        contact.relation,
        to_text(more.get("nickname")),
        to_text(more.get("organization")),
        to_text(more.get("title")),
    )
    return ", ".join(["contact", *filter(None, parts)])


def _origin(item: Item, rank: int) -> str:
    return f"{item.schema.noun} {rank + 1}"


def _titles(inputs: PlanningInput, names: Names) -> Iterator[ValueCandidate]:
    """The titles of the items, best first."""
    seen: set[str] = set()
    for rank, item in enumerate(inputs.items):
        if item.title and item.title not in seen and len(seen) < _TITLES:
            seen.add(item.title)
            people = [names.name(person) for person in item.people]
            who = next((person for person in people if person != "me"), "")
            origin = ", ".join(
                filter(None, (f"{item.schema.title.replace('_', ' ')} of {_origin(item, rank)}", who))
            )
            source = Source("item", item.id, item.schema.title)
            role = f"{item.schema.title.replace('_', ' ')} of {item.schema.noun}"
            text = value_text(item.title, origin)
            yield ValueCandidate(item.title, "title", text, source, item=rank, role=role)


def _fields(inputs: PlanningInput) -> Iterator[ValueCandidate]:
    """Short fields of the best items: a location, a list, an artist, a number."""
    count, seen = 0, set[str]()
    for rank, item in enumerate(inputs.items[:_FIELD_ITEMS]):
        schema = item.schema
        skipped = {schema.title, "place", "status", "thread", *schema.times.values()}
        for field, value in item.fields.items():
            text = to_text(value) if isinstance(value, str) else ""
            if field in skipped or not text or len(text) > 80 or "\n" in text or text in seen or "@" in text:
                continue
            if field in schema.people and field != "artist" and field != "number":
                continue
            seen.add(text)
            count += 1
            if count > _FIELDS:
                return
            label = field.replace("_", " ")
            shown = value_text(text, f"{label} of {_origin(item, rank)}")
            source, role = Source("item", item.id, field), f"{label} of {schema.noun}"
            yield ValueCandidate(text, "field", shown, source, item=rank, role=role)


def _codes(inputs: PlanningInput) -> Iterator[ValueCandidate]:
    """Reference numbers and codes in the texts of the best items."""
    seen: set[str] = set()
    for rank, item in enumerate(inputs.items[:_CODED_ITEMS]):
        for match in islice(_CODE.finditer(item.text[:_SEARCHED]), _CODES):
            if (code := match.group().strip()) not in seen:
                seen.add(code)
                shown = value_text(code, f"in {_origin(item, rank)}")
                source, role = Source("item", item.id, words=code), f"number in {item.schema.noun}"
                yield ValueCandidate(code, "field", shown, source, item=rank, role=role)


def _examples(leaves: Sequence[Leaf]) -> Iterator[ValueCandidate]:
    """The examples that descriptions of arguments give."""
    for leaf in leaves:
        if leaf.parameter.kind not in ("text", "free"):
            continue
        listed = _LISTED.search(leaf.parameter.description[:_SEARCHED])
        parts = re.split(r",|\bor\b|\band\b", listed[1])[:_EXAMPLES] if listed else []
        for part in parts:
            if 1 < len(value := part.strip(" '\"`…")) <= _LONGEST:
                label = f"example of {' '.join(leaf.parameter.words)}"
                source = Source("choice", words=value)
                yield ValueCandidate(value, "field", value_text(value, label), source, role="example")


def _times(inputs: PlanningInput) -> list[ValueCandidate]:
    """Times of the request, alone and together with the times of the best items, and the times of items."""
    now, found = inputs.now, dict[tuple[date, int | None], ValueCandidate]()

    def add(
        day: date,
        clock: int | None,
        origin: str,
        source: Source,
        role: str,
        rank: int = -1,
        weight: float = 0,
    ) -> None:
        if (day, clock) not in found and len(found) < _TIMES:
            moment = datetime.combine(day, time()) + timedelta(minutes=clock or 0)
            shown = time_value_text(moment, now, origin, day=clock is None)
            found[day, clock] = ValueCandidate(
                moment, "time", shown, source, is_day=clock is None, item=rank, role=role, weight=weight
            )

    for phrase in inputs.time_phrases[:4]:
        if phrase.kind == "duration":
            continue
        source = Source("time", words=phrase.text)
        for number, (start, end) in enumerate(phrase.readings[:3]):
            label = phrase.text if not number else f"{phrase.text}, or"
            if phrase.granularity in ("minute", "hour"):
                add(start.date(), _minutes(start), label, source, "said", weight=3 - number)
                continue
            if start != datetime.min:
                add(start.date(), None, label, source, "said", weight=3 - number)
                add(start.date(), _minutes(start), f"start of {label}", source, "start", weight=2 - number)
            if end != datetime.max:
                last = end - timedelta(minutes=1)
                if last.date() != start.date():
                    add(last.date(), None, f"end of {label}", source, "end", weight=2 - number)
                add(last.date(), _minutes(last), f"end of {label}", source, "end", weight=2 - number)
    said, moved, kept, written = (list[CandidateTime]() for _ in range(4))
    for candidate in candidate_times(inputs.times, now, inputs.items[:_TIMED_ITEMS], inputs.user.zone):
        is_said = (
            candidate.day_from_request
            or candidate.clock_from_request
            or candidate.shift
            or candidate.day_offset
        )
        if candidate.item is None:
            said.append(candidate)
        elif is_said and not candidate.in_text:
            moved.append(candidate)
        elif candidate.in_text:
            written.append(candidate)
        else:
            kept.append(candidate)
    kept.sort(key=lambda each: (each.item or 0, each.clock is None))
    said.sort(
        key=lambda each: (
            -each.day_from_request - each.clock_from_request,
            not each.certain,
            each.day < now.date(),
        )
    )
    written.sort(key=lambda each: (each.item or 0, each.clock is None, not each.certain))
    for candidate in (*said[:8], *moved[:6], *kept, *written[:_WRITTEN], *said[8:], *moved[6:]):
        item = inputs.items[candidate.item] if candidate.item is not None else None
        if item is not None:
            origin = f"{candidate.field or 'time'} of {_origin(item, candidate.item or 0)}".replace("_", " ")
            origin = f"{candidate.words} {origin}" if candidate.words else origin
            source = Source("item", item.id, candidate.field, candidate.words)
            label = "time written in" if candidate.in_text else f"{candidate.field or 'time'} of"
            role = f"{label} {item.schema.noun}".replace("_", " ")
        else:
            origin, source, role = candidate.words or "today", Source("time", words=candidate.words), "joined"
        parts = candidate.day_from_request + candidate.clock_from_request + (candidate.shift in (1, -1))
        rank = -1 if candidate.item is None else candidate.item
        add(candidate.day, candidate.clock, origin, source, role, rank, parts + 0.5 * candidate.certain)
    add(now.date(), None, "today", Source("time", words="today"), "today")
    add(now.date(), _minutes(now), "now", Source("time", words="now"), "now")
    add(now.date(), _LAST_MINUTE, "end of today", Source("time", words="today"), "end of today")
    add(now.date() + _DAY, None, "tomorrow", Source("time", words="tomorrow"), "tomorrow")
    return list(found.values())


def _minutes(moment: datetime) -> int:
    return moment.hour * 60 + moment.minute


def _numbers(inputs: PlanningInput) -> Iterator[ValueCandidate]:
    """The numbers and durations of the request."""
    text = inputs.request.text
    for length, start, end in find_durations(text)[:2]:
        words = text[start:end]
        minutes = length.total_seconds() / 60
        for value, unit in ((minutes, "minutes"), (minutes / 60, "hours"), (minutes * 60, "seconds")):
            if value == int(value) or unit == "hours":
                shown = f"{_plain(value)} {unit}"
                source = Source("said", words=words)
                yield ValueCandidate(
                    _plain(value), "number", value_text(shown, words), source, role=f"{unit} said"
                )
    for value, words in find_numbers(text)[:_NUMBERS]:
        source = Source("said", words=words)
        yield ValueCandidate(_plain(value), "number", value_text(words, "number said"), source)


def _plain(value: float) -> int | float:
    return int(value) if value == int(value) else value


def _choices(leaves: Iterable[Leaf]) -> Iterator[ValueCandidate]:
    """The values that schemas list."""
    count = 0
    for leaf in leaves:
        parameter = leaf.parameter
        label = " ".join(parameter.words)
        if parameter.kind == "boolean":
            for value in (True, False):
                yield ValueCandidate(
                    value, "boolean", value_text(str(value).lower(), "yes or no"), Source("choice")
                )
        for value in cast("Sequence[Any]", parameter.choices):
            count += 1
            if count > _CHOICES:
                return
            yield ValueCandidate(value, "choice", value_text(value, f"option of {label}"), Source("choice"))
