"""ContextRanker: LambdaMART in two passes, then reciprocal rank fusion, with explanations."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune._internal.assets import model_folder
from contextune.context.learning.changed_habits import follow_changed_habits
from contextune.context.signals import (
    FAMILIES,
    FAMILY_BY_FEATURE,
    FEATURE_NAMES,
    Scene,
    compute_features,
    recompute_links,
)
from contextune.context.signals.registry import Matrix
from contextune.context.signals.request_classifier import RequestClassifier
from contextune.rank import FusionWeights, ModelVersions, Ranker, read_card, write_card

Floats = NDArray[np.float64]
_MAX_REASONS = 3
_BASELINE_SIZE = 10
"""Contributions are relative to the mean of this many best candidates."""
_IS_STRENGTH = np.array([name.startswith("links.strength") for name in FEATURE_NAMES])
_NAMED = FEATURE_NAMES.index("named.words")
_HABIT = FEATURE_NAMES.index("usage.habit")
_FAMILY_INDEX = np.array([list(FAMILIES).index(FAMILY_BY_FEATURE[name]) for name in FEATURE_NAMES])


@dataclass(frozen=True, eq=False)
class ContextRanker:
    """The trained model: request classifier, two ranking passes, and fusion weights."""

    classifier: RequestClassifier
    first_pass: Ranker
    second_pass: Ranker
    """Scores again, with links to the candidates that the first pass ranked highest."""
    fusion: FusionWeights
    metadata: Mapping[str, Any]
    """What it was trained on; `embedder` is the name of the embedder."""

    def has_classifier_for(self, embedder: str) -> bool:
        """Whether the classifier was trained on vectors of this embedder; ranking works with any."""
        return self.metadata.get("embedder") == embedder

    def rank(self, scene: Scene) -> "RankedScene":
        """Score the candidates in two passes and fuse the ranked lists."""
        features = compute_features(scene)
        first_scores = self.first_pass.score(features)
        second_features = recompute_links(scene, features, first_scores)
        scores = self.second_pass.score(second_features)
        fused = fuse_scores(self.fusion, scene, features, scores)
        return RankedScene(self, scene, features, second_features, first_scores, scores, fused)

    def save(self, folder: Path) -> None:
        """Write the model to a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        self.classifier.save(folder / "reader.npz")
        self.first_pass.save(folder / "first.json.gz")
        self.second_pass.save(folder / "second.json.gz")
        card = {"fusion": {"weights": self.fusion.weights, "k": self.fusion.k}, "about": self.metadata}
        write_card(folder, card)

    @classmethod
    def load(cls, folder: Path) -> "ContextRanker":
        """Read a model from a folder; raises `RankerError` if it has other features than this version."""
        fusion, metadata = read_card(
            folder,
            lambda card: (FusionWeights(card["fusion"]["weights"], card["fusion"]["k"]), card["about"]),
            "ranker",
            "ranker",
        )
        first, second = (
            Ranker.load(folder / f"{name}.json.gz", FEATURE_NAMES) for name in ("first", "second")
        )
        return cls(RequestClassifier.load(folder / "reader.npz"), first, second, fusion, metadata)


@dataclass(frozen=True, eq=False)
class RankedScene:
    """The result for one scene: features and scores of both passes, and the fused score per candidate."""

    ranker: ContextRanker
    scene: Scene
    first_features: Matrix
    second_features: Matrix
    first_scores: Floats
    scores: Floats
    """The scores of the second pass."""
    fused: Floats

    @property
    def order(self) -> NDArray[np.intp]:
        """Numbers of the candidates, best first."""
        return np.lexsort((-self.scores, -self.fused))

    @property
    def said(self) -> Floats:
        """How much of the request's telling words each candidate contains."""
        return self.first_features[:, _NAMED].astype(np.float64)

    def reasons(self, numbers: NDArray[np.intp]) -> list[tuple[str, ...]]:
        """For each of the candidates, reasons from the families that contributed most to its score."""
        all_reasons: list[tuple[str, ...]] = []
        for number, contributions in zip(numbers.tolist(), self.family_contributions(numbers), strict=True):
            reasons: list[str] = []
            by_contribution = sorted(
                zip(contributions.tolist(), FAMILIES.values(), strict=True), key=lambda pair: -pair[0]
            )
            for contribution, family in by_contribution:
                if reasons and (contribution <= 0 or len(reasons) == _MAX_REASONS):
                    break
                if reason := family.explain(self.scene, number, self.first_scores):
                    reasons.append(reason)
            all_reasons.append(tuple(reasons))
        return all_reasons

    def family_contributions(self, numbers: NDArray[np.intp]) -> Floats:
        """Contribution of each family (columns) to the score of each of the candidates (rows).

        Relative to the mean of the best candidates: what they all have in common explains none of them.
        """
        if not len(numbers):
            return np.zeros((0, len(FAMILIES)))
        best = self.order[:_BASELINE_SIZE]
        needed = np.union1d(numbers, best)
        contributions = self._absolute_contributions(needed)
        baseline = contributions[np.searchsorted(needed, best)].mean(0)
        return contributions[np.searchsorted(needed, numbers)] - baseline

    def _absolute_contributions(self, numbers: NDArray[np.intp]) -> Floats:
        """Contribution of each family (columns) to the score of each of the candidates (rows).

        What the second pass attributes to `links.strength`, the score of the first pass, is distributed over
        the families in proportion to their contributions to that score.
        """
        first = _sum_by_family(self.ranker.first_pass.contributions(self.first_features[numbers]))
        second = self.ranker.second_pass.contributions(self.second_features[numbers])
        from_strength = second[:, _IS_STRENGTH].sum(1, keepdims=True)
        second[:, _IS_STRENGTH] = 0
        total = np.abs(first).sum(1, keepdims=True) + 1e-9
        return _sum_by_family(second) + np.abs(from_strength) * first / total


def _sum_by_family(contributions: Floats) -> Floats:
    families = np.zeros((len(contributions), len(FAMILIES)))
    np.add.at(families.T, _FAMILY_INDEX, contributions.T)
    return families


def fuse_scores(fusion: FusionWeights, scene: Scene, features: Matrix, scores: Floats) -> Floats:
    """The final scores: the lists fused by rank, with newer habits before those that they replace."""
    fused = fusion.fuse(fusion_lists(scene, scores))
    habit, said = features[:, (_HABIT, _NAMED)].T.astype(np.float64)
    return follow_changed_habits(fused, scores, habit, said, [item.app for item in scene.items])


def fusion_lists(scene: Scene, scores: Floats) -> Mapping[str, Floats]:
    """The lists to fuse: the learned scores, the rank within each application, and three similarities."""
    return {
        "ranker": scores,
        "store": -scene.rank(scores, within_app=True),
        "meaning": np.nan_to_num(scene.similarities.situated),
        "said": np.nan_to_num(scene.similarities.text),
        "words": scene.similarities.lexical,
    }


RankerSource = Callable[[], ContextRanker]
"""Returns the ranker to use for a request, which may change between requests."""


@cache
def default_ranker() -> ContextRanker:
    """The bundled ranker, loaded once."""
    return ContextRanker.load(model_folder("ranker"))


def load_ranker(folder: Path) -> ContextRanker:
    """The ranker in a folder, or the current version in a folder of versions (`contextune fleet train`)."""
    if not ModelVersions.is_at(folder):
        return ContextRanker.load(folder)
    version = ModelVersions(folder).path()
    return ContextRanker.load(version) if version else default_ranker()
