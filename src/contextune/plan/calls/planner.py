"""`CallPlanner`: chooses the tool and its arguments together.

The calls of the likeliest tools are filled by the pointer planner, then ranked as wholes: a tool that
explains the whole request, with values that are sure, beats a tool that merely sounds like it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast

import numpy as np

from contextune.plan.calls.fill import MAX_TOOLS, MAX_VARIANTS, CallCandidate, fill_calls
from contextune.plan.calls.ranker import CallProbabilities, CallRanker, default_call_ranker
from contextune.plan.names import NameMatch
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.planner import PointerPlanner
from contextune.plan.pointer.scorer import ArgumentScorer, default_scorer
from contextune.plan.policy.readings import Readings
from contextune.types import Plan, ToolHit

SEARCHED_TOOLS = 10
"""Tools to retrieve for a request: the tool classifier may prefer one that the tool ranker puts behind."""
_MAX_READINGS = 5
_MIN_PROBABILITY = 0.01
_MAX_NAMESAKE = 0.65
"""Highest probability of a call for one of two contacts of the same name: no policy acts on it by default."""


@dataclass(frozen=True)
class CallPlanner:
    """Plans calls with a ranker of filled calls. Thread-safe.

    Without a trained ranker, the first tool is called, as `PointerPlanner` does.
    """

    pointer: PointerPlanner = field(default_factory=PointerPlanner)
    """Fills the arguments."""
    ranker: CallRanker | None = None
    """The bundled one by default."""
    max_tools: int = MAX_TOOLS
    max_variants: int = MAX_VARIANTS

    @cached_property
    def _ranker(self) -> CallRanker | None:
        return self.ranker or default_call_ranker()

    @property
    def searched_tools(self) -> int:
        """How many tools to retrieve for a request; 0 without a ranker, which makes the first one do."""
        return SEARCHED_TOOLS if self._ranker is not None else 0

    @cached_property
    def _scorer(self) -> ArgumentScorer:
        return self.pointer.scorer or default_scorer()

    def plan(self, inputs: PlanningInput, tools: Sequence[ToolHit], fits: float | None = None) -> Plan | None:
        """The best call, or None if no tool can be called; `fits`: probability that any tool serves."""
        return next(iter(self.readings(inputs, tools, fits).plans), None)

    def readings(
        self, inputs: PlanningInput, tools: Sequence[ToolHit], fits: float | None = None
    ) -> Readings:
        """The calls that the request may mean with their probabilities, best first."""
        if self._ranker is None:
            return Readings.of_plan(self.pointer.plan(inputs, tools, fits), fits)
        calls, ranked = self.rank(self._ranker, inputs, tools, fits)
        readings = ranked_readings([call.filled.plan for call in calls], ranked)
        return replace(readings, plans=tuple(_doubt_namesakes(plan, inputs) for plan in readings.plans))

    def rank(
        self, ranker: CallRanker, inputs: PlanningInput, tools: Sequence[ToolHit], fits: float | None
    ) -> tuple[list[CallCandidate], CallProbabilities]:
        """Fill the calls and rank them."""
        known = ranker.classify(inputs.vector)
        calls = fill_calls(
            self.pointer,
            inputs,
            tools,
            known.tools if known else None,
            max_tools=self.max_tools,
            max_variants=self.max_variants,
        )
        return calls, ranker.rank(inputs, tools, calls, fits, self._scorer.statistics.common, known)


def _doubt_namesakes(plan: Plan, inputs: PlanningInput) -> Plan:
    """The plan, less probable if it takes one of several contacts whom the request names equally well."""
    values = [
        part
        for value in plan.args.values()
        for part in (cast("list[object]", value) if isinstance(value, list) else [value])
    ]
    people = {index for value in values if (index := inputs.people.index(value)) is not None}
    if any(_has_namesake(index, inputs.names) for index in people):
        return replace(plan, confidence=min(plan.confidence, _MAX_NAMESAKE))
    return plan


def _has_namesake(index: int, names: Sequence[NameMatch]) -> bool:
    match = names[index]
    others = (other for number, other in enumerate(names) if number != index)
    return match.words > 0 and any(
        other.words >= match.words and other.overlaps(match) for other in others if other.words
    )


def ranked_readings(plans: Sequence[Plan], ranked: CallProbabilities) -> Readings:
    """The best-ranked call first, then the others that are not too improbable, with their probabilities."""
    order = [int(number) for number in np.argsort(-ranked.scores, kind="stable")]
    kept = order[:1] + [n for n in order[1:_MAX_READINGS] if ranked.right[n] >= _MIN_PROBABILITY]
    return Readings(
        tuple(replace(plans[number], confidence=float(ranked.right[number])) for number in kept), ranked.none
    )
