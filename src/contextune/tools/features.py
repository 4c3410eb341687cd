"""What the ranker of tools looks at: every feature of (request, tool) named and explained once."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from contextune.tools.index import ToolIndex
from contextune.tools.query import Floats, PastCalls, ToolQuery
from contextune.tools.tool_text import FIELDS

Matrix = NDArray[np.float32]
Places = NDArray[np.intp]
_MONTH = 30.0
_NEVER = 36_500.0
"""Days ago that stand for never."""
_SHORT, _LEFT_OUT = 0.05, 0.2
"""So much liker must an example be than a description, since short texts are
like much; and the second besides where the request leaves all out, as examples say all."""
_NEAR = 0.6
"""Requests of this likeness and more are taken for the same wish in other words."""


def _spread(name: str, about: str) -> dict[str, str]:
    return {
        name: about,
        f"{name} rank": f"how many candidates have more of it: {about}",
        f"{name} behind best": f"distance to the best candidate: {about}",
        f"{name} rank in app": f"how many candidates of the same application have more of it: {about}",
    }


FEATURES: Mapping[str, str] = {
    **_spread("meaning", "likeness of meaning between what is said and the tool, or an example of it"),
    "meaning score": "the same in standard deviations above the mean of the candidates",
    **_spread("words", "BM25T over name, description and parameters"),
    **{f"words in {field}": f"BM25T over the {field} alone" for field in FIELDS},
    "name said": "share of the name's words that are said",
    "said in name": "share of the words said that stand in the name",
    "named": "1 if the whole name is said",
    "app said": "share of the words of the application's or server's name that are said",
    "app best": "the application's best likeness, less the best of all applications",
    "app best three": "mean of the application's three best likenesses, less the best of all",
    "app tools": "how many tools the application has, squeezed",
    "app likely": "probability, by the words alone, that the request has to do with this application",
    **_spread("in context", "likeness of meaning between the tool and the request with its items"),
    "item": "likeness of meaning between the tool and the first item the request hangs on",
    "items": "the highest such likeness among the first items",
    "item app": "how much of the context is of the tool's application",
    "item app first": "1 if the first item of the context is of the tool's application",
    "item app lead": "the same share, less that of the application with the largest",
    "past": "how like the nearest earlier request is that the tool was right for",
    "past rank": "how many candidates were right for a nearer one",
    "past wrong": "how like the nearest earlier request is that the tool was wrong for",
    "past near": "earlier requests much like this one that the tool was right for, squeezed",
    "past often": "how often the tool was right, squeezed, what is long ago counting less",
    "past share": "its share of all that was done",
    "past success": "how often of the times it was offered and judged it was right",
    "past days": "days since it was last right, squeezed",
    "length": "number of words said",
    "described": "number of words that describe the tool, squeezed",
    "catalogue": "number of tools in the catalogue, squeezed",
}
NAMES: tuple[str, ...] = tuple(FEATURES)


def measure(index: ToolIndex, wish: ToolQuery, places: Places) -> Matrix:
    """A row a candidate, a column a feature, in the order of `NAMES`; NaN where there is nothing to say."""
    if not len(places):
        return np.empty((0, len(NAMES)), np.float32)
    scene = _ToolScene(index, wish, places)
    columns = {**_said(scene), **_app(scene), **_context(scene), **_past(scene)}
    return np.stack([columns[name] for name in NAMES], axis=1).astype(np.float32)


class _ToolScene:
    """The candidates of one request."""

    def __init__(self, index: ToolIndex, wish: ToolQuery, places: Places) -> None:
        self.index, self.wish, self.places = index, wish, places
        self.said = wish.words
        self.vectors = index.vectors[places]
        self.meaning: Floats = (self.vectors @ wish.vector).astype(np.float64)
        examples = index.by_example(wish.vector)
        if examples is not None:
            behind = _SHORT + _LEFT_OUT * wish.needs_context
            self.meaning = np.maximum(self.meaning, examples[places] - behind)
        self.numbers = list(map(int, places))
        self.app = index.app[places]
        self.apps = [index.apps[app] for app in map(int, self.app)]
        self.same_app = self.app[:, None] == self.app[None]

    def flat(self, value: float) -> Floats:
        return np.full(len(self.places), value, np.float64)

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


def _said(scene: _ToolScene) -> dict[str, Floats]:
    index, said = scene.index, scene.said
    spelled = frozenset(said)
    lexical = {name: field.scores_of(said, scene.places) for name, field in index.fields.items()}
    names = [frozenset(index.name_words[place]) for place in scene.numbers]
    shared = np.array([len(name & spelled) for name in names], np.float64)
    meaning = scene.meaning
    return {
        **scene.spread("meaning", meaning),
        "meaning score": (meaning - meaning.mean()) / (meaning.std() + 1e-6),
        **scene.spread("words", lexical["all"]),
        **{f"words in {field}": lexical[field] for field in FIELDS},
        "name said": shared / np.array([max(1, len(name)) for name in names]),
        "said in name": shared / max(1, len(spelled)),
        "named": np.array([index.name(place) in scene.wish.spans for place in scene.numbers], np.float64),
        "length": scene.flat(len(said)),
        "described": np.log1p(index.lengths[scene.places]),
        "catalogue": scene.flat(float(np.log1p(len(index.catalog)))),
    }


def _app(scene: _ToolScene) -> dict[str, Floats]:
    index, spelled = scene.index, frozenset(scene.said)
    own = np.where(scene.same_app, scene.meaning[None], -np.inf)
    best = own.max(1)
    three = np.sort(own, axis=1)[:, ::-1][:, :3]
    mean = np.nanmean(np.where(np.isinf(three), np.nan, three), axis=1)
    own_words = [index.app_words[app] for app in map(int, scene.app)]
    return {
        "app said": np.array([len(spelled & name) / max(1, len(name)) for name in own_words], np.float64),
        "app best": best - best.max(initial=-1.0),
        "app best three": mean - mean.max(initial=-1.0),
        "app tools": np.log1p(index.app_sizes[scene.app]),
        "app likely": np.array([scene.wish.apps.get(app, np.nan) for app in scene.apps], np.float64),
    }


def _context(scene: _ToolScene) -> dict[str, Floats]:
    context = scene.wish.context
    if context is None or not len(context.items):
        empty = scene.flat(np.nan)
        return {name: empty for name in FEATURES if name.startswith(("in context", "item"))}
    near = (scene.vectors @ context.vectors.T).astype(np.float64)
    shares = context.apps
    mine = np.array([shares.get(app, 0.0) for app in scene.apps], np.float64)
    return {
        **scene.spread("in context", (scene.vectors @ scene.wish.in_context).astype(np.float64)),
        "item": near[:, 0],
        "items": near.max(1),
        "item app": mine,
        "item app first": np.array([app == context.items[0].app for app in scene.apps], np.float64),
        "item app lead": mine - max(shares.values()),
    }


def _past(scene: _ToolScene) -> dict[str, Floats]:
    past = scene.wish.past
    if past is None or not len(past):
        empty = scene.flat(np.nan)
        return {name: empty for name in FEATURES if name.startswith("past")}
    like = (past.vectors @ scene.wish.vector).astype(np.float64)
    fresh = 0.5 ** (past.age / _MONTH)
    right = _CallCounts(scene, past, past.ok)
    wrong = _CallCounts(scene, past, ~past.ok)
    nearest = right.highest(like)
    often = right.total(fresh)
    judged = right.total(np.ones(len(past))) + wrong.total(np.ones(len(past)))
    with np.errstate(invalid="ignore", divide="ignore"):
        success = right.total(np.ones(len(past))) / judged
    return {
        "past": nearest,
        "past rank": scene.rank(nearest),
        "past wrong": wrong.highest(like),
        "past near": np.log1p(right.total((like >= _NEAR).astype(np.float64))),
        "past often": np.log1p(often),
        "past share": often / max(1e-9, float(fresh[past.ok].sum())),
        "past success": success,
        "past days": -np.log1p(-right.highest(-past.age, nothing=-_NEVER)),
    }


class _CallCounts:
    """Sums and maxima over the past of each candidate."""

    def __init__(self, scene: _ToolScene, past: PastCalls, which: NDArray[np.bool_]) -> None:
        number = {place: n for n, place in enumerate(scene.numbers)}
        self._of = np.array([number.get(int(place), -1) for place in past.tool], np.int64)
        self._kept = which & (self._of >= 0)
        self._count = len(scene.places)

    def total(self, weights: Floats) -> Floats:
        return np.bincount(self._of[self._kept], weights[self._kept], self._count).astype(np.float64)

    def highest(self, values: Floats, nothing: float = 0.0) -> Floats:
        found = np.full(self._count, nothing)
        np.maximum.at(found, self._of[self._kept], values[self._kept])
        return found
