"""Training examples of the call ranker: the filled calls of a request, their features and grades."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextune.plan.calls.classifier import ToolClassifier
from contextune.plan.calls.feature_names import NAMES, READ_NAMES
from contextune.plan.calls.features import Matrix, ToolProbabilities, call_features
from contextune.plan.calls.fill import CallCandidate, fill_calls
from contextune.plan.calls.statistics import CallStatistics
from contextune.plan.judge import PlanVerdict, judge_plan
from contextune.plan.pointer.planner import PointerPlanner
from contextune.plan.pointer.scoring.scorer import default_scorer
from contextune.types import Plan, Tool
from contextune_lab.train.rankers.calls.requests import CallRequest

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class FoldModels:
    """Models that have not seen a fold, which fill and describe the calls of its requests."""

    planner: PointerPlanner
    classifier: ToolClassifier
    statistics: CallStatistics


@dataclass(frozen=True, eq=False)
class CallExample:
    """The filled calls of a request, one row each."""

    name: str
    group: str
    fold: int
    kind: str
    source: str
    measured: bool
    matrix: Matrix
    tool: Flags
    """Whether the tool is right."""
    ast: Flags
    exact: Flags
    served: bool
    """Whether a tool of the catalogue serves the request."""
    judged: bool
    """Whether the right arguments are known."""

    @property
    def grades(self) -> NDArray[np.int64]:
        """0 for the wrong tool, 1 for the right one, 2 if the call matches, 3 if it is exactly right."""
        return self.tool.astype(np.int64) + self.ast + self.exact


@dataclass(frozen=True, eq=False)
class FilledRequest:
    """An example with its calls, for reports."""

    example: CallExample
    request: CallRequest
    plans: tuple[Plan, ...]


def call_example(
    request: CallRequest,
    models: FoldModels,
    tools: Mapping[str, Tool],
    read: Mapping[str, float] | None = None,
) -> FilledRequest:
    """Fill the calls of a request as the planner does, compute their features and judge them.

    `read` is what a reader says that has not seen the request.
    """
    vector = request.inputs.vector
    known = None if vector is None else ToolProbabilities.build(models.classifier, vector.values, read)
    calls = fill_calls(models.planner, request.inputs, request.tools, known.tools if known else None, read)
    scorer = models.planner.scorer or default_scorer()
    matrix = call_features(
        request.inputs,
        request.tools,
        calls,
        request.fits,
        models.statistics,
        scorer.statistics.common,
        known,
        NAMES if read is None else READ_NAMES,
    )
    verdicts = [_judge(call, request, tools) for call in calls]
    example = CallExample(
        request.name,
        request.group,
        request.fold,
        request.kind,
        request.source,
        request.measured,
        matrix,
        np.array([call.filled.tool.name == request.tool for call in calls], bool),
        np.array([verdict is not None and verdict.ast for verdict in verdicts], bool),
        np.array([verdict is not None and verdict.exact for verdict in verdicts], bool),
        request.tool is not None,
        request.expected is not None or request.tool is None,
    )
    return FilledRequest(example, request, tuple(call.filled.plan for call in calls))


def _judge(call: CallCandidate, request: CallRequest, tools: Mapping[str, Tool]) -> PlanVerdict | None:
    if request.expected is None:
        return None
    return judge_plan(call.filled.plan, request.expected, tools, request.inputs.people)


def call_statistics(requests: Iterable[CallRequest], *excluded_folds: int) -> CallStatistics:
    """Statistics of the right calls of all folds but some."""
    return CallStatistics.from_calls(
        (request.expected.tool, request.expected.args)
        for request in requests
        if request.expected is not None and request.fold not in excluded_folds
    )
