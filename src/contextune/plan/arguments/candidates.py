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
from contextune.plan.arguments.quantities import (
    Quantity,
    find_currencies,
    find_quantities,
    in_unit_of,
    measure_of,
)
from contextune.plan.formats import ADDRESS, LINK
from contextune.plan.planning_input import PlanningInput
from contextune.plan.schema import is_id
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
_IDENTIFIER = re.compile(
    r"\b[A-Z]{2}\d{2}(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,3})?\b|#[0-9a-fA-F]{6}\b"
    r"|(?<![\w./-])(?:\w{1,40}_\w{1,40}|[\w-]{1,40})\.[A-Za-z]{2,5}\b(?!\.)|\b[A-Za-z0-9]{1,30}(?:_[A-Za-z0-9]{1,30}){1,5}\b(?!\.)"
    r"|(?<!\w)(?=[\w./:+@-]{0,40}\d)[A-Za-z0-9][\w./:+@-]{1,40}(?<![.:])"
)
"""Identifiers: grouped account numbers, colours, names of files, and whatever has a digit."""
_NAMED = re.compile(
    r"\b(?:called|named|titled|entitled|labell?ed) (?=[^\"“”«»])([^\"“”«»,.;:!?\n]{1,60}?)"
    r"(?=[\"“”«»,.;:!?\n]|\Z| (?:and|at|for|from|in|on|to|until|with)\b)",
    re.IGNORECASE,
)
"""What something is to be called."""
_PROPER = r"[A-Z][\w'’-]{0,30}(?: [A-Z][\w'’-]{0,30}){0,3}"
_FROM = re.compile(rf"(?:\bfrom |(?<=\w )(?={_PROPER} to [A-Z]))({_PROPER})")
_TO = re.compile(rf"\bto ({_PROPER})")
"""The ends of a way: "from Oslo to Rome", "HAM to JFK"."""
_SAID = (
    (_NAMED, "named"),
    (_FROM, "from"),
    (_TO, "to"),
    (_QUOTED, "quoted"),
    (ADDRESS, "said"),
    (LINK, "said"),
    (_IDENTIFIER, "said"),
)
_MOST_SAID = {ADDRESS: 6, _IDENTIFIER: 6}
_SECONDS = {1.0: "seconds", 60.0: "minutes", 3600.0: "hours"}


def takes_time(leaf: Leaf) -> bool:
    """Whether an argument may take a time: by its kind, or by a word of its name or description."""
    parameter = leaf.parameter
    if parameter.kind in ("moment", "day"):
        return True
    if parameter.schema.get("format") == "time":
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
        found += _choices(leaves, self.inputs.request.text)
        found += _examples(leaves)
        found += _currencies(self.inputs, leaves)
        unique: dict[tuple[str, str, tuple[int, int]], ValueCandidate] = {}
        for candidate in found:
            place = candidate.place if candidate.group == "number" else (-1, -1)
            unique.setdefault((candidate.group, candidate.text, place), candidate)
        return list(unique.values())


def value_candidates(inputs: PlanningInput, leaves: Sequence[Leaf], names: Names) -> list[ValueCandidate]:
    """The candidates for the arguments of one tool."""
    return RequestValues(inputs, names).candidates(leaves)


def fits(candidate: ValueCandidate, leaf: Leaf) -> bool:
    """Whether the type of an argument admits a candidate."""
    kind = leaf.parameter.kind
    match candidate.group:
        case "time":
            return (
                kind == ("day" if candidate.is_day else "moment")
                or (kind == "day" and candidate.role == "said")
                or (kind in ("text", "free") and takes_time(leaf))
            )
        case "said" if candidate.role == "currency":
            return "currency" in leaf.parameter.words
        case "number":
            if candidate.quantity is not None and not _is_measured_by(candidate, candidate.quantity, leaf):
                return False
            return kind in ("number", "integer", "duration") or (
                kind == "text" and isinstance(candidate.value, str)
            )
        case "choice":
            return candidate.value in leaf.parameter.choices
        case "boolean":
            return kind == "boolean"
        case _:
            return kind in ("text", "free")


def _is_measured_by(candidate: ValueCandidate, quantity: Quantity, leaf: Leaf) -> bool:
    """Whether an argument takes what a quantity measures; a duration in the unit nearest to its own."""
    parameter = leaf.parameter
    if quantity.dimension and is_id(parameter):
        return False
    measure = measure_of(parameter)
    if quantity.dimension == "time" and measure is not None:
        is_whole = quantity.base % 60 == 0
        wanted = _SECONDS.get(measure.factor, "hours") if parameter.kind != "duration" else "minutes"
        if wanted == "minutes" and not is_whole:
            wanted = "hours"
        return measure.dimension == "time" and candidate.role.startswith(wanted)
    if quantity.dimension and parameter.kind == "duration":
        return False
    return in_unit_of(quantity, parameter) is not None


def _said(inputs: PlanningInput) -> Iterator[ValueCandidate]:
    """Quoted texts, addresses, links and identifiers of the request."""
    text = inputs.request.text
    taken: list[tuple[int, int]] = []
    for pattern, origin in _SAID:
        for match in islice(pattern.finditer(text), _MOST_SAID.get(pattern, 3)):
            first, last = match.span()
            if origin == "said" and any(start < last and first < end for start, end in taken):
                continue
            words = match.group(1) if pattern.groups else match.group()
            first, last = match.span(1) if pattern.groups else match.span()
            if pattern is LINK:
                words = words.rstrip(".,;:!?)")
            if origin == "said":
                taken.append((first, last))
            source = Source("said", words=words)
            yield ValueCandidate(
                words, "said", value_text(words, origin), source, role=origin, place=(first, last)
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
    """The numbers, quantities and durations of the request."""
    text = inputs.request.text
    quantities = find_quantities(text)
    for each in [each for each in quantities if each.dimension == "time"][:2]:
        words, place = text[each.first : each.last], (each.first, each.last)
        for seconds, unit in ((60, "minutes"), (3600, "hours"), (1, "seconds")):
            value = each.base / seconds
            if value == int(value) or unit == "hours":
                shown = value_text(f"{_plain(value)} {unit}", words)
                source, role = Source("said", words=words), f"{unit} said"
                yield ValueCandidate(
                    _plain(value), "number", shown, source, role=role, quantity=each, place=place
                )
    for each in [each for each in quantities if each.dimension != "time"][:_NUMBERS]:
        words, place = text[each.first : each.last], (each.first, each.last)
        shown, source = value_text(words, "number said"), Source("said", words=words)
        yield ValueCandidate(_plain(each.amount), "number", shown, source, quantity=each, place=place)


def _currencies(inputs: PlanningInput, leaves: Iterable[Leaf]) -> Iterator[ValueCandidate]:
    """The codes of the currencies that the request names, for arguments that take one."""
    if any("currency" in leaf.parameter.words for leaf in leaves):
        text = inputs.request.text
        for code, first, last in find_currencies(text):
            words = text[first:last]
            shown, source = value_text(code, f"currency of {words}"), Source("said", words=words)
            yield ValueCandidate(code, "said", shown, source, role="currency", place=(first, last))


def _plain(value: float) -> int | float:
    return int(value) if value == int(value) else value


def _choices(leaves: Iterable[Leaf], text: str) -> Iterator[ValueCandidate]:
    """The values that schemas list; of very many, those whose words are in the request."""
    count, low = 0, text.casefold()
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
            if count > _CHOICES and str(value).casefold() not in low:
                continue
            yield ValueCandidate(value, "choice", value_text(value, f"option of {label}"), Source("choice"))
