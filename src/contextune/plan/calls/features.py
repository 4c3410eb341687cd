"""Compute the features of filled calls for the call ranker."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from contextune.plan.calls.classifier import ToolClassifier, action_of
from contextune.plan.calls.coverage import CallCoverage, WeightedWords, count_missing, stem
from contextune.plan.calls.feature_names import COMPARED, NAMES
from contextune.plan.calls.fill import CallCandidate
from contextune.plan.calls.statistics import CallStatistics
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.planner import FilledCall
from contextune.plan.pointer.scoring.priors import CommonWords
from contextune.plan.schema import tool_parameters
from contextune.search.tokenize import identifier_words
from contextune.types import ToolHit

Matrix = NDArray[np.float32]
_NAN = float("nan")
_FAR = 99.0
_SOURCES = ("item", "contact", "said", "time")
_COMPARED_COLUMNS = [NAMES.index(name) for name in COMPARED]
_BEHIND_COLUMNS = [NAMES.index(f"{name} behind") for name in COMPARED]


@dataclass(frozen=True, eq=False)
class ToolProbabilities:
    """What the tool classifier says of a request."""

    tools: Mapping[str, float]
    actions: Mapping[str, float]
    read: Mapping[str, float] = field(default_factory=dict[str, float])
    """By the reader, from the request and its items; empty if it was not asked."""

    @classmethod
    def build(
        cls, classifier: ToolClassifier, vector: Matrix, read: Mapping[str, float] | None = None
    ) -> "ToolProbabilities":
        """Classify the vector of a request; `read` is what the reader says."""
        tools = classifier.probabilities(vector)
        return cls(tools, classifier.actions(tools), read or {})

    def features(self, tool: str) -> dict[str, float]:
        """The features of a tool."""
        likely = _log(self.tools.get(tool))
        return self._read_features(tool) | {
            "tool known": likely,
            "tool known behind": likely - _log(max(self.tools.values())),
            "action known": _log(self.actions.get(action_of(tool))),
        }

    def _read_features(self, tool: str) -> dict[str, float]:
        if not self.read:
            return {}
        share = self.read.get(tool)
        return {
            "read": _log(share),
            "read behind": _log(share) - _log(max(self.read.values())),
            "read share": _NAN if share is None else share,
        }


def call_features(
    inputs: PlanningInput,
    tools: Sequence[ToolHit],
    calls: Sequence[CallCandidate],
    fits: float | None,
    statistics: CallStatistics,
    common: CommonWords,
    known: ToolProbabilities | None = None,
    names: Sequence[str] = NAMES,
) -> Matrix:
    """The feature matrix: one row per call, a column for each of `names`, NaN where undefined.

    `names` are `NAMES` or `READ_NAMES`.
    """
    words = WeightedWords(inputs, common)
    said = frozenset(map(stem, inputs.tokens))
    scores = [hit.score for hit in tools]
    request = {
        "fits": _NAN if fits is None else fits,
        "needs context": _NAN if inputs.needs_context is None else inputs.needs_context,
        "length": float(len(inputs.tokens)),
        "asks": float("?" in inputs.request.text),
    }
    rows = [
        {
            **request,
            **_tool_features(inputs, said, call, scores, statistics),
            **(known.features(call.filled.tool.name) if known else {}),
            **_argument_features(call),
            **_item_features(inputs, call.filled),
            **_word_features(words, call.filled),
        }
        for call in calls
    ]
    matrix = np.array([[row.get(name, _NAN) for name in names] for row in rows], np.float32)
    matrix = matrix.reshape(len(rows), len(names))
    if len(matrix):
        compared = matrix[:, _COMPARED_COLUMNS]
        matrix[:, _BEHIND_COLUMNS] = compared - np.fmax.reduce(compared)
    return matrix


def _tool_features(
    inputs: PlanningInput,
    said: frozenset[str],
    call: CallCandidate,
    scores: Sequence[float],
    statistics: CallStatistics,
) -> dict[str, float]:
    tool, highest = call.filled.tool, max(scores)
    powers = np.exp(np.array(scores) - highest)
    name = frozenset(map(stem, identifier_words(tool.name)))
    apps = inputs.app_probabilities
    likely = apps.get(tool.app, _NAN)
    return {
        "tool rank": float(call.rank),
        "tool behind": scores[call.rank] - highest,
        "tool lead": _lead(scores, call.rank, alone=_NAN),
        "tool share": float(powers[call.rank] / powers.sum()),
        "tool said": len(name & said) / max(1, len(name)),
        "app likely": likely,
        "app behind": likely - max(apps.values(), default=_NAN),
        "tool prior": statistics.tool_share(tool.name),
        "pattern": statistics.pattern_share(tool.name, call.filled.plan.arguments),
    }


def _argument_features(call: CallCandidate) -> dict[str, float]:
    plan = call.filled.plan
    parameters = tool_parameters(call.filled.tool)
    required = frozenset(parameter.name for parameter in parameters if parameter.required)
    free = frozenset(parameter.name for parameter in parameters if parameter.kind in ("free", "other"))
    sure = {name: argument.confidence for name, argument in plan.arguments.items() if name not in free}
    kinds = [argument.sources[0].kind for argument in plan.arguments.values() if argument.sources]
    leads = [_lead(choice.scores.tolist(), choice.index, alone=5.0) for choice in call.filled.choices]
    return {
        "required": float(len(required)),
        "optional": float(len(plan.arguments.keys() - required)),
        "missing": float(len(plan.missing)),
        "free": float(len(plan.arguments.keys() & free)),
        "sure": math.prod(sure.values()) * 0.3 ** len(plan.missing),
        "sure required": float(math.prod(sure[name] for name in sure if name in required)),
        "sure least": min(sure.values(), default=_NAN),
        "sure mean": sum(sure.values()) / len(sure) if sure else _NAN,
        "lead least": min(leads, default=_NAN),
        "varied": float(bool(call.varied)),
        "behind": call.behind,
        **{f"from {kind}": kinds.count(kind) / len(kinds) if kinds else _NAN for kind in _SOURCES},
    }


def _log(probability: float | None) -> float:
    return _NAN if probability is None else math.log(probability + 1e-9)


def _lead(scores: Sequence[float], index: int, *, alone: float) -> float:
    """How far a score is ahead of the highest other one; `alone` if there is no other."""
    others = [*scores[:index], *scores[index + 1 :]]
    return scores[index] - max(others) if others else alone


def _item_features(inputs: PlanningInput, filled: FilledCall) -> dict[str, float]:
    app, items = filled.tool.app, inputs.items
    ranks = sorted(filled.items)
    own = [index for index, item in enumerate(items) if item.app == app]
    return {
        "items": float(len(ranks)),
        "item rank": float(ranks[0]) if ranks else _NAN,
        "item share": float(inputs.relative_scores[ranks[0]]) if ranks else _NAN,
        "item own": sum(items[index].app == app for index in ranks) / len(ranks) if ranks else _NAN,
        "first own": float(bool(items) and items[0].app == app),
        "own rank": float(own[0]) if own else _FAR,
    }


def _word_features(words: WeightedWords, filled: FilledCall) -> dict[str, float]:
    inputs = words.inputs
    coverage = CallCoverage.build(inputs, filled)
    named = [index for index, count in enumerate(inputs.name_matches) if count]
    best = max(inputs.name_matches, default=0)
    meant = [index for index in named if inputs.name_matches[index] == best]
    used = frozenset(person for choice in filled.choices for person in choice.chosen.people)
    said_times = bool(inputs.times.days or inputs.times.clocks)
    uses_time = any(
        source.kind == "time" and source.words
        for argument in filled.plan.arguments.values()
        for source in argument.sources
    )
    return {
        "covered": words.share(coverage.everything),
        "covered said": words.share(coverage.said),
        "covered values": words.share(coverage.values),
        "covered tool": words.share(coverage.tool),
        "covered free": words.share(coverage.free),
        "left names": float(count_missing(words.names, coverage.everything)),
        "left said names": float(count_missing(words.names, coverage.said)),
        "left quotes": float(count_missing(words.quotes, coverage.said)),
        "left numbers": float(count_missing(words.numbers, coverage.values)),
        "left contacts": float(bool(meant) and not used & frozenset(meant)),
        "contacts used": float(len(used & frozenset(meant))),
        "left times": float(said_times and not uses_time),
    }
