"""The features of a (request, tool) pair that the tool ranker scores."""

import math
from collections.abc import Iterable, Mapping
from copy import copy
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from contextune.search import RRF_K, rank_by_score
from contextune.tools.index import ToolIndex
from contextune.tools.query import Floats, PastCalls, ToolQuery
from contextune.tools.tool_text import FIELDS

Matrix = NDArray[np.float32]
Positions = NDArray[np.intp]
_HALF_LIFE_DAYS = 30.0
_NEVER_DAYS = 36_500.0
_EXAMPLE_PENALTY, _IMPLICIT_PENALTY = 0.05, 0.2
"""Subtracted from an example's similarity: always, as short texts resemble many texts; and in proportion
to how implicit the request is, as examples are explicit."""
_SAME_REQUEST = 0.6
"""Similarity from which two requests count as paraphrases."""


def _spread(name: str, about: str) -> dict[str, str]:
    return {
        name: about,
        f"{name} rank": f"how many candidates score higher: {about}",
        f"{name} behind best": f"difference to the best candidate: {about}",
        f"{name} rank in app": f"how many candidates of the same application score higher: {about}",
    }


FEATURES: Mapping[str, str] = {
    **_spread("meaning", "cosine similarity of the request and the tool, or one of its examples"),
    "meaning score": "the same, in standard deviations above the candidates' mean",
    "meaning in catalogue": "the same, in standard deviations above the catalogue's mean",
    **_spread("words", "BM25T over name, description and parameters"),
    **{f"words in {field}": f"BM25T over the {field} alone" for field in FIELDS},
    "words share": "BM25T over name, description and parameters, as a share of the request's rarity",
    "hybrid": "reciprocal rank fusion of meaning and words among the candidates, 1 if first by both",
    "hybrid rank": "how many candidates are ahead by that fusion",
    "part meaning": "highest cosine similarity of the tool and a part of a long request",
    "part meaning behind best": "difference to the best candidate for that part, for its best part",
    "part rank": "how many candidates are nearer to a part, for its best part",
    "part hybrid rank": "how many candidates are ahead by fusion for a part, for its best part",
    "parts": "number of parts of a long request",
    "name said": "share of the name's words that are in the request",
    "said in name": "share of the request's words that are in the name",
    "named": "1 if the request contains the whole name",
    "app said": "share of the words of the application's or server's name that are in the request",
    "app best": "highest similarity in the application, minus the highest of all",
    "app best three": "mean of the three highest similarities in the application, minus the highest of all",
    "app tools": "number of tools of the application, log",
    "app likely": "probability, from the text alone, that the request concerns the application",
    **_spread("in context", "cosine similarity of the tool and the request with its context items"),
    "item": "cosine similarity of the tool and the first context item",
    "items": "highest cosine similarity of the tool and a context item",
    "item app": "share of the context that belongs to the tool's application",
    "item app first": "1 if the first context item belongs to the tool's application",
    "item app lead": "the same share, minus the largest share of an application",
    "past": "similarity of the nearest past request that the tool was right for",
    "past rank": "how many candidates were right for a nearer past request",
    "past wrong": "similarity of the nearest past request that the tool was wrong for",
    "past near": "number of paraphrases that the tool was right for, log",
    "past often": "how often the tool was right, decayed by age, log",
    "past share": "its share of all calls that were right",
    "past success": "share of its judged calls that were right",
    "past days": "days since it was last right, negative log",
    "length": "number of words of the request",
    "described": "number of words of the tool's description, log",
    "catalogue": "number of tools in the catalogue, log",
}
FEATURE_NAMES: tuple[str, ...] = tuple(FEATURES)


def feature_matrix(index: ToolIndex, query: ToolQuery, positions: Positions) -> Matrix:
    """One row per candidate, one column per name in `FEATURE_NAMES`; NaN where a feature does not apply."""
    return ToolScene(index, query, positions).matrix()


class ToolScene:
    """A query and its candidates, as the feature functions read them."""

    def __init__(self, index: ToolIndex, query: ToolQuery, positions: Positions) -> None:
        self.index, self.query, self.positions = index, query, positions
        self.tokens = query.tokens
        self.vectors = index.vectors[positions]
        self.described: Floats = (self.vectors @ query.vector).astype(np.float64)
        """Similarity to the descriptions."""
        self.meaning = self.described
        examples = index.example_similarities(query.vector)
        if examples is not None:
            penalty = _EXAMPLE_PENALTY + _IMPLICIT_PENALTY * query.needs_context
            self.meaning = np.maximum(self.described, examples[positions] - penalty)
        self.numbers = list(map(int, positions))
        self.app = index.app[positions]
        self.apps = [index.apps[app] for app in map(int, self.app)]
        self.same_app = self.app[:, None] == self.app[None]
        self.lexical = {
            name: field.scores_for(query.tokens, positions) for name, field in index.fields.items()
        }

    @cached_property
    def word_shares(self) -> Floats:
        """What words add to the fusion of meaning and words."""
        return _word_shares(self.lexical["all"])

    @cached_property
    def similarity_spread(self) -> tuple[float, float]:
        """Mean and standard deviation of similarities in the catalogue."""
        return self.index.similarity_spread(self.query.vector)

    def matrix(self) -> Matrix:
        """One row per candidate, one column per name in `FEATURE_NAMES`."""
        if not len(self.positions):
            return np.empty((0, len(FEATURE_NAMES)), np.float32)
        columns = {
            **_meaning_features(self),
            **_text_features(self),
            **_part_features(self),
            **_app_features(self),
            **_context_features(self),
            **_past_features(self),
        }
        return np.ascontiguousarray(np.array([columns[name] for name in FEATURE_NAMES], np.float32).T)

    def matrix_without_examples(self, matrix: Matrix) -> Matrix:
        """The given matrix of this scene as it is without the vectors of example requests."""
        scene = copy(self)
        scene.meaning = self.described
        changed = matrix.copy()
        for name, values in _meaning_features(scene).items():
            changed[:, FEATURE_NAMES.index(name)] = values
        return changed

    def constant(self, value: float) -> Floats:
        return np.full(len(self.positions), value, np.float64)

    def rank(self, values: Floats) -> Floats:
        return (values[None] > values[:, None]).sum(1).astype(np.float64)

    def spread(self, name: str, values: Floats) -> dict[str, Floats]:
        higher = values[None] > values[:, None]
        return {
            name: values,
            f"{name} rank": higher.sum(1).astype(np.float64),
            f"{name} behind best": values - values.max(initial=0.0),
            f"{name} rank in app": (higher & self.same_app).sum(1).astype(np.float64),
        }


def _meaning_features(scene: ToolScene) -> dict[str, Floats]:
    """The features that depend on similarity to the description or to an example."""
    meaning = scene.meaning
    mean, deviation = scene.similarity_spread
    hybrid = _fuse(meaning, scene.word_shares)
    within_app = np.where(scene.same_app, meaning[None], -np.inf)
    best = within_app.max(1)
    three = np.sort(within_app, axis=1)[:, ::-1][:, :3]
    is_tool = ~np.isinf(three)
    best_three = np.where(is_tool, three, 0.0).sum(1) / is_tool.sum(1)
    return {
        **scene.spread("meaning", meaning),
        "meaning score": (meaning - meaning.mean()) / (meaning.std() + 1e-6),
        "meaning in catalogue": (meaning - mean) / deviation,
        "hybrid": hybrid,
        "hybrid rank": scene.rank(hybrid),
        "app best": best - best.max(initial=-1.0),
        "app best three": best_three - best_three.max(initial=-1.0),
    }


def _text_features(scene: ToolScene) -> dict[str, Floats]:
    index, tokens = scene.index, scene.tokens
    vocabulary = frozenset(tokens)
    lexical = scene.lexical
    names = [frozenset(index.name_words[position]) for position in scene.numbers]
    shared = np.array([len(name & vocabulary) for name in names], np.float64)
    return {
        **scene.spread("words", lexical["all"]),
        "words share": lexical["all"] / max(1.0, request_rarity(index, tokens)),
        **{f"words in {field}": lexical[field] for field in FIELDS},
        "name said": shared / np.array([max(1, len(name)) for name in names]),
        "said in name": shared / max(1, len(vocabulary)),
        "named": np.array([index.name(number) in scene.query.spans for number in scene.numbers], np.float64),
        "length": scene.constant(len(tokens)),
        "described": np.log1p(index.lengths[scene.positions]),
        "catalogue": scene.constant(float(np.log1p(index.size))),
    }


def request_rarity(index: ToolIndex, tokens: Iterable[str]) -> float:
    """Sum of the inverse document frequencies of a request's distinct words in this catalogue."""
    lexical = index.fields["all"]
    return sum(
        math.log((len(lexical) + 1) / max(1, lexical.document_frequency(word))) for word in frozenset(tokens)
    )


def _fuse(meaning: Floats, word_shares: Floats) -> Floats:
    """Reciprocal rank fusion, scaled to at most 1."""
    return (1 / (RRF_K + rank_by_score(meaning)) + word_shares) * (RRF_K + 1) / 2


def _word_shares(words: Floats) -> Floats:
    """The shares of the lexical scores in the fusion; a tool that shares no word gets none."""
    return np.where(words > 0, 1 / (RRF_K + rank_by_score(words)), 0.0)


def _part_features(scene: ToolScene) -> dict[str, Floats]:
    """How well each tool serves its best part; a divided request is served by several tools."""
    parts = scene.query.parts
    if not parts:
        empty = scene.constant(np.nan)
        return {name: empty for name in FEATURES if name.startswith("part")}
    meaning = np.stack([(scene.vectors @ part.vector).astype(np.float64) for part in parts])
    lexical = scene.index.fields["all"]
    fused = [
        _fuse(row, _word_shares(lexical.scores_for(part.tokens, scene.positions)))
        for row, part in zip(meaning, parts, strict=True)
    ]
    return {
        "part meaning": meaning.max(0),
        "part meaning behind best": (meaning - meaning.max(1, keepdims=True)).max(0),
        "part rank": np.min([scene.rank(row) for row in meaning], axis=0),
        "part hybrid rank": np.min([scene.rank(row) for row in fused], axis=0),
        "parts": scene.constant(len(parts)),
    }


def _app_features(scene: ToolScene) -> dict[str, Floats]:
    index, vocabulary = scene.index, frozenset(scene.tokens)
    app_words = [index.app_words[app] for app in map(int, scene.app)]
    return {
        "app said": np.array([len(vocabulary & name) / max(1, len(name)) for name in app_words], np.float64),
        "app tools": np.log1p(index.app_sizes[scene.app]),
        "app likely": np.array(
            [scene.query.app_probabilities.get(app, np.nan) for app in scene.apps], np.float64
        ),
    }


def _context_features(scene: ToolScene) -> dict[str, Floats]:
    context = scene.query.context
    if context is None or not len(context.items):
        empty = scene.constant(np.nan)
        return {name: empty for name in FEATURES if name.startswith(("in context", "item"))}
    item_similarity = (scene.vectors @ context.vectors.T).astype(np.float64)
    app_weights = context.apps
    app_share = np.array([app_weights.get(app, 0.0) for app in scene.apps], np.float64)
    return {
        **scene.spread("in context", (scene.vectors @ scene.query.context_vector).astype(np.float64)),
        "item": item_similarity[:, 0],
        "items": item_similarity.max(1),
        "item app": app_share,
        "item app first": np.array([app == context.items[0].app for app in scene.apps], np.float64),
        "item app lead": app_share - max(app_weights.values()),
    }


def _past_features(scene: ToolScene) -> dict[str, Floats]:
    past = scene.query.past_calls
    if past is None or not len(past):
        empty = scene.constant(np.nan)
        return {name: empty for name in FEATURES if name.startswith("past")}
    similarity = (past.vectors @ scene.query.vector).astype(np.float64)
    recency = 0.5 ** (past.age / _HALF_LIFE_DAYS)
    right = _CallCounts(scene, past, past.ok)
    wrong = _CallCounts(scene, past, ~past.ok)
    nearest = right.highest(similarity)
    often = right.total(recency)
    judged = right.total(np.ones(len(past))) + wrong.total(np.ones(len(past)))
    with np.errstate(invalid="ignore", divide="ignore"):
        success = right.total(np.ones(len(past))) / judged
    return {
        "past": nearest,
        "past rank": scene.rank(nearest),
        "past wrong": wrong.highest(similarity),
        "past near": np.log1p(right.total((similarity >= _SAME_REQUEST).astype(np.float64))),
        "past often": np.log1p(often),
        "past share": often / max(1e-9, float(recency[past.ok].sum())),
        "past success": success,
        "past days": -np.log1p(-right.highest(-past.age, default=-_NEVER_DAYS)),
    }


class _CallCounts:
    """Sums and maxima over each candidate's past calls."""

    def __init__(self, scene: ToolScene, past: PastCalls, selected: NDArray[np.bool_]) -> None:
        row_of = {position: row for row, position in enumerate(scene.numbers)}
        self._rows = np.array([row_of.get(int(position), -1) for position in past.tool], np.int64)
        self._selected = selected & (self._rows >= 0)
        self._count = len(scene.positions)

    def total(self, weights: Floats) -> Floats:
        return np.bincount(self._rows[self._selected], weights[self._selected], self._count).astype(
            np.float64
        )

    def highest(self, values: Floats, default: float = 0.0) -> Floats:
        maxima = np.full(self._count, default)
        np.maximum.at(maxima, self._rows[self._selected], values[self._selected])
        return maxima
