"""Read the arguments of calls: the reading model chooses among the candidate values of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from math import log
from typing import Any

import numpy as np

from contextune.plan.arguments.candidates import RequestValues, ValueCandidate, fits
from contextune.plan.arguments.leaves import Leaf, nest, tool_leaves
from contextune.plan.planning_input import PlanningInput
from contextune.plan.schema import is_valid
from contextune.reading.model import OMITTED, SPAN, ArgumentInput, CallReading, ReadingModel
from contextune.reading.texts import Names, argument_text, brief_item_text, call_text
from contextune.search.tokenize import identifier_words
from contextune.types import Argument, Contact, Missing, Plan, Source, Tool

_LIST_SHARE = 0.35
"""A value joins a list if it is this probable, relative to the likeliest."""
_EDGES = " \t\n,;:!?\"'“”‘’()"
_ADDRESS_WORDS = frozenset(["email", "mail", "address", "addresses", "e"])
_NUMBER_WORDS = frozenset(["phone", "number", "msisdn", "mobile", "tel", "telephone"])
_NAME_WORDS = frozenset(["name", "names", "contact", "person", "who"])
_MAIL_WORDS = frozenset(["mail", "email", "mails", "message", "outlook", "gmail", "mailbox"])


@dataclass(frozen=True, slots=True)
class FilledLeaf:
    """What was chosen for one argument, with its probability and that of the second best."""

    leaf: Leaf
    value: Any
    sources: tuple[Source, ...]
    probability: float
    second: float
    group: str
    """Of the candidate; `said` for a span of the request, empty if nothing was chosen."""

    @property
    def is_given(self) -> bool:
        """Whether there is a value."""
        return bool(self.group)


@dataclass(frozen=True, eq=False)
class ReadCall:
    """A call with the arguments that the reading model chose."""

    tool: Tool
    fit: float
    """Log odds that the tool serves the request, by the model that has read the arguments too."""
    leaves: Sequence[FilledLeaf]

    @cached_property
    def missing(self) -> list[FilledLeaf]:
        """The required arguments without a value."""
        return [leaf for leaf in self.leaves if leaf.leaf.required and not leaf.is_given]

    @cached_property
    def log_probability(self) -> float:
        """Of all choices together."""
        return sum(log(max(leaf.probability, 1e-6)) for leaf in self.leaves)

    def plan(self, confidence: float) -> Plan:
        """The call as a plan."""
        given = [leaf for leaf in self.leaves if leaf.is_given]
        values = nest({leaf.leaf.path: leaf.value for leaf in given})
        arguments = {
            name: Argument(
                value,
                tuple(source for leaf in given if leaf.leaf.path[0] == name for source in leaf.sources),
                min(leaf.probability for leaf in given if leaf.leaf.path[0] == name),
            )
            for name, value in values.items()
        }
        missing = tuple(
            Missing(leaf.leaf.path[0], f"Which {leaf.leaf.parameter.label}?")
            for leaf in self.missing
            if leaf.leaf.path[0] not in arguments
        )
        return Plan(self.tool.id, arguments, confidence, missing, name=self.tool.name)


def fill_calls(
    model: ReadingModel, inputs: PlanningInput, request: str, tools: Sequence[Tool]
) -> list[ReadCall]:
    """Fill the arguments of several tools for one request; `request` is its text for the model."""
    names = Names(inputs.user)
    values = RequestValues(inputs, names)
    text = request
    if inputs.items:
        text = f"{request} || 1 {brief_item_text(inputs.items[0], inputs.now, inputs.user, names)}"
    prepared: list[tuple[Tool, tuple[Leaf, ...], list[ValueCandidate]]] = []
    calls: list[tuple[str, list[ArgumentInput], list[str]]] = []
    for tool in tools:
        leaves = tool_leaves(tool)
        candidates = values.candidates(leaves)
        prepared.append((tool, leaves, candidates))
        arguments = [
            ArgumentInput(leaf_text(leaf), [n for n, each in enumerate(candidates) if fits(each, leaf)])
            for leaf in leaves
        ]
        calls.append((call_text(tool), arguments, [candidate.text for candidate in candidates]))
    readings = model.read_calls(text, calls)
    return [
        ReadCall(tool, reading.fit, _fill(tool, leaves, candidates, reading, request))
        for (tool, leaves, candidates), reading in zip(prepared, readings, strict=True)
    ]


def leaf_text(leaf: Leaf) -> str:
    """An argument as the reading model reads it."""
    parameter = leaf.parameter
    kind = parameter.schema.get("format") or (
        parameter.kind if parameter.kind not in ("text", "free") else ""
    )
    return argument_text(
        leaf.path, parameter.description, str(kind or ""), required=leaf.required, is_list=leaf.is_list
    )


def _fill(
    tool: Tool,
    leaves: Sequence[Leaf],
    candidates: Sequence[ValueCandidate],
    reading: CallReading,
    text: str,
) -> list[FilledLeaf]:
    filled: list[FilledLeaf] = []
    for number, leaf in enumerate(leaves):
        probabilities = reading.probabilities[number]
        order: list[int] = np.argsort(-probabilities, kind="stable").tolist()
        second = float(probabilities[order[1]]) if len(order) > 1 else 0.0
        chosen = FilledLeaf(leaf, None, (), float(probabilities[OMITTED]), second, "")
        for column in order:
            probability = float(probabilities[column])
            if column == OMITTED or probability <= 0:
                chosen = FilledLeaf(leaf, None, (), probability, second, "")
                break
            if column == SPAN:
                value, sources, group = _span_value(reading.spans[number], text, leaf)
            else:
                candidate = candidates[column - 2]
                value = leaf_value(candidate, leaf, tool)
                sources, group = (candidate.source,), candidate.group
            if value is None:
                continue
            if leaf.is_list:
                value, sources = _list_value(
                    value, sources, column, order, probabilities, candidates, leaf, tool
                )
                chosen = FilledLeaf(leaf, value, sources, probability, second, group)
                break
            if is_valid(value, leaf.parameter):
                chosen = FilledLeaf(leaf, value, sources, probability, second, group)
                break
        filled.append(chosen)
    return filled


def _list_value(
    value: Any,
    sources: tuple[Source, ...],
    column: int,
    order: Sequence[int],
    probabilities: Any,
    candidates: Sequence[ValueCandidate],
    leaf: Leaf,
    tool: Tool,
) -> tuple[list[Any], tuple[Source, ...]]:
    """The likeliest value, and all others that are nearly as likely."""
    values, found = [value], list(sources)
    for other in order:
        if other in (column, OMITTED, SPAN) or probabilities[other] < _LIST_SHARE * probabilities[column]:
            continue
        more = leaf_value(candidates[other - 2], leaf, tool)
        if more is not None and more not in values:
            values.append(more)
            found.append(candidates[other - 2].source)
    return values, tuple(found)


def _span_value(span: tuple[int, int] | None, text: str, leaf: Leaf) -> tuple[Any, tuple[Source, ...], str]:
    """The words of a span; one that leads out of the request, into an item, is none."""
    words = text[slice(*span)].strip(_EDGES) if span and span[1] <= len(text) else ""
    if not words or leaf.parameter.kind not in ("text", "free"):
        return None, (), ""
    return words, (Source("said", words=words),), "said"


def leaf_value(candidate: ValueCandidate, leaf: Leaf, tool: Tool) -> Any:
    """A candidate in the form that an argument takes; None if it has none."""
    if candidate.contact is not None:
        return _person_form(candidate.contact, leaf, tool)
    if candidate.group == "time":
        return _time_form(candidate, leaf)
    if candidate.group == "number":
        kind = leaf.parameter.kind
        if kind == "integer":
            return int(candidate.value) if float(candidate.value).is_integer() else None
        return str(candidate.value) if kind in ("text", "free") else candidate.value
    return candidate.value


def _time_form(candidate: ValueCandidate, leaf: Leaf) -> str:
    moment: datetime = candidate.value
    described = f"{leaf.parameter.description} {leaf.parameter.schema.get('pattern', '')}".upper()
    if "HH:MM" in described and "YYYY" not in described and not candidate.is_day:
        return f"{moment:%H:%M}"
    return moment.date().isoformat() if candidate.is_day else moment.isoformat(timespec="minutes")


def _person_form(contact: Contact, leaf: Leaf, tool: Tool) -> str | None:
    """The address, number or name of a contact: what the argument's words ask for."""
    words = {*leaf.parameter.words, *leaf.parameter.description_words}
    if leaf.parameter.schema.get("format") == "email":
        return contact.email
    wants_name = bool(_NAME_WORDS & words)
    if _ADDRESS_WORDS & words and not wants_name and contact.email:
        return contact.email
    if _NUMBER_WORDS & {*leaf.parameter.words} and contact.phone:
        return contact.phone
    tool_words = {*identifier_words(tool.app), *identifier_words(tool.name)}
    if not wants_name and contact.email and _MAIL_WORDS & tool_words:
        return contact.email
    return contact.name
