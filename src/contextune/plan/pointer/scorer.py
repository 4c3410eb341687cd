"""The learned part of the light planner: which candidate an argument is filled with, and how sure that is."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune._internal.assets import asset
from contextune._internal.compression import read_packed, write_packed
from contextune.errors import RankerError
from contextune.plan.pointer.candidates import Candidate
from contextune.plan.pointer.feature_names import NAMES
from contextune.plan.pointer.features import Matrix
from contextune.plan.pointer.priors import ArgumentPriors, ArgumentStatistics, CommonWords
from contextune.rank import LogisticRegression, Ranker

Floats = NDArray[np.float64]
DOUBTS = ("score", "lead", "prior", "share", "unused", "said", "count", "given", "left out")
"""What the probability that a choice is right is read from."""
_COLUMNS = [NAMES.index(name) for name in ("prior", "share", "time unused", "said")]
_GIVEN = NAMES.index("given")


@dataclass(frozen=True, eq=False)
class ArgumentScorer:
    """Ranks candidates for an argument."""

    scores: Ranker
    known: ArgumentStatistics
    doubts: LogisticRegression
    about: Mapping[str, Any]
    """What it was made from."""

    def choose(self, found: Sequence[Candidate], matrix: Matrix) -> tuple[int, float]:
        """The best candidate, by number, and the probability that it is right."""
        scores = self.scores.score(matrix)
        best = int(np.argmax(scores))
        inputs = doubt_inputs(found, matrix, scores, best)
        return best, float(self.doubts.probability(inputs[None])[0])

    def save(self, folder: Path) -> None:
        """Write it to a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        self.scores.save(folder / "arguments.json.gz")
        known = {"priors": self.known.priors.to_json(), "common": self.known.common.counts}
        written = json.dumps(known, ensure_ascii=False, sort_keys=True).encode()
        write_packed(folder / "known.json.gz", written)
        card = {"doubts": self.doubts.to_json(), "about": self.about}
        (folder / "card.json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "ArgumentScorer":
        """The scorer in a folder; refused with a reason where it does not fit this version's features."""
        try:
            card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
            found = json.loads(read_packed(folder / "known.json.gz"))
            known = ArgumentStatistics(
                ArgumentPriors.from_json(found["priors"]), CommonWords(found["common"])
            )
            doubts, about = LogisticRegression.from_json(card["doubts"], DOUBTS), card["about"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RankerError(
                f"no usable planner in {str(folder)!r}: {error}; make one with contextune train plan"
            ) from None
        return cls(Ranker.load(folder / "arguments.json.gz", NAMES), known, doubts, about)


def doubt_inputs(found: Sequence[Candidate], matrix: Matrix, scores: Floats, best: int) -> Floats:
    """One choice, as its probability is read from it."""
    others = [
        score for one, score in zip(found, scores.tolist(), strict=True) if one.value != found[best].value
    ]
    lead = float(scores[best]) - max(others, default=float(scores[best]) - 5.0)
    same = sum(one.value == found[best].value for one in found)
    plain = matrix[best, _COLUMNS].astype(np.float64).tolist()
    return np.array(
        [
            float(scores[best]),
            lead,
            *plain,
            np.log1p(same),
            float(matrix[best, _GIVEN]),
            found[best].left_out,
        ],
        np.float64,
    )


@cache
def default_scorer() -> ArgumentScorer:
    """The scorer in the package, loaded once."""
    return ArgumentScorer.load(asset("planner"))
