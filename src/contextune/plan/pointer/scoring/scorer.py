"""`ArgumentScorer`: ranks the candidates for an argument, and estimates the confidence of the best."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import log1p
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune._internal.compression import read_decompressed, write_compressed
from contextune._internal.model_files import model_folder
from contextune.plan.pointer.scoring.feature_names import NAMES
from contextune.plan.pointer.scoring.features import Matrix
from contextune.plan.pointer.scoring.priors import ArgumentPriors, ArgumentStatistics, CommonWords
from contextune.plan.pointer.values.candidate import Candidate
from contextune.rank import LogisticRegression, Ranker, read_card, write_card

Floats = NDArray[np.float64]
CONFIDENCE_FEATURES = ("score", "lead", "prior", "share", "unused", "said", "count", "given", "left out")
"""Inputs of the confidence model."""
_COLUMNS = [NAMES.index(name) for name in ("prior", "share", "time unused", "said")]
_GIVEN = NAMES.index("given")


@dataclass(frozen=True, eq=False)
class ArgumentScorer:
    """A LambdaMART ranker of candidates, with a logistic model of its confidence."""

    ranker: Ranker
    statistics: ArgumentStatistics
    confidence: LogisticRegression
    metadata: Mapping[str, Any]
    """How it was trained."""

    def choose(self, candidates: Sequence[Candidate], matrix: Matrix) -> tuple[int, float]:
        """The index of the best candidate, and the probability that it is right."""
        scores = self.ranker.score(matrix)
        best = int(np.argmax(scores))
        return best, self.probability(candidates, matrix, scores, best)

    def probability(
        self, candidates: Sequence[Candidate], matrix: Matrix, scores: Floats, index: int
    ) -> float:
        """The probability that one of the candidates is right, given the scores of all."""
        inputs = confidence_features(candidates, matrix, scores, index)
        return float(self.confidence.probability(inputs[None])[0])

    def save(self, folder: Path) -> None:
        """Save to a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        self.ranker.save(folder / "arguments.json.gz")
        data = {"priors": self.statistics.priors.to_json(), "common": self.statistics.common.counts}
        content = json.dumps(data, ensure_ascii=False, sort_keys=True).encode()
        write_compressed(folder / "known.json.gz", content)
        card = {"doubts": self.confidence.to_json(), "about": self.metadata}
        write_card(folder, card)

    @classmethod
    def load(cls, folder: Path) -> "ArgumentScorer":
        """Load from a folder; raise `RankerError` if it does not fit this version's features."""

        def parse(card: Mapping[str, Any]) -> tuple[ArgumentStatistics, LogisticRegression, Any]:
            data = json.loads(read_decompressed(folder / "known.json.gz"))
            statistics = ArgumentStatistics(
                ArgumentPriors.from_json(data["priors"]), CommonWords(data["common"])
            )
            confidence = LogisticRegression.from_json(card["doubts"], CONFIDENCE_FEATURES)
            return statistics, confidence, card["about"]

        statistics, confidence, metadata = read_card(folder, parse, "planner", "plan")
        return cls(Ranker.load(folder / "arguments.json.gz", NAMES), statistics, confidence, metadata)


def confidence_features(candidates: Sequence[Candidate], matrix: Matrix, scores: Floats, best: int) -> Floats:
    """The inputs of the confidence model for one choice."""
    value = candidates[best].value
    others = [
        score
        for candidate, score in zip(candidates, scores.tolist(), strict=True)
        if candidate.value != value
    ]
    lead = float(scores[best]) - max(others, default=float(scores[best]) - 5.0)
    same = len(candidates) - len(others)
    plain = matrix[best, _COLUMNS].astype(np.float64).tolist()
    return np.array(
        [
            float(scores[best]),
            lead,
            *plain,
            log1p(same),
            float(matrix[best, _GIVEN]),
            candidates[best].is_omitted,
        ],
        np.float64,
    )


@cache
def default_scorer() -> ArgumentScorer:
    """The bundled scorer, loaded once."""
    return ArgumentScorer.load(model_folder("planner"))
