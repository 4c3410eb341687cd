"""`CallRanker`: ranks filled calls, and estimates the probability of each and that no tool serves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune._internal.assets import asset
from contextune._internal.model_files import model_folder
from contextune.plan.calls.classifier import ToolClassifier
from contextune.plan.calls.feature_names import NAMES, READ_NAMES
from contextune.plan.calls.features import Matrix, ToolProbabilities, call_features
from contextune.plan.calls.fill import CallCandidate
from contextune.plan.calls.statistics import CallStatistics
from contextune.plan.planning_input import PlanningInput, RequestVector
from contextune.plan.pointer.scoring.priors import CommonWords
from contextune.rank import Ranker, read_card, write_card
from contextune.types import ToolHit

Floats = NDArray[np.float64]
_OF_BEST = (
    *("fits", "needs context", "covered", "covered said", "covered tool", "covered values", "tool said"),
    *("left said names", "left numbers", "sure", "missing", "app likely", "item share", "pattern"),
)
_HIGHEST = (
    *("covered said", "covered tool", "tool said", "tool known", "tool known behind", "action known", "sure"),
)
_AMONG_OTHERS = ("score", "lead", "share")
RIGHT_INPUTS: tuple[str, ...] = (*NAMES, *_AMONG_OTHERS)
"""Inputs of the probability that a call is right: its features, and its score among the others."""
READ_RIGHT_INPUTS: tuple[str, ...] = (*READ_NAMES, *_AMONG_OTHERS)
"""The same if the reader has read the request."""
NONE_INPUTS: tuple[str, ...] = (
    "score",
    "lead",
    "length",
    *(f"first {name}" for name in _OF_BEST),
    *(f"highest {name}" for name in _HIGHEST),
)
"""Inputs of the probability that no tool serves: features of the first call, and the highest of any call."""
_COLUMN = {name: number for number, name in enumerate(NAMES)}
_NO_LEAD = 5.0
"""The lead of a call without rivals."""


@dataclass(frozen=True, eq=False)
class CallProbabilities:
    """For each call its score and probability, and the probability that no tool serves."""

    scores: Floats
    right: Floats
    none: float


@dataclass(frozen=True, eq=False)
class CallRanker:
    """LambdaMART over `NAMES`, a tool classifier, statistics of calls, and two models of probabilities."""

    ranker: Ranker
    classifier: ToolClassifier
    statistics: CallStatistics
    right: Ranker
    """Gives the probability that a call is right, if some tool serves the request."""
    none: Ranker
    """Gives the probability that no tool serves the request."""
    metadata: Mapping[str, Any]
    """What it was trained on; `embedder` is the name of the classifier's embedder."""

    def classify(
        self, vector: RequestVector | None, read: Mapping[str, float] | None = None
    ) -> ToolProbabilities | None:
        """What the tool classifier and the reader say; None for vectors of another embedder."""
        if vector is None or vector.embedder != self.metadata.get("embedder"):
            return None
        return ToolProbabilities.build(self.classifier, vector.values, read)

    def rank(
        self,
        inputs: PlanningInput,
        tools: Sequence[ToolHit],
        calls: Sequence[CallCandidate],
        fits: float | None,
        common: CommonWords,
        known: ToolProbabilities | None = None,
    ) -> CallProbabilities:
        """Score the calls, and estimate their probabilities."""
        matrix = call_features(inputs, tools, calls, fits, self.statistics, common, known, self.ranker.names)
        scores = self.ranker.score(matrix)
        return calibrated(matrix, scores, self.right, self.none)

    def save(self, folder: Path) -> None:
        """Write the model to a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        self.ranker.save(folder / "calls.json.gz")
        self.classifier.save(folder / "tools.npz")
        self.right.save(folder / "right.json.gz")
        self.none.save(folder / "none.json.gz")
        card = {"statistics": self.statistics.to_json(), "about": self.metadata}
        write_card(folder, card)

    @classmethod
    def load(cls, folder: Path, *, reads: bool = False) -> "CallRanker":
        """Read a model from a folder; raise `RankerError` if it does not fit this version's features.

        `reads`: whether it was trained with what the reader says.
        """
        statistics, metadata = read_card(
            folder,
            lambda card: (CallStatistics.from_json(card["statistics"]), card["about"]),
            "call ranker",
            "calls",
        )
        return cls(
            Ranker.load(folder / "calls.json.gz", READ_NAMES if reads else NAMES),
            ToolClassifier.load(folder / "tools.npz"),
            statistics,
            Ranker.load(folder / "right.json.gz", READ_RIGHT_INPUTS if reads else RIGHT_INPUTS),
            Ranker.load(folder / "none.json.gz", NONE_INPUTS),
            metadata,
        )


def calibrated(matrix: Matrix, scores: Floats, right: Ranker, none: Ranker) -> CallProbabilities:
    """Probabilities of the calls and of none, scaled down where they add up to more than 1."""
    if not len(matrix):
        return CallProbabilities(scores, np.empty(0), 1.0)
    unserved = float(none.score(none_inputs(matrix, scores)[None])[0])
    probabilities = right.score(right_inputs(matrix, scores)) * (1.0 - unserved)
    available, total = 1.0 - unserved, float(probabilities.sum())
    if total > available:
        # the first keeps its probability as far as possible: it is the best calibrated one
        best = int(np.argmax(scores))
        first = min(float(probabilities[best]), available)
        others = total - float(probabilities[best])
        probabilities = probabilities * ((available - first) / others if others > 0 else 0.0)
        probabilities[best] = first
    return CallProbabilities(scores, probabilities, unserved)


def right_inputs(matrix: Matrix, scores: Floats) -> Matrix:
    """The inputs of the `right` model, one row per call."""
    powers = np.exp(scores - scores.max())
    leads = [_lead(scores, number) for number in range(len(scores))]
    among_others = np.stack([scores, np.array(leads), np.log(powers / powers.sum())], axis=1)
    return np.hstack([matrix, among_others.astype(np.float32)])


def none_inputs(matrix: Matrix, scores: Floats) -> Matrix:
    """The inputs of the `none` model."""
    best = int(np.argmax(scores))
    highest = np.fmax.reduce(matrix)  # NaN only where a feature is missing for all
    values = [float(scores[best]), _lead(scores, best), float(np.log1p(matrix[best, _COLUMN["length"]]))]
    values += [float(matrix[best, _COLUMN[name]]) for name in _OF_BEST]
    values += [float(highest[_COLUMN[name]]) for name in _HIGHEST]
    return np.array(values, np.float32)


def _lead(scores: Floats, number: int) -> float:
    others = [*scores[:number].tolist(), *scores[number + 1 :].tolist()]
    return float(scores[number]) - max(others) if others else _NO_LEAD


@cache
def default_call_ranker() -> CallRanker | None:
    """The bundled ranker, loaded once; None in an installation without one."""
    return CallRanker.load(model_folder("calls")) if asset("calls").exists() else None
