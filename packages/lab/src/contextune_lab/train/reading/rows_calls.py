"""Rows of calls: a request beside a tool, its arguments, their candidate values, and which are right.

A right value is a candidate, a span of the request, or that the argument is not given.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, cast

from contextune._internal.phrases import phrases
from contextune.evaluate.outcomes import Judge, normalize
from contextune.plan.arguments.candidate import ValueCandidate
from contextune.plan.arguments.candidates import fits, value_candidates
from contextune.plan.arguments.leaves import Leaf, tool_leaves
from contextune.plan.arguments.reader import leaf_text
from contextune.plan.planning_input import PlanningInput
from contextune.reading.model import OMITTED, SPAN
from contextune.reading.texts import Names, call_text
from contextune.types import ItemHit, Tool
from contextune_lab.train.reading.rows import ArgumentRow, CallTrainingRow, RowRequest
from contextune_lab.train.reading.rows_tools import CatalogueVariant
from contextune_lab.worlds.world import WorldCall

_ITEMS = 8
_CALLS = 2
"""Right calls of a request that make rows."""
_MISTAKEN = 6
"""One of this many tools that may be mistaken for the right one makes a row as well."""
_ALL = "*"
_RENAMED_FREE = frozenset(
    phrases("""
        body, text, content, message, query, q, title, note, comment, search_term, term
    """)
)
"""Arguments of other catalogues whose wording is free, if that of any argument is."""
_CLOCK = re.compile(r"\d\d:\d\d")
_EDGES = ".,!?;:\"“”'()"
_LONGEST, _LONGEST_EXACT = 45, 13
"""Words of a span at most."""
_MIN_OVERLAP = 0.5
_NO_SCHEMAS: Mapping[str, Mapping[str, Any]] = {}


@dataclass(frozen=True)
class CallRows:
    """Makes the rows of calls."""

    draw: Random

    def rows(
        self, request: RowRequest, variant: CatalogueVariant, others: Sequence[str]
    ) -> Iterator[CallTrainingRow]:
        """The rows of a request: right calls, and one of a tool that may be mistaken for theirs."""
        hits = [ItemHit(item, 1 - 0.1 * rank) for rank, item in enumerate(request.best[:_ITEMS])]
        inputs = PlanningInput(request.request, request.user, hits)
        free = request.labels.free
        if variant.is_renamed and free:
            free |= _RENAMED_FREE
        reader = CallLabels(inputs, Judge.of_contacts(_NO_SCHEMAS, request.user.contacts), free)
        text, tools = request.text_with_items(1), variant.tools.by_id
        right = list(dict.fromkeys(call.tool for call in variant.calls if call.tool in tools))
        for tool in right[:_CALLS]:
            calls = [call for call in variant.calls if call.tool == tool]
            yield reader.row(request.labels.id, request.source, text, tools[tool], calls)
        if likely := others[:_MISTAKEN]:
            wrong = tools[self.draw.choice(likely)]
            yield reader.row(request.labels.id, request.source, text, wrong, [])


@dataclass(frozen=True)
class CallLabels:
    """Finds the right values of calls among the candidates and in the words of one request."""

    inputs: PlanningInput
    judge: Judge
    free: frozenset[str] = frozenset()

    def row(
        self, name: str, source: str, text: str, tool: Tool, calls: Sequence[WorldCall]
    ) -> CallTrainingRow:
        """The row of a tool; `calls` are the right ones, all of this tool: none, if it does not serve."""
        leaves = tool_leaves(tool)
        candidates = value_candidates(self.inputs, leaves, Names(self.inputs.user))
        arguments = [self._argument(leaf, candidates, text, calls) for leaf in leaves]
        texts = [candidate.text for candidate in candidates]
        return CallTrainingRow(name, source, text, call_text(tool), bool(calls), arguments, texts)

    def _argument(
        self, leaf: Leaf, candidates: Sequence[ValueCandidate], text: str, calls: Sequence[WorldCall]
    ) -> ArgumentRow:
        columns: set[int] = set()
        span: tuple[int, int] | None = None
        for call in calls:
            value = leaf_argument(call.args, leaf)
            if value is None:
                columns.add(OMITTED)
            elif value == _ALL:
                columns.add(SPAN)
            else:
                for each in cast("list[Any]", value) if isinstance(value, list) else [value]:
                    chosen, place = self._value(leaf, candidates, text, each)
                    columns |= chosen
                    span = span or place
        if len(columns) > 1 and leaf.required:
            columns.discard(OMITTED)
        admitted = [number for number, candidate in enumerate(candidates) if fits(candidate, leaf)]
        return ArgumentRow(leaf_text(leaf), admitted, sorted(columns) or None, span)

    def _value(
        self, leaf: Leaf, candidates: Sequence[ValueCandidate], text: str, value: Any
    ) -> tuple[set[int], tuple[int, int] | None]:
        """The columns that are right for a value, and its span in the text."""
        columns = {
            number + 2
            for number, candidate in enumerate(candidates)
            if fits(candidate, leaf) and self._is_same(leaf, candidate, value)
        }
        if not isinstance(value, str):
            return columns, None
        is_free = leaf.path[-1] in self.free or leaf.parameter.kind == "free"
        found = find_span(text, value, is_free=is_free)
        if found is None or (found.overlap < 1 and columns):
            return columns, None
        return columns | {SPAN}, found.place

    def _is_same(self, leaf: Leaf, candidate: ValueCandidate, want: Any) -> bool:
        name = leaf.path[-1]
        if candidate.group != "time":
            return self.judge.same_value(name, candidate.value, want, frozenset())
        shown = f"{candidate.value:%Y-%m-%d}" if candidate.is_day else f"{candidate.value:%Y-%m-%dT%H:%M}"
        if self.judge.same_value(name, shown, want, frozenset()):
            return candidate.is_day == (len(str(want)) <= 10) or leaf.parameter.kind in ("day", "moment")
        is_clock = isinstance(want, str) and _CLOCK.fullmatch(want) is not None
        return is_clock and not candidate.is_day and f"{candidate.value:%H:%M}" == want


def leaf_argument(arguments: Mapping[str, Any], leaf: Leaf) -> Any:
    """The value of a leaf in the arguments of a call; None if it is not given."""
    value: Any = arguments
    for name in leaf.path:
        if not isinstance(value, Mapping) or name not in value:
            return None
        value = cast("Mapping[str, Any]", value)[name]
    return value


@dataclass(frozen=True, slots=True)
class FoundSpan:
    """A span of a text, as characters, and the share of words that it has in common with a value."""

    place: tuple[int, int]
    overlap: float


def find_span(text: str, value: str, *, is_free: bool) -> FoundSpan | None:
    """The span that says a value: exactly, or in about these words if the wording is free."""
    tokens = [match.span() for match in re.finditer(r"\S+", text)]
    wanted, words = normalize(value), _words(value)
    best: FoundSpan | None = None
    for first in range(len(tokens)):
        seen: set[str] = set()
        for last in range(first, min(first + (_LONGEST if is_free else _LONGEST_EXACT), len(tokens))):
            place = _trimmed(text, tokens[first][0], tokens[last][1])
            if normalize(text[slice(*place)]) == wanted:
                return FoundSpan(place, 1.0)
            if is_free:
                seen |= _words(text[slice(*tokens[last])])
                overlap = 2 * len(seen & words) / max(1, len(seen) + len(words)) - 0.0005 * (last - first)
                if overlap > (best.overlap if best else 0):
                    best = FoundSpan(place, overlap)
    return best if best and best.overlap >= _MIN_OVERLAP else None


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """A span without the punctuation at its edges."""
    while start < end and text[start] in _EDGES:
        start += 1
    while end > start and text[end - 1] in _EDGES:
        end -= 1
    return start, end


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.lower().replace("'", "")))
