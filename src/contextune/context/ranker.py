"""The learned ranking of context: LambdaMART over all signals, in two passes, then reciprocal rank fusion."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune._internal.assets import asset
from contextune.context.signals import FAMILIES, FAMILY_OF, NAMES, Scene, features, recompute_links
from contextune.context.signals.registry import Matrix
from contextune.context.signals.request_classifier import RequestClassifier
from contextune.errors import RankerError
from contextune.rank import FusionWeights, Ranker

Floats = NDArray[np.float64]
_REASONS = 3
_TYPICAL = 10
_STRENGTH = np.array([name.startswith("links.strength") for name in NAMES])
_FAMILY = np.array([list(FAMILIES).index(FAMILY_OF[name]) for name in NAMES])


@dataclass(frozen=True, eq=False)
class ContextRanker:
    """What is learnt, together: how to read a request, how to score candidates, how to fuse the lists."""

    reader: RequestClassifier
    first: Ranker
    second: Ranker
    """Scores again, by what is tied to the candidates that the first put on top."""
    fusion: FusionWeights
    about: Mapping[str, Any]
    """What it was made from, among it the name of the embedder."""

    def reads(self, embedder: str) -> bool:
        """Whether the reader was made for vectors of this embedder; scoring works with any."""
        return self.about.get("embedder") == embedder

    def rank(self, scene: Scene) -> "RankedScene":
        """Score and fuse."""
        matrix = features(scene)
        strength = self.first.score(matrix)
        again = recompute_links(scene, matrix, strength)
        scores = self.second.score(again)
        return RankedScene(
            self, scene, matrix, again, strength, scores, self.fusion.fuse(lists(scene, scores))
        )

    def save(self, folder: Path) -> None:
        """Write it to a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        self.reader.save(folder / "reader.npz")
        self.first.save(folder / "first.json.gz")
        self.second.save(folder / "second.json.gz")
        card = {"fusion": {"weights": self.fusion.weights, "k": self.fusion.k}, "about": self.about}
        (folder / "card.json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "ContextRanker":
        """The ranker in a folder; refused with a reason where it does not fit this version's features."""
        try:
            card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
            fusion = FusionWeights(card["fusion"]["weights"], card["fusion"]["k"])
            about = card["about"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RankerError(
                f"no usable ranker in {str(folder)!r}: {error}; make one with contextune train ranker"
            ) from None
        first, second = (Ranker.load(folder / f"{name}.json.gz", NAMES) for name in ("first", "second"))
        return cls(RequestClassifier.load(folder / "reader.npz"), first, second, fusion, about)


@dataclass(frozen=True, eq=False)
class RankedScene:
    """The outcome for one scene: features, scores of both passes, and the fused score of each candidate."""

    by: ContextRanker
    scene: Scene
    matrix: Matrix
    again: Matrix
    """The features of the second pass."""
    strength: Floats
    """The scores of the first pass."""
    scores: Floats
    fused: Floats

    @property
    def order(self) -> NDArray[np.intp]:
        """Candidates by number, best first."""
        return np.lexsort((-self.scores, -self.fused))

    def reasons(self, numbers: NDArray[np.intp]) -> list[tuple[str, ...]]:
        """For some candidates, what put each where it is: the families of signals that weighed most."""
        found: list[tuple[str, ...]] = []
        for number, weights in zip(numbers.tolist(), self.above(numbers), strict=True):
            words: list[str] = []
            heaviest = sorted(
                zip(weights.tolist(), FAMILIES.values(), strict=True), key=lambda pair: -pair[0]
            )
            for weight, family in heaviest:
                if words and (weight <= 0 or len(words) == _REASONS):
                    break
                if why := family.why(self.scene, number, self.strength):
                    words.append(why)
            found.append(tuple(words))
        return found

    def above(self, numbers: NDArray[np.intp]) -> Floats:
        """What each family (column) added to the score of some candidates (rows), less what is typical.

        Typical is the mean of the best: what all of them have says nothing about any.
        """
        if not len(numbers):
            return np.zeros((0, len(FAMILIES)))
        best = self.order[:_TYPICAL]
        looked = np.union1d(numbers, best)
        weights = self._weights(looked)
        typical = weights[np.searchsorted(looked, best)].mean(0)
        return weights[np.searchsorted(looked, numbers)] - typical

    def _weights(self, numbers: NDArray[np.intp]) -> Floats:
        """What each family (column) added to the score of some candidates (rows).

        What the second pass owes to the strength found by the first is shared out as that was made up.
        """
        first = _by_family(self.by.first.contributions(self.matrix[numbers]))
        parts = self.by.second.contributions(self.again[numbers])
        owed = parts[:, _STRENGTH].sum(1, keepdims=True)
        parts[:, _STRENGTH] = 0
        total = np.abs(first).sum(1, keepdims=True) + 1e-9
        return _by_family(parts) + np.abs(owed) * first / total


def _by_family(parts: Floats) -> Floats:
    families = np.zeros((len(parts), len(FAMILIES)))
    np.add.at(families.T, _FAMILY, parts.T)
    return families


def lists(scene: Scene, scores: Floats) -> Mapping[str, Floats]:
    """What is fused: the learned ranking, each application's own, likeness of meaning, likeness of words."""
    return {
        "ranker": scores,
        "store": -scene.rank(scores, within=True),
        "meaning": scene.likeness.situated,
        "said": scene.likeness.bare,
        "words": scene.likeness.lexical,
    }


@cache
def default_ranker() -> ContextRanker:
    """The ranker in the package, loaded once."""
    return ContextRanker.load(asset("ranker"))
