"""LambdaMART (LightGBM's `lambdarank`): fit, score, explain, save, load."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from contextune._internal.compression import read_packed, write_packed
from contextune.errors import RankerError
from contextune.types import Progress

if TYPE_CHECKING:
    import lightgbm

Matrix = NDArray[np.float32]
Floats = NDArray[np.float64]

_FORMAT = 1


@dataclass(frozen=True)
class CandidateGroup:
    """The candidates of one request: a row each, how right each is, and where scores start from."""

    matrix: Matrix
    grades: NDArray[np.int64]
    start: Floats | None = None


@dataclass(frozen=True)
class RankerSettings:
    """What decides how a ranker comes out. Small trees and much left out: examples are few."""

    rounds: int = 280
    seeds: int = 2
    """Rankers of different seeds, whose scores are averaged."""
    rate: float = 0.05
    leaves: int = 12
    smallest_leaf: int = 40
    feature_share: float = 0.4
    row_share: float = 0.7
    l2: float = 5.0
    truncation: int = 8
    """Pairs are learnt from where one of the two is among this many best."""
    bins: int = 63
    seed: int = 0

    def parameters(self, seed: int) -> dict[str, Any]:
        """The same as LightGBM calls it."""
        return {
            "objective": "lambdarank",
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
"""Fixed, since the order of sums, and so the last bits of a model, hang on it."""


@dataclass(frozen=True, eq=False)
class Ranker:
    """Scores candidates by named features."""

    names: tuple[str, ...]
    models: tuple[str, ...]
    """Boosters of different seeds, as LightGBM writes them."""
    about: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What it was made from: the card."""
    _boosters: "tuple[lightgbm.Booster, ...]" = field(init=False, repr=False)

    def __post_init__(self) -> None:
        boosters = tuple(_library().Booster(model_str=model) for model in self.models)
        for booster in boosters:
            if booster.num_feature() != len(self.names):
                raise RankerError(
                    f"the model was made for {booster.num_feature()} features, not {len(self.names)}: "
                    "train it again"
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
        """Learn from groups; `before` is a ranker to go on from. Same groups, same settings, same bytes."""
        chosen = settings or RankerSettings()
        if not groups:
            raise RankerError("there is nothing to learn from: give at least one group of candidates")
        if before and before.names != tuple(names):
            raise RankerError("the ranker to continue from has other features: train from the start instead")
        models: list[str] = []
        for seed in range(chosen.seeds):
            done = seed * chosen.rounds
            told = [_tell(progress, done, chosen.seeds * chosen.rounds)] if progress else []
            booster: lightgbm.Booster = _library().train(
                chosen.parameters(seed),
                _dataset(groups, names),
                chosen.rounds,
                init_model=before.continued(seed) if before else None,
                callbacks=told,
            )
            models.append(booster.model_to_string())
        return cls(tuple(names), tuple(models), {"settings": asdict(chosen), **(about or {})})

    def continued(self, seed: int) -> "lightgbm.Booster":
        """The booster that one of this seed goes on from."""
        return self._boosters[seed % len(self._boosters)]

    def score(self, matrix: Matrix) -> Floats:
        """A number a row, higher is better; comparable within one request only."""
        if not len(matrix):
            return np.empty(0)
        found = [cast("Floats", booster.predict(matrix, num_threads=1)) for booster in self._boosters]
        return np.mean(found, axis=0)

    def contributions(self, matrix: Matrix) -> Floats:
        """What each feature (column) added to the score of each row, by TreeSHAP."""
        found = [
            cast("Floats", booster.predict(matrix, pred_contrib=True, num_threads=1))[:, :-1]
            for booster in self._boosters
        ]
        return np.mean(found, axis=0)

    def save(self, file: Path) -> None:
        """Write it to one file."""
        content = {"format": _FORMAT, "features": self.names, "about": self.about, "models": self.models}
        file.parent.mkdir(parents=True, exist_ok=True)
        write_packed(file, json.dumps(content).encode())

    @classmethod
    def load(cls, file: Path, names: Sequence[str]) -> "Ranker":
        """The ranker in a file; refused unless it was made for exactly these features."""
        try:
            content = json.loads(read_packed(file))
            features, models, version = (
                tuple(content["features"]),
                tuple(content["models"]),
                content["format"],
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RankerError(f"{file}: is no ranker: {error}") from None
        if version != _FORMAT:
            raise RankerError(f"{file}: has format {version!r}, this version reads {_FORMAT}: train it again")
        if features != tuple(names):
            raise RankerError(
                f"{file}: does not fit the features: {_difference(features, names)}; train it again"
            )
        return cls(features, models, content.get("about", {}))


def _library() -> Any:
    """LightGBM, imported when first needed: it brings along whatever else is installed that it could use."""
    import lightgbm

    return lightgbm


def _dataset(groups: Sequence[CandidateGroup], names: Sequence[str]) -> "lightgbm.Dataset":
    starts = [group.start for group in groups]
    return _library().Dataset(
        np.vstack([group.matrix for group in groups]),
        np.concatenate([group.grades for group in groups]),
        group=np.array([len(group.grades) for group in groups]),
        init_score=None if starts[0] is None else np.concatenate(cast("list[Floats]", starts)),
        # LightGBM takes no blanks
        feature_name=[name.replace(" ", "_") for name in names],
    )


def _tell(progress: Progress, done: int, total: int) -> Callable[[Any], None]:
    def told(environment: Any) -> None:
        progress(done + environment.iteration - environment.begin_iteration + 1, total)

    return told


def _difference(found: Sequence[str], wanted: Sequence[str]) -> str:
    missing = [name for name in wanted if name not in found]
    unknown = [name for name in found if name not in wanted]
    parts = [
        f"{what} {', '.join(map(repr, names[:3]))}{' and others' if len(names) > 3 else ''}"
        for what, names in (("it lacks", missing), ("it has the unknown", unknown))
        if names
    ]
    return "; ".join(parts) or "the same in another order"
