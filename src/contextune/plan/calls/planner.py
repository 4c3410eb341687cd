"""`CallPlanner`: chooses the tool and its arguments together.

The calls of the likeliest tools are filled by the pointer planner, then ranked as wholes: a tool that
explains the whole request, with values that are sure, beats a tool that merely sounds like it. If the best
call is in doubt and the reader is installed, it reads the request with its items, and the calls are filled
and ranked again with what it says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from contextune.plan.calls.doubts.reasons import doubt
from contextune.plan.calls.events_of_day import with_events_of_day
from contextune.plan.calls.fill import MAX_TOOLS, MAX_VARIANTS, CallCandidate, fill_calls
from contextune.plan.calls.orders.actions import is_small_talk, is_unserved
from contextune.plan.calls.orders.people import settle_people
from contextune.plan.calls.orders.said_tools import is_open_tool, is_said_tool, says_whom
from contextune.plan.calls.other_half import with_other_half
from contextune.plan.calls.ranker import CallProbabilities, CallRanker, default_call_ranker
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.items.described_music import describes_music
from contextune.plan.pointer.people.late_arrivals import says_late
from contextune.plan.pointer.planner import PointerPlanner
from contextune.plan.pointer.scoring.scorer import ArgumentScorer, default_scorer
from contextune.plan.pointer.text.event_orders import orders_event
from contextune.plan.policy.readings import Readings
from contextune.plan.reader.model import RequestReader, default_reader
from contextune.types import Plan, Tool, ToolHit

SEARCHED_TOOLS = 10
"""Tools to retrieve for a request: the tool classifier may prefer one that the tool ranker puts behind."""
_MAX_READINGS = 5
_MIN_PROBABILITY = 0.01
SURE = 0.7
"""From this probability of the best call on, the reader is not asked: it takes longer than all else."""
_READ_AGAIN = 0.9
"""What is left of the probability of a call that the reader was asked about: some doubt stays."""
_SAID = 0.82
"""Least probability of a call of the tool that the words of the request name: writes are made from 0.8 on."""
_REACHED = 0.88
"""The same where the request says whom to reach, or what to cancel: such calls are made from 0.85 on."""
_OPEN = 0.55
"""Least probability of a call of a kind that the request says: it is proposed, not made."""
_UNSERVED = 0.9
"""Least probability that no tool serves small talk, and orders of what none of the tools does."""


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
    asks_reader: bool = True
    """Whether the reader is asked where the best call is in doubt, if it is installed."""

    @cached_property
    def _reader(self) -> RequestReader | None:
        """Not beside a ranker of one's own, whose probabilities it was not trained with."""
        return default_reader() if self.asks_reader and self.ranker is None else None

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
        # the reader knows whole requests: of a part it cannot tell what "there" means
        if in_doubt(ranked) and not inputs.is_part and (reader := self._reader) and reader.knows(tools):
            read = reader.read(inputs)
            calls, ranked = self.rank(reader.ranker, inputs, tools, fits, read)
            ranked = after_doubt(ranked)
        readings = ranked_readings([call.filled.plan for call in calls], ranked)
        return doubted_readings(readings, inputs, {hit.tool.id: hit.tool for hit in tools})

    def rank(
        self,
        ranker: CallRanker,
        inputs: PlanningInput,
        tools: Sequence[ToolHit],
        fits: float | None,
        read: Mapping[str, float] | None = None,
    ) -> tuple[list[CallCandidate], CallProbabilities]:
        """Fill the calls and rank them; `read` is what the reader says, for a ranker that knows it."""
        known = ranker.classify(inputs.vector, read)
        calls = fill_calls(
            self.pointer,
            inputs,
            tools,
            known.tools if known else None,
            read,
            max_tools=self.max_tools,
            max_variants=self.max_variants,
        )
        return calls, ranker.rank(inputs, tools, calls, fits, self._scorer.statistics.common, known)


def in_doubt(ranked: CallProbabilities) -> bool:
    """Whether the best call is not sure to be right."""
    return bool(len(ranked.scores)) and float(ranked.right[np.argmax(ranked.scores)]) < SURE


def after_doubt(ranked: CallProbabilities) -> CallProbabilities:
    """The probabilities of calls that were ranked again with the reader, because they were in doubt."""
    return replace(ranked, right=_READ_AGAIN * ranked.right)


def doubted_readings(readings: Readings, inputs: PlanningInput, tools: Mapping[str, Tool]) -> Readings:
    """The readings with lower probabilities where there is a reason to doubt; `tools` by id."""
    text = inputs.request.text
    if is_small_talk(text) or is_unserved(text, tools.values()):
        readings = _refused(readings)
    elif readings.plans and is_said_tool(tools[readings.plans[0].tool], inputs):
        least = _REACHED if says_whom(inputs) else _SAID
        readings = _raised(readings, least, lacking=orders_event(inputs))
    elif readings.plans and is_open_tool(tools[readings.plans[0].tool], inputs):
        lacking = orders_event(inputs) or describes_music(text) or says_late(text)
        readings = _raised(readings, _OPEN, lacking=lacking)
    plans = tuple(doubt(plan, tools[plan.tool], inputs) for plan in readings.plans)
    readings = with_other_half(replace(readings, plans=plans), inputs, tools)
    readings = with_events_of_day(readings, inputs, tools)
    return settle_people(readings, inputs, tools)


def _refused(readings: Readings) -> Readings:
    """The readings with a higher probability that no tool serves, and lower ones of their calls."""
    if readings.none >= _UNSERVED:
        return readings
    scale = (1 - _UNSERVED) / (1 - readings.none)
    plans = tuple(replace(plan, confidence=plan.confidence * scale) for plan in readings.plans)
    return Readings(plans, _UNSERVED)


def _raised(readings: Readings, least: float, *, lacking: bool = False) -> Readings:
    """The readings with a higher probability of the first one, unless it lacks an argument and may not."""
    first, *others = readings.plans
    if (first.missing and not lacking) or first.confidence >= least:
        return readings
    scale = (1 - least) / max(1 - least, readings.none + sum(plan.confidence for plan in others))
    plans = [replace(plan, confidence=plan.confidence * scale) for plan in others]
    return Readings((replace(first, confidence=least), *plans), readings.none * scale)


def ranked_readings(plans: Sequence[Plan], ranked: CallProbabilities) -> Readings:
    """The best-ranked call first, then the others that are not too improbable, with their probabilities."""
    order = [int(number) for number in np.argsort(-ranked.scores, kind="stable")]
    kept = order[:1] + [n for n in order[1:_MAX_READINGS] if ranked.right[n] >= _MIN_PROBABILITY]
    return Readings(
        tuple(replace(plans[number], confidence=float(ranked.right[number])) for number in kept), ranked.none
    )
