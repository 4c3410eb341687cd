"""Compute the features of (request, argument, candidate) for the argument scorer."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.candidate import Candidate
from contextune.plan.pointer.feature_names import KINDS, NAMES, WANTS
from contextune.plan.pointer.priors import ArgumentStatistics, CommonWords
from contextune.plan.pointer.request_features import COLUMN, NAN, RequestFeatures, value_facts
from contextune.plan.pointer.said import DELIMITERS, NO_OVERLAP, folded_words
from contextune.plan.schema import Parameter
from contextune.plan.values import normalize_text
from contextune.search.tokenize import identifier_words, tokenize
from contextune.types import Item, Tool
from contextune.types.app_schema import APPS

Matrix = NDArray[np.float32]
_GENERIC = frozenset(["name", "title", "new", "id", "text", "value"])
"""Words of argument names that do not label a value: "playlist name" is said as "the … playlist"."""


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
    matrix = np.stack([request.row(candidate) for candidate in candidates])
    for name, values in _ArgumentScene(request, tool, parameter, candidates, chosen).columns():
        matrix[:, COLUMN[name]] = values
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

    def columns(self) -> Iterator[tuple[str, float | list[float]]]:
        """The features by name: one value for all candidates, or one for each."""
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
        valued = [not (candidate.is_omitted or candidate.origin == "free") for candidate in self.candidates]
        yield from self._said_columns(valued)
        yield from self._item_columns()
        yield from self._span_columns()

    def _said_columns(self, valued: Sequence[bool]) -> Iterator[tuple[str, float | list[float]]]:
        candidates = self.candidates
        texts = [str(candidate.value) for candidate in candidates]
        forms = [value_facts(text).form for text in texts]
        counts = Counter(form for form, is_value in zip(forms, valued, strict=True) if is_value)
        overlaps = [
            self.words.overlap(text) if is_value else NO_OVERLAP
            for text, is_value in zip(texts, valued, strict=True)
        ]
        stored = [
            overlap
            for overlap, candidate in zip(overlaps, candidates, strict=True)
            if candidate.span is None or candidate.item is not None
        ]
        used = self.words.places_of(self.chosen.values)
        most_weight = max(overlap.weight for overlap in overlaps)
        most_run = max(overlap.run_weight for overlap in overlaps)
        yield "most said", max((overlap.share for overlap in stored), default=0.0)
        yield "longest run", max((overlap.run_weight for overlap in stored), default=0.0)
        rows = list(zip(forms, overlaps, valued, strict=True))
        yield "count", [counts[form] if is_value else NAN for form, _, is_value in rows]
        yield "value taken", [float(form in self.chosen.values) if v else NAN for form, _, v in rows]
        yield "said gap", [overlap.weight - most_weight if v else NAN for _, overlap, v in rows]
        yield "run gap", [overlap.run_weight - most_run if v else NAN for _, overlap, v in rows]
        yield (
            "said used",
            [
                len(overlap.places & used) / len(overlap.places) if v and overlap.places else NAN
                for _, overlap, v in rows
            ],
        )

    def _item_columns(self) -> Iterator[tuple[str, float | list[float]]]:
        items, name = self.inputs.items, frozenset(self.parameter.words)
        about = frozenset(self.parameter.description_words)
        own_before = np.cumsum([0, *(item.app == self.tool.app for item in items)]).tolist()
        agrees = [self._agrees(item) for item in items]
        ranks = _ranks_in_origin(self.candidates)
        rows: list[tuple[float, ...]] = []
        for candidate in self.candidates:
            index = candidate.item
            if index is None:
                rows.append((NAN,) * 8)
                continue
            field_words, app_words = _field_words(candidate.field), _app_words(items[index].app)
            rows.append(
                (
                    len(name & (field_words | app_words)) / max(1, len(name)),
                    len(name & field_words) / max(1, len(field_words)),
                    len(field_words & about) / max(1, len(field_words)),
                    items[index].app == self.tool.app,
                    ranks[candidate.origin, index],
                    own_before[index],
                    index in self.chosen.items,
                    agrees[index],
                )
            )
        names = ("name in field", "field in name", "field in about", "own app", "rank in origin")
        for feature, values in zip(
            (*names, "apps before", "taken", "item agrees"), zip(*rows, strict=True), strict=True
        ):
            yield feature, list(values)

    def _agrees(self, item: Item) -> bool:
        """Whether the item has, as a whole field, a value that another argument has."""
        values = self.chosen.values
        return bool(values) and any(
            isinstance(value, str) and normalize_text(value) in values for value in item.fields.values()
        )

    def _span_columns(self) -> Iterator[tuple[str, float | list[float]]]:
        labels = frozenset(self.parameter.words) - _GENERIC
        names = frozenset((*self.parameter.words, *_field_words(self.tool.name)))
        rows: list[tuple[float, ...]] = []
        for candidate in self.candidates:
            span = candidate.span
            if span is None or candidate.item is not None:
                rows.append((NAN,) * 4)
                continue
            before, after = self.words.neighbours(span)
            begins = before in names or before in DELIMITERS or self.words.follows_verb(span)
            ends = not after or after in names or after in DELIMITERS
            rows.append((before in names, after in names, begins and ends, bool(labels & {before, after})))
        names_of_columns = ("span before name", "span after name", "span delimited", "span labelled")
        for name, values in zip(names_of_columns, zip(*rows, strict=True), strict=True):
            yield name, [float(value) for value in values]


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
