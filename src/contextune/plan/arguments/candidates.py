"""The values that the arguments of a call may have, from the request, items, people and schemas.

Everything proposes and nothing vetoes: which candidate fits which argument is for the reading model to say.
A candidate is text to it, with the place it comes from.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, cast

from contextune.plan.arguments.candidate import ValueCandidate, origin_of
from contextune.plan.arguments.leaves import Leaf
from contextune.plan.arguments.moments import time_candidates
from contextune.plan.arguments.people import people_candidates
from contextune.plan.planning_input import PlanningInput
from contextune.plan.values import find_durations, find_numbers
from contextune.reading.texts import Names, value_text
from contextune.search import tokenize
from contextune.types import Source
from contextune.types.field_values import to_text

_TITLES, _FIELDS, _NUMBERS, _CHOICES = 10, 8, 5, 16
"""Most candidates of each group."""
_FIELD_ITEMS, _CODED_ITEMS = 5, 3
_CODES, _EXAMPLES = 3, 8
_SEARCHED = 4000
"""Characters of a text that are searched for references and examples."""
_LONGEST = 60
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
            *people_candidates(self.inputs, self.names),
            *_titles(self.inputs, self.names),
            *_fields(self.inputs),
            *_codes(self.inputs),
        ]

    @cached_property
    def _times(self) -> list[ValueCandidate]:
        return time_candidates(self.inputs)

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


def _titles(inputs: PlanningInput, names: Names) -> Iterator[ValueCandidate]:
    """The titles of the items, best first."""
    seen: set[str] = set()
    for rank, item in enumerate(inputs.items):
        if item.title and item.title not in seen and len(seen) < _TITLES:
            seen.add(item.title)
            people = [names.name(person) for person in item.people]
            who = next((person for person in people if person != "me"), "")
            origin = ", ".join(
                filter(None, (f"{item.schema.title.replace('_', ' ')} of {origin_of(item, rank)}", who))
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
            shown = value_text(text, f"{label} of {origin_of(item, rank)}")
            source, role = Source("item", item.id, field), f"{label} of {schema.noun}"
            yield ValueCandidate(text, "field", shown, source, item=rank, role=role)


def _codes(inputs: PlanningInput) -> Iterator[ValueCandidate]:
    """Reference numbers and codes in the texts of the best items."""
    seen: set[str] = set()
    for rank, item in enumerate(inputs.items[:_CODED_ITEMS]):
        for match in islice(_CODE.finditer(item.text[:_SEARCHED]), _CODES):
            if (code := match.group().strip()) not in seen:
                seen.add(code)
                shown = value_text(code, f"in {origin_of(item, rank)}")
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
