"""Compute the features of (request, argument, candidate) for the argument scorer."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.request_words import DELIMITERS, NO_OVERLAP, Overlap, folded_words
from contextune.plan.pointer.scoring.feature_names import KINDS, NAMES, WANTS
from contextune.plan.pointer.scoring.priors import ArgumentStatistics, CommonWords
from contextune.plan.pointer.scoring.request_features import (
    COLUMN,
    NAN,
    RequestFeatures,
    columns_of,
    value_facts,
)
from contextune.plan.pointer.values.candidate import Candidate
from contextune.plan.schema import Parameter
from contextune.plan.values import normalize_text
from contextune.search.tokenize import identifier_words, tokenize
from contextune.types import Item, Tool
from contextune.types.app_schema import APPS

Matrix = NDArray[np.float32]
_GENERIC = frozenset(["name", "title", "new", "id", "text", "value"])
"""Words of argument names that do not label a value: "playlist name" is said as "the … playlist"."""
_SAID_COLUMNS = [COLUMN[name] for name in ("count", "value taken", "said gap", "run gap", "said used")]
_ITEM_COLUMNS = [
    COLUMN[name]
    for name in (
        *("name in field", "field in name", "field in about", "own app", "rank in origin", "apps before"),
        *("taken", "item agrees"),
    )
]
_SPAN_COLUMNS = [
    COLUMN[name] for name in ("span before name", "span after name", "span delimited", "span labelled")
]
_NO_VALUE, _NO_ITEM, _NO_SPAN = (
    (NAN,) * len(columns) for columns in (_SAID_COLUMNS, _ITEM_COLUMNS, _SPAN_COLUMNS)
)


@dataclass(frozen=True)
class ChosenArguments:
    """The items and values that other arguments of the same call use."""

    items: frozenset[int] = frozenset()
    values: frozenset[str] = field(default=frozenset())


_NONE_CHOSEN = ChosenArguments()


def argument_features(
    inputs: PlanningInput,
    tool: Tool,
    parameter: Parameter,
    candidates: Sequence[Candidate],
    statistics: ArgumentStatistics,
    chosen: ChosenArguments = _NONE_CHOSEN,
) -> Matrix:
    """The feature matrix: one row per candidate, columns in the order of `NAMES`, NaN where undefined."""
    matrix = features_without_priors(inputs, tool, parameter, candidates, statistics.common, chosen)
    return add_priors(matrix, tool, parameter, [candidate.origin for candidate in candidates], statistics)


def features_without_priors(
    inputs: PlanningInput,
    tool: Tool,
    parameter: Parameter,
    candidates: Sequence[Candidate],
    common: CommonWords,
    chosen: ChosenArguments = _NONE_CHOSEN,
) -> Matrix:
    """The feature matrix but for the statistics of the argument, which differ between folds in training."""
    if not candidates:
        return np.empty((0, len(NAMES)), np.float32)
    request = _request_features(inputs, common)
    matrix = request.rows(candidates)
    _ArgumentScene(request, tool, parameter, candidates, chosen).fill(matrix)
    return matrix


def add_priors(
    matrix: Matrix,
    tool: Tool,
    parameter: Parameter,
    origins: Sequence[str],
    statistics: ArgumentStatistics,
) -> Matrix:
    """Fill the columns that depend on the statistics of the argument, in place."""
    if not len(matrix):
        return matrix
    narrow, broad = statistics.priors.origin_frequencies(tool, parameter, origins)
    matrix[:, COLUMN["prior"]], matrix[:, COLUMN["prior by name"]] = narrow, broad
    ranked = {value: rank for rank, value in enumerate(sorted(set(narrow), reverse=True))}
    matrix[:, COLUMN["prior rank"]] = [ranked.get(value, NAN) for value in narrow]
    matrix[:, COLUMN["given"]] = statistics.priors.given_rate(tool, parameter)
    return matrix


_FEATURES = "features"


def _request_features(inputs: PlanningInput, common: CommonWords) -> RequestFeatures:
    """Kept as long as the request is planned: its tools and arguments share most candidates."""
    features = inputs.kept.get(_FEATURES)
    if not isinstance(features, RequestFeatures) or features.common is not common:
        features = inputs.kept[_FEATURES] = RequestFeatures(inputs, common)
    return features


def forget_request(inputs: PlanningInput) -> None:
    """Drop what is kept for a request; training holds many requests at once."""
    inputs.kept.pop(_FEATURES, None)


class _ArgumentScene:
    """Features that depend on the argument, on its other candidates, or on the arguments filled before."""

    def __init__(
        self,
        request: RequestFeatures,
        tool: Tool,
        parameter: Parameter,
        candidates: Sequence[Candidate],
        chosen: ChosenArguments,
    ) -> None:
        self.request, self.inputs, self.words = request, request.inputs, request.words
        self.tool, self.parameter, self.candidates, self.chosen = tool, parameter, candidates, chosen

    def fill(self, matrix: Matrix) -> None:
        """Set the columns of these features."""
        texts = [str(candidate.value) for candidate in self.candidates]
        valued = [not (candidate.is_omitted or candidate.origin == "free") for candidate in self.candidates]
        overlaps = [
            self.words.overlap(text) if is_value else NO_OVERLAP
            for text, is_value in zip(texts, valued, strict=True)
        ]
        shared = dict(self._shared_by_all(overlaps))
        matrix[:, columns_of(tuple(shared))] = list(shared.values())
        matrix[:, _SAID_COLUMNS] = self._said_rows(texts, valued, overlaps)
        matrix[:, _ITEM_COLUMNS] = self._item_rows()
        matrix[:, _SPAN_COLUMNS] = self._span_rows()

    def _shared_by_all(self, overlaps: Sequence[Overlap]) -> Iterator[tuple[str, float]]:
        parameter = self.parameter
        words = frozenset((*parameter.words, *parameter.description_words))
        yield "required", float(parameter.required)
        yield "arguments filled", float(len(self.chosen.values))
        yield "left over", self.words.left_over(_tool_words(self.tool.name, self.tool.description))
        dictated = any(candidate.origin == "free" and candidate.value for candidate in self.candidates)
        yield "free said", float(dictated)
        for kind in KINDS:
            yield f"kind {kind}", float(parameter.kind == kind)
        for what, wanted in WANTS.items():
            yield f"wants {what}", float(bool(words & wanted))
        stored = [
            overlap
            for overlap, candidate in zip(overlaps, self.candidates, strict=True)
            if candidate.span is None or candidate.item is not None
        ]
        yield "most said", max((overlap.share for overlap in stored), default=0.0)
        yield "longest run", max((overlap.run_weight for overlap in stored), default=0.0)

    def _said_rows(
        self, texts: Sequence[str], valued: Sequence[bool], overlaps: Sequence[Overlap]
    ) -> list[tuple[float, ...]]:
        forms = [value_facts(text).form for text in texts]
        counts = Counter(form for form, is_value in zip(forms, valued, strict=True) if is_value)
        used = self.words.places_of(self.chosen.values)
        most_weight = max(overlap.weight for overlap in overlaps)
        most_run = max(overlap.run_weight for overlap in overlaps)
        return [
            (
                counts[form],
                form in self.chosen.values,
                overlap.weight - most_weight,
                overlap.run_weight - most_run,
                len(overlap.places & used) / len(overlap.places) if overlap.places else NAN,
            )
            if is_value
            else _NO_VALUE
            for form, overlap, is_value in zip(forms, overlaps, valued, strict=True)
        ]

    def _item_rows(self) -> list[tuple[float, ...]]:
        apps = [item.app for item in self.inputs.items]
        own_before = list(accumulate((app == self.tool.app for app in apps), initial=0))
        agrees = [self._agrees(item) for item in self.inputs.items]
        ranks = _ranks_in_origin(self.candidates)
        labels: dict[tuple[str, str], tuple[float, float, float]] = {}  # by field and application
        rows: list[tuple[float, ...]] = []
        for candidate in self.candidates:
            index = candidate.item
            if index is None:
                rows.append(_NO_ITEM)
                continue
            app = apps[index]
            if (candidate.field, app) not in labels:
                labels[candidate.field, app] = self._compare_names(candidate.field, app)
            rows.append(
                (
                    *labels[candidate.field, app],
                    app == self.tool.app,
                    ranks[candidate.origin, index],
                    own_before[index],
                    index in self.chosen.items,
                    agrees[index],
                )
            )
        return rows

    def _compare_names(self, field: str, app: str) -> tuple[float, float, float]:
        """How much the names of the argument and of the field have in common."""
        name, about = frozenset(self.parameter.words), frozenset(self.parameter.description_words)
        field_words, app_words = _field_words(field), _app_words(app)
        return (
            len(name & (field_words | app_words)) / max(1, len(name)),
            len(name & field_words) / max(1, len(field_words)),
            len(field_words & about) / max(1, len(field_words)),
        )

    def _agrees(self, item: Item) -> bool:
        """Whether the item has, as a whole field, a value that another argument has."""
        values = self.chosen.values
        return bool(values) and any(
            isinstance(value, str) and normalize_text(value) in values for value in item.fields.values()
        )

    def _span_rows(self) -> list[tuple[float, ...]]:
        labels = frozenset(self.parameter.words) - _GENERIC
        names = frozenset((*self.parameter.words, *_field_words(self.tool.name)))
        rows: list[tuple[float, ...]] = []
        for candidate in self.candidates:
            span = candidate.span
            if span is None or candidate.item is not None:
                rows.append(_NO_SPAN)
                continue
            before, after = self.words.neighbours(span)
            begins = before in names or before in DELIMITERS or self.words.follows_verb(span)
            ends = not after or after in names or after in DELIMITERS
            rows.append((before in names, after in names, begins and ends, bool(labels & {before, after})))
        return rows


def _ranks_in_origin(candidates: Sequence[Candidate]) -> dict[tuple[str, int | None], int]:
    ranks: dict[tuple[str, int | None], int] = {}
    counts: dict[str, int] = {}
    for candidate in candidates:
        if candidate.item is not None and (candidate.origin, candidate.item) not in ranks:
            ranks[candidate.origin, candidate.item] = counts.get(candidate.origin, 0)
            counts[candidate.origin] = counts.get(candidate.origin, 0) + 1
    return ranks


@lru_cache(maxsize=1024)
def _tool_words(name: str, description: str) -> frozenset[str]:
    return frozenset((*folded_words(" ".join(identifier_words(name))), *folded_words(description)))


@lru_cache(maxsize=1024)
def _field_words(name: str) -> frozenset[str]:
    return frozenset(identifier_words(name))


@lru_cache(maxsize=256)
def _app_words(app: str) -> frozenset[str]:
    noun = APPS[app].noun if app in APPS else ""
    return frozenset((*identifier_words(app), *tokenize(noun)))
