"""What may fill an argument of a call: nothing, words of the request, or a candidate in its form."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from contextune.plan.arguments.candidate import ValueCandidate
from contextune.plan.arguments.candidates import fits
from contextune.plan.arguments.leaves import Leaf
from contextune.plan.planning_input import PlanningInput
from contextune.plan.schema import Parameter, is_valid
from contextune.reading.model import OMITTED, SPAN, CallReading, ReadSpan
from contextune.search.tokenize import identifier_words
from contextune.types import Contact, Source, Tool

_EDGES = " \t\n,;:!?\"'“”‘’()"
_MARKS, _NAMES, _LONGEST_NAME = 3, 4, 5
"""Most spans behind names and colons, most capitalised names, and most words of one."""
_MOST_WORDS, _LONGEST_LIST = 200, 400
_WORD = re.compile(r"[^\s,;:!?\"“”()]+")
_BETWEEN = re.compile(r"\s*(?:,|;|\band\b|&|\n)\s*")
_ADDRESS_WORDS = frozenset(["email", "mail", "address", "addresses", "e"])
_NUMBER_WORDS = frozenset(["phone", "number", "msisdn", "mobile", "tel", "telephone"])
_NAME_WORDS = frozenset(["name", "names", "contact", "person", "who"])
_MAIL_WORDS = frozenset(["mail", "email", "mails", "message", "outlook", "gmail", "mailbox"])


@dataclass(frozen=True, slots=True)
class ValueOption:
    """A value that an argument may get, or none."""

    column: int
    """Of `CallReading.scores`."""
    value: Any
    group: str
    """Of the candidate; `said` for words of the request, empty for no value."""
    sources: tuple[Source, ...] = ()
    candidate: ValueCandidate | None = None
    span: ReadSpan | None = None

    @property
    def is_given(self) -> bool:
        """Whether there is a value."""
        return bool(self.group)


def leaf_options(
    inputs: PlanningInput,
    tool: Tool,
    leaf: Leaf,
    candidates: Sequence[ValueCandidate],
    spans: Sequence[ReadSpan],
    text: str,
) -> list[ValueOption]:
    """The options of an argument; those of words of the request come after "not given".

    `text` is what the model has read, of which `spans` are parts; it ends with the request.
    """
    options = [ValueOption(OMITTED, None, "")]
    if leaf.parameter.kind in ("text", "free"):
        seen: set[str] = set()
        for span in (*spans, *_plain_spans(inputs, text)):
            words = text[span.start : span.end].strip(_EDGES) if span.end <= len(text) else ""
            if words and words not in seen and is_valid(words, leaf.parameter):
                seen.add(words)
                options.append(ValueOption(SPAN, words, "said", (Source("said", words=words),), None, span))
    for number, candidate in enumerate(candidates):
        for value in leaf_values(candidate, leaf, tool) if fits(candidate, leaf) else ():
            if is_valid(value, leaf.parameter):
                sources = (candidate.source,)
                options.append(ValueOption(number + 2, value, candidate.group, sources, candidate))
    return options


def listed_parts(words: str) -> list[str]:
    """The parts of an enumeration: "milk, eggs and flour" are three."""
    return [part for each in _BETWEEN.split(words[:_LONGEST_LIST]) if (part := each.strip(_EDGES))]


def _plain_spans(inputs: PlanningInput, text: str) -> Iterator[ReadSpan]:
    """What is said behind a name or a colon, and the whole request."""
    request = inputs.request.text
    first = len(text) - len(request)
    if first < 0 or not text.endswith(request):
        return
    starts = sorted({match.end for match in inputs.names if match.end > 0})[:_MARKS]
    starts += [place + 1 for place in islice(_colons(request), _MARKS)]
    for start in (*starts, 0):
        yield ReadSpan(first + start, len(text), float("nan"))
    for start, end in islice(_capitalised(request), _NAMES):
        yield ReadSpan(first + start, first + end, float("nan"))


def _capitalised(text: str) -> Iterator[tuple[int, int]]:
    """Names as people write them: words in a row that begin with capitals or have digits; no 's behind."""
    run: list[tuple[int, int]] = []
    for match in islice(_WORD.finditer(text), _MOST_WORDS):
        word = match.group()
        is_name = word[0].isupper() or any(char.isdigit() for char in word)
        joined = bool(run) and text[run[-1][1] : match.start()] == " " and len(run) < _LONGEST_NAME
        if run and not (is_name and joined):
            yield run[0][0], run[-1][1]
            run = []
        if is_name:
            size = len(word.removesuffix("'s").removesuffix("’s"))
            run.append((match.start(), match.start() + size))
            if size < len(word):
                yield run[0][0], run[-1][1]
                run = []
    if run:
        yield run[0][0], run[-1][1]


def _colons(text: str) -> Iterator[int]:
    return (place for place, char in enumerate(text) if char == ":" and text[place + 1 : place + 2] == " ")


def option_scores(reading: CallReading, leaf: int, options: Sequence[ValueOption]) -> list[float]:
    """The model's score of each option."""
    return [float(reading.scores[leaf, option.column]) for option in options]


def leaf_values(candidate: ValueCandidate, leaf: Leaf, tool: Tool) -> list[Any]:
    """A candidate in the forms that an argument may take."""
    if candidate.contact is not None:
        value = person_form(candidate.contact, leaf.parameter, tool)
        return [] if value is None else [value]
    return plain_values(candidate, leaf)


def plain_values(candidate: ValueCandidate, leaf: Leaf) -> list[Any]:
    """A candidate that is no contact in the forms that an argument may take."""
    if candidate.group == "time":
        return _time_forms(candidate, leaf)
    if candidate.group == "number":
        kind = leaf.parameter.kind
        if kind == "integer":
            return [int(candidate.value)] if float(candidate.value).is_integer() else []
        return [str(candidate.value) if kind in ("text", "free") else candidate.value]
    return [candidate.value]


def _time_forms(candidate: ValueCandidate, leaf: Leaf) -> list[str]:
    """A day as a day, and a moment as a moment; as an hour or a month where a text is asked for."""
    moment: datetime = candidate.value
    if candidate.is_day:
        forms = [moment.date().isoformat()]
        return [*forms, f"{moment:%Y-%m}"] if leaf.parameter.kind in ("text", "free") else forms
    forms = [moment.isoformat(timespec="minutes")]
    return [*forms, f"{moment:%H:%M}"] if leaf.parameter.kind in ("text", "free") else forms


def person_form(contact: Contact, parameter: Parameter, tool: Tool) -> str | None:
    """The address, number or name of a contact: what the argument's words ask for."""
    words = {*parameter.words, *parameter.description_words}
    if parameter.schema.get("format") == "email":
        return contact.email
    wants_name = bool(_NAME_WORDS & words)
    if _ADDRESS_WORDS & words and not wants_name and contact.email:
        return contact.email
    if _NUMBER_WORDS & {*parameter.words} and contact.phone:
        return contact.phone
    tool_words = {*identifier_words(tool.app), *identifier_words(tool.name)}
    if not wants_name and contact.email and _MAIL_WORDS & tool_words:
        return contact.email
    return contact.name
