"""The method `reading`: a ranker trained on whole stores, then the reading model over its best items.

The reading model's score is one feature of several: the last ranker joins it with the learned ranking, the
words, and the meaning.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contextune._internal.assets import model_folder
from contextune.context.build_scene import resolve_place
from contextune.context.enriched.habits import habit_phrases
from contextune.context.index import UserState
from contextune.context.ranker import RankedScene
from contextune.context.signals import FEATURE_NAMES
from contextune.rank import Ranker
from contextune.reading.model import ReadingModel, default_reading_model
from contextune.reading.texts import Names, item_text, request_text
from contextune.search import tokenize
from contextune.types import Request, local_time

READ_ITEMS = 10
"""Items that the model reads, best first."""
Floats = NDArray[np.float64]
_LEARNED = ("learned", "learned rank", "candidates")
WIDE_FEATURES: tuple[str, ...] = (*FEATURE_NAMES, *_LEARNED)
"""What the first ranker reads of all candidates."""
_RAW = ("named.words", "usage.habit")
CLOSE_FEATURES: tuple[str, ...] = (
    *("read", "read lead", "read rank", "read share", "read mean", "wide", "wide lead", "wide rank"),
    *(
        "learned lead",
        "learned rank",
        "situated",
        "situated rank",
        "text",
        "text rank",
        "words",
        "words rank",
    ),
    *("in store", "in store rank", "candidates", "length", "history", "mail", "event", "message", *_RAW),
)
"""What the last ranker reads of the best items."""
_KINDS = {"mail": "Mail", "event": "Calendar", "message": "Messages"}


@dataclass(frozen=True, eq=False)
class ReadingRankers:
    """The rankers before and after the reading model, and the one that says whether an item is needed."""

    wide: Ranker
    close: Ranker
    needed: Ranker

    @classmethod
    def load(cls, folder: Path) -> "ReadingRankers":
        """Read the rankers from a folder."""
        return cls(
            Ranker.load(folder / "wide.json.gz", WIDE_FEATURES),
            Ranker.load(folder / "close.json.gz", CLOSE_FEATURES),
            Ranker.load(folder / "needed.json.gz", CLOSE_FEATURES),
        )


@cache
def default_rankers() -> ReadingRankers:
    """The bundled rankers, loaded once."""
    return ReadingRankers.load(model_folder("reading_ranker"))


@dataclass(frozen=True, eq=False)
class ReadItems:
    """The candidates in their new order; those that were read come first."""

    order: list[int]
    probabilities: dict[int, float]
    """By candidate that was read: the probability that the request needs it."""


def read_items(
    request: Request,
    state: UserState,
    ranked: RankedScene,
    rankers: ReadingRankers,
    model: ReadingModel | None = None,
) -> ReadItems:
    """Rank the candidates of a scene again; the numbers are those of the scene's candidates."""
    wide_scores = rankers.wide.score(wide_matrix(ranked))
    order = np.argsort(-wide_scores, kind="stable")
    best = order[:READ_ITEMS]
    read = read_scores(request, state, ranked, best.tolist(), model or default_reading_model())
    matrix = close_matrix(request, ranked, wide_scores, best, read)
    close = rankers.close.score(matrix)
    needed = rankers.needed.score(matrix)
    places = np.argsort(-close, kind="stable")
    first = best[places].tolist()
    shares = {int(number): float(share) for number, share in zip(best, needed, strict=True)}
    return ReadItems([*first, *order[READ_ITEMS:].tolist()], shares)


def wide_matrix(ranked: RankedScene) -> NDArray[np.float32]:
    """The features of the first ranker, a row per candidate."""
    fused = ranked.fused
    learned = fused - fused.max(initial=0.0)
    size = np.full(len(fused), np.log1p(len(fused)))
    more = np.stack([learned, _rank(fused), size], axis=1)
    return np.hstack([ranked.first_features, more]).astype(np.float32)


def read_scores(
    request: Request, state: UserState, ranked: RankedScene, numbers: Sequence[int], model: ReadingModel
) -> NDArray[np.float32]:
    """Log odds of the reading model that the request needs each of the candidates."""
    user, scene = state.index.user, ranked.scene
    now = scene.now.replace(second=0, microsecond=0)
    names, words = Names(user), frozenset(tokenize(request.text))
    texts: list[str] = []
    for number in numbers:
        item = scene.items[number]
        uses = [use for use in state.enriched.uses_of(item.id) if local_time(use.time, user.zone) < now]
        texts.append(
            item_text(item, now, user, names, words, habit_phrases(item, user, uses) if uses else ())
        )
    return model.score_items(request_text(request, now, resolve_place(request, user)), texts)


def close_matrix(
    request: Request, ranked: RankedScene, wide: Floats, best: NDArray[np.intp], read: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The features of the last ranker, a row per item that was read."""
    scene = ranked.scene
    found = scene.similarities
    size = len(best)
    exponents = np.exp(read - read.max(initial=0.0))
    numbers: list[int] = best.tolist()
    apps = [scene.items[number].app for number in numbers]
    columns: dict[str, Floats | NDArray[np.float32]] = {
        "read": read,
        "read lead": read - read.max(initial=-99.0),
        "read rank": _rank(read),
        "read share": exponents / max(float(exponents.sum()), 1e-9),
        "read mean": read - (read.mean() if size else 0.0),
        "wide": wide[best],
        "wide lead": wide[best] - wide.max(initial=-99.0),
        "wide rank": np.arange(size, dtype=np.float64),
        "learned lead": ranked.fused[best] - ranked.fused.max(initial=0.0),
        "learned rank": _rank(ranked.fused)[best],
        "candidates": np.full(size, np.log1p(len(wide))),
        "length": np.full(size, float(len(tokenize(request.text)))),
        "history": np.full(size, float(bool(request.history))),
        **{name: np.array([float(app == kind) for app in apps]) for name, kind in _KINDS.items()},
        **{name: ranked.first_features[best, FEATURE_NAMES.index(name)] for name in _RAW},
    }
    for name, values in (
        ("situated", found.situated),
        ("text", found.text),
        ("words", found.lexical),
        ("in store", found.store_lexical),
    ):
        columns[name], columns[f"{name} rank"] = values[best], _rank(values)[best]
    return np.stack([np.asarray(columns[name], np.float32) for name in CLOSE_FEATURES], axis=1)


def _rank(values: NDArray[np.float64] | NDArray[np.float32]) -> Floats:
    """0 for the highest; missing values come last."""
    order = np.argsort(-np.nan_to_num(values, nan=-np.inf), kind="stable")
    ranks = np.empty(len(values))
    ranks[order] = np.arange(len(values))
    return ranks
