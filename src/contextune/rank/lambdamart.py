"""LambdaMART ranker (LightGBM's `lambdarank`): fit, score, explain, save and load."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from contextune._internal.assets import read_decompressed, write_compressed
from contextune.errors import RankerError
from contextune.rank.booster import Booster
from contextune.rank.lightgbm_import import import_lightgbm
from contextune.types import Progress

if TYPE_CHECKING:
    import lightgbm

Matrix = NDArray[np.float32]
Floats = NDArray[np.float64]

_FORMAT = 1


@dataclass(frozen=True)
class CandidateGroup:
    """Training candidates of one request: feature rows, relevance grades, and optional initial scores."""

    matrix: Matrix
    grades: NDArray[np.int64]
    start: Floats | None = None
    weight: float = 1.0
    """How much the request counts."""


@dataclass(frozen=True)
class RankerSettings:
    """Hyperparameters. Small trees and strong subsampling, as training data is scarce."""

    rounds: int = 280
    seeds: int = 2
    """Number of models of different seeds, whose scores are averaged."""
    rate: float = 0.05
    leaves: int = 12
    smallest_leaf: int = 40
    feature_share: float = 0.4
    row_share: float = 0.7
    l2: float = 5.0
    truncation: int = 8
    """Only pairs with one candidate among this many best are learnt from."""
    bins: int = 63
    seed: int = 0
    objective: Literal["lambdarank", "binary"] = "lambdarank"
    """`binary` treats every candidate by itself: grades are 0 or 1, and scores are probabilities."""

    def parameters(self, seed: int) -> dict[str, Any]:
        """As LightGBM parameters."""
        return {
            "objective": self.objective,
            "learning_rate": self.rate,
            "num_leaves": self.leaves,
            "min_data_in_leaf": self.smallest_leaf,
            "feature_fraction": self.feature_share,
            "bagging_fraction": self.row_share,
            "bagging_freq": 1,
            "lambda_l2": self.l2,
            "lambdarank_truncation_level": self.truncation,
            "max_bin": self.bins,
            "seed": self.seed + seed,
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": _THREADS,
            "verbosity": -1,
        }


_THREADS = 2
"""Fixed: the number of threads changes the order of sums, and with it the last bits of a model."""


@dataclass(frozen=True, eq=False)
class Ranker:
    """Scores candidates by named features."""

    names: tuple[str, ...]
    models: tuple[str, ...]
    """Boosters of different seeds, in LightGBM's text format."""
    about: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Model card: settings and training data."""
    _boosters: tuple[Booster, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        boosters = tuple(map(Booster, self.models))
        for booster in boosters:
            if booster.features != len(self.names):
                raise RankerError(
                    f"the model has {booster.features} features, not {len(self.names)}: train it again"
                )
        object.__setattr__(self, "_boosters", boosters)

    @classmethod
    def fit(
        cls,
        groups: Sequence[CandidateGroup],
        names: Sequence[str],
        settings: RankerSettings | None = None,
        *,
        before: "Ranker | None" = None,
        about: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> "Ranker":
        """Train a ranker, optionally continuing from `before`. Deterministic: same input, same bytes."""
        settings = settings or RankerSettings()
        if not groups:
            raise RankerError("no training data: give at least one group of candidates")
        if before and before.names != tuple(names):
            raise RankerError("cannot continue training: the ranker has other features; train from the start")
        models: list[str] = []
        for seed in range(settings.seeds):
            done = seed * settings.rounds
            callbacks = [_report(progress, done, settings.seeds * settings.rounds)] if progress else []
            booster: lightgbm.Booster = import_lightgbm().train(
                settings.parameters(seed),
                _dataset(groups, names),
                settings.rounds,
                init_model=before.booster(seed) if before else None,
                callbacks=callbacks,
            )
            models.append(booster.model_to_string())
        return cls(tuple(names), tuple(models), {"settings": asdict(settings), **(about or {})})

    def booster(self, seed: int) -> "lightgbm.Booster":
        """The booster from which training with this seed continues, as an object of LightGBM."""
        return import_lightgbm().Booster(model_str=self.models[seed % len(self.models)])

    def score(self, matrix: Matrix) -> Floats:
        """A score for each row, higher is better; comparable within one request only."""
        if not len(matrix):
            return np.empty(0)
        scores = [booster.predict(matrix) for booster in self._boosters]
        return scores[0] if len(scores) == 1 else np.mean(scores, axis=0)

    def contributions(self, matrix: Matrix) -> Floats:
        """Contribution of each feature (column) to the score of each row (TreeSHAP)."""
        return np.mean([booster.contributions(matrix)[:, :-1] for booster in self._boosters], axis=0)

    def save(self, file: Path) -> None:
        """Write the ranker to a file."""
        content = {"format": _FORMAT, "features": self.names, "about": self.about, "models": self.models}
        file.parent.mkdir(parents=True, exist_ok=True)
        write_compressed(file, json.dumps(content).encode())

    @classmethod
    def load(cls, file: Path, names: Sequence[str]) -> "Ranker":
        """Read a ranker from a file; raise `RankerError` unless it has exactly these features."""
        try:
            content = json.loads(read_decompressed(file))
            features, models, version = (
                tuple(content["features"]),
                tuple(content["models"]),
                content["format"],
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RankerError(f"{file}: not a ranker: {error}") from None
        if version != _FORMAT:
            raise RankerError(f"{file}: format {version!r}, but this version reads {_FORMAT}: train it again")
        if features != tuple(names):
            raise RankerError(f"{file}: the features differ: {_difference(features, names)}; train it again")
        return cls(features, models, content.get("about", {}))


def _dataset(groups: Sequence[CandidateGroup], names: Sequence[str]) -> "lightgbm.Dataset":
    starts = [group.start for group in groups]
    weights = [np.full(len(group.grades), group.weight) for group in groups]
    weighted = any(group.weight != 1 for group in groups)
    return import_lightgbm().Dataset(
        np.vstack([group.matrix for group in groups]),
        np.concatenate([group.grades for group in groups]),
        weight=np.concatenate(weights) if weighted else None,
        group=np.array([len(group.grades) for group in groups]),
        init_score=None if starts[0] is None else np.concatenate(cast("list[Floats]", starts)),
        # LightGBM refuses spaces
        feature_name=[name.replace(" ", "_") for name in names],
    )


def _report(progress: Progress, done: int, total: int) -> Callable[[Any], None]:
    def report(environment: Any) -> None:
        progress(done + environment.iteration - environment.begin_iteration + 1, total)

    return report


def _difference(actual: Sequence[str], expected: Sequence[str]) -> str:
    missing = [name for name in expected if name not in actual]
    unknown = [name for name in actual if name not in expected]
    parts = [
        f"{what} {', '.join(map(repr, names[:3]))}{' and others' if len(names) > 3 else ''}"
        for what, names in (("missing", missing), ("unknown", unknown))
        if names
    ]
    return "; ".join(parts) or "the order is different"
