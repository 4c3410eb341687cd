"""`ReadingPlanner`: plans calls of any catalogue by reading the request beside its tools and values.

The tools come in the order of the reading model. The arguments of the likeliest are filled by the same model
and a ranker of values. A ranker of whole calls gives each the probability that it is the one that was meant.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from contextune._internal.assets import model_folder
from contextune.context.build_scene import resolve_place
from contextune.embed import Embedder
from contextune.plan.arguments.reader import ReadCall, fill_calls
from contextune.plan.planning_input import PlanningInput
from contextune.plan.policy.cost import COSTS, call_cost
from contextune.plan.policy.policy import RIVAL, Policy
from contextune.plan.policy.readings import Readings
from contextune.rank import Ranker
from contextune.reading.model import ReadingModel, default_reading_model
from contextune.reading.texts import request_text
from contextune.tools.profiles.profile import PROFILE_FEATURES, profile_row
from contextune.types import Plan, ToolHit

Matrix = NDArray[np.float32]
READING_POLICY = Policy(act={"read": 0.6, "write": 0.7})
"""The default policy beside the reading planner, calibrated on worlds that it has not seen.

Chosen on light worlds: a wrong call is made for 2 in 100 requests with own tools, for 5 with bundled ones.
"""
MAX_TOOLS = 3
"""Tools whose arguments are read."""
READ_TOOLS = 12
"""Tools that the planner wants to choose from."""
CALL_FEATURES: tuple[str, ...] = (
    *("tool_probability", "tool_rank", "tool_lead", "tool_margin", "fits", "fit", "fit_lead"),
    *("leaves", "required", "given", "missing", "log_probability", "least", "least_given", "least_omitted"),
    *("least_required", "least_margin", "people", "least_person", "times", "least_time", "titles"),
    *("least_title", "spans", "least_span", "words", "has_history", "item_score", "item_lead"),
    *("cost", "chosen_share", "log_rank", "unused_people", "unused_times"),
    *PROFILE_FEATURES,
)


@dataclass(frozen=True)
class ReadingPlanner:
    """Plans calls with the reading model. Thread-safe."""

    max_tools: int = MAX_TOOLS
    model: ReadingModel | None = None
    """The bundled one by default."""
    values: Ranker | None = None
    """Chooses the values of arguments; the bundled one by default."""
    embedder: Embedder | None = None
    """Compares arguments with what their values are; the bundled one by default."""

    @property
    def searched_tools(self) -> int:
        """How many tools to retrieve for a request."""
        return READ_TOOLS

    @cached_property
    def _ranker(self) -> Ranker:
        return Ranker.load(model_folder("reading_calls") / "right.json.gz", CALL_FEATURES)

    def plan(self, inputs: PlanningInput, tools: Sequence[ToolHit], fits: float | None = None) -> Plan | None:
        """The best call, or None if no tool can be called; `fits`: probability that any tool serves."""
        return next(iter(self.readings(inputs, tools, fits).plans), None)

    def readings(
        self, inputs: PlanningInput, tools: Sequence[ToolHit], fits: float | None = None
    ) -> Readings:
        """The calls that the request may mean with their probabilities, best first."""
        calls, features = self.read(inputs, tools, fits)
        if not calls:
            return Readings()
        right = self._ranker.score(features).tolist()
        pairs: list[tuple[Plan, float]] = []
        for call, share in zip(calls, right, strict=True):
            pairs.append((call.plan(0.0), share))
            # who of two namesakes is meant is asked, however unlike their probabilities are
            pairs += [
                (other.plan(0.0), share * max(RIVAL, min(1, ratio))) for other, ratio in call.namesakes()
            ]
        return Readings.from_pairs(pairs, 1 - (1.0 if fits is None else fits))

    def read(
        self, inputs: PlanningInput, tools: Sequence[ToolHit], fits: float | None
    ) -> tuple[list[ReadCall], Matrix]:
        """The filled calls of the likeliest tools, and their features."""
        likely = tools[: self.max_tools]
        if not likely:
            return [], np.empty((0, len(CALL_FEATURES)), np.float32)
        place = resolve_place(inputs.request, inputs.user)
        text = request_text(inputs.request, inputs.now, place)
        calls = fill_calls(
            self.model or default_reading_model(),
            inputs,
            text,
            [hit.tool for hit in likely],
            ranker=self.values,
            embedder=self.embedder,
        )
        return calls, call_features(inputs, calls, tools, fits)


def call_features(
    inputs: PlanningInput, calls: Sequence[ReadCall], tools: Sequence[ToolHit], fits: float | None
) -> Matrix:
    """One row per call, one column per name in `CALL_FEATURES`."""
    scores = np.array([hit.score for hit in tools], np.float64)
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()
    best_fit = max(call.fit for call in calls)
    items = [hit.score for hit in inputs.read_hits[:2]]
    share = inputs.read_hits[0].probability if inputs.read_hits else None
    people = float(sum(match.words > 0 for match in inputs.names))
    times = float(len(inputs.time_phrases))
    rows: list[list[float]] = []
    for rank, call in enumerate(calls):
        others = np.delete(scores, rank)

        def least(group: str, call: ReadCall = call) -> float:
            return min((leaf.probability for leaf in call.leaves if leaf.group == group), default=np.nan)

        given = [leaf for leaf in call.leaves if leaf.is_given]
        omitted = [leaf for leaf in call.leaves if not leaf.is_given]
        required = [leaf for leaf in call.leaves if leaf.leaf.required]
        groups = [leaf.group for leaf in given]
        row = [
            float(shares[rank]),
            rank,
            float(scores[rank] - scores.max()),
            float(scores[rank] - others.max()) if len(others) else 9.0,
            np.nan if fits is None else fits,
            call.fit,
            call.fit - best_fit,
            len(call.leaves),
            len(required),
            len(given),
            len(call.missing),
            call.log_probability,
            min((leaf.probability for leaf in call.leaves), default=np.nan),
            min((leaf.probability for leaf in given), default=np.nan),
            min((leaf.probability for leaf in omitted), default=np.nan),
            min((leaf.probability for leaf in required), default=np.nan),
            min((leaf.probability - leaf.second for leaf in call.leaves), default=np.nan),
            groups.count("person"),
            least("person"),
            groups.count("time"),
            least("time"),
            groups.count("title"),
            least("title"),
            groups.count("said"),
            least("said"),
            len(inputs.tokens),
            float(bool(inputs.request.history)),
            items[0] if items else np.nan,
            items[0] - items[1] if len(items) > 1 else np.nan,
            float(COSTS.index(call_cost(call.tool))),
            np.nan if share is None else share,
            float(np.log1p(len(tools))),
            people - groups.count("person"),
            times - groups.count("time"),
            *profile_row(call.tool),
        ]
        rows.append(row)
    return np.array(rows, np.float32)
