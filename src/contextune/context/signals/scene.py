"""Scene: everything the features of one request may read, as of the request's time."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from contextune.context.signals.columns import NO_PLACE, Floats, ItemColumns, Numbers, to_hours
from contextune.context.signals.use_columns import UseColumns
from contextune.search import tokenize
from contextune.types import Item

_MAX_PAIRS = 64
"""Up to so many candidates, comparing all pairs is faster than sorting."""
_MAX_RARE = 5
"""A word in more candidates than this does not link them."""
_SHORT_WORD = 2
FeatureColumns = Mapping[str, Floats]
"""Feature name → one value per candidate; NaN for a missing value."""


@dataclass(frozen=True)
class RequestClasses:
    """Output of the request classifier: probabilities per kind of request and per application."""

    kinds: Mapping[str, float]
    apps: Mapping[str, float]
    tools: Mapping[str, float]
    """Per application, the similarity of the request to its most similar tool."""


@dataclass(frozen=True)
class Similarities:
    """Similarity of each candidate to the request."""

    situated: Floats
    """Cosine to the request with its time and place."""
    text: Floats
    """Cosine to the text of the request alone."""
    moment: Floats
    """Cosine to the time and place of the request alone."""
    lexical: Floats
    """BM25T, each application as its own collection."""
    content: Floats
    """Cosine of the text of the request and the item without its habits."""
    store_lexical: Floats
    """BM25T, all items as one collection."""
    before: Floats
    """`text` of the item right before it in the same application; NaN if there is none."""


@dataclass(frozen=True)
class Scene:
    """A request, its time and place, and its candidates; `rows` are the rows of the candidate items."""

    text: str
    now: datetime
    place: str | None
    item_columns: ItemColumns
    uses: UseColumns
    """Usage events before `now`."""
    rows: Numbers
    similarities: Similarities
    vectors: NDArray[np.float32]
    """One row per candidate."""
    request_classes: RequestClasses
    readability: float = 1.0
    """Share of the request that the embedder can read."""
    query: str = ""
    """The request completed from its history; empty if it is the same as `text`."""
    day: str = ""
    """Words of an earlier turn for the day that the request is about; empty if the request says its own."""

    @cached_property
    def words(self) -> list[str]:
        """The words of the request."""
        return tokenize(self.text)

    @property
    def times_text(self) -> str:
        """The text to read times of items from."""
        return self.day or self.text

    @cached_property
    def query_words(self) -> list[str]:
        """The words of the request completed from its history."""
        return tokenize(self.query) if self.query else self.words

    @cached_property
    def items(self) -> list[Item]:
        """The candidates."""
        return [self.item_columns.items[row] for row in map(int, self.rows)]

    @cached_property
    def word_sets(self) -> list[frozenset[str]]:
        """The words of each candidate."""
        return [self.item_columns.words(row) for row in map(int, self.rows)]

    @cached_property
    def rare_words(self) -> Mapping[str, float]:
        """Words that two to five candidates share, with their inverse document frequency."""
        count = Counter(chain.from_iterable(self.word_sets))
        rare = [(word, n) for word, n in count.items() if 1 < n <= _MAX_RARE and len(word) > _SHORT_WORD]
        # in order: the last digits of a sum over a set vary from process to process
        return {word: math.log((len(self.rows) + 1) / n) for word, n in sorted(rare)}

    @cached_property
    def rare_sets(self) -> list[frozenset[str]]:
        """The rare words of each candidate."""
        rare = frozenset(self.rare_words)
        return [words & rare for words in self.word_sets]

    @cached_property
    def shared_words(self) -> tuple[Floats, Floats]:
        """0/1 matrix of candidates by rare words, and the weight of each word."""
        column = {word: number for number, word in enumerate(self.rare_words)}
        contains = np.zeros((len(self.rows), len(column)))
        contains.put(
            [
                number * len(column) + column[word]
                for number, words in enumerate(self.rare_sets)
                for word in words
            ],
            1,
        )
        return contains, np.array(list(self.rare_words.values()), np.float64)

    @cached_property
    def now_hours(self) -> float:
        """`now` in hours since the epoch."""
        return to_hours(self.now)

    @cached_property
    def app(self) -> Numbers:
        """The application of each candidate, as a code."""
        return self.item_columns.app[self.rows]

    @cached_property
    def same_app(self) -> NDArray[np.bool_]:
        """For each pair of candidates, whether they are of the same application."""
        return self.app[:, None] == self.app[None]

    @cached_property
    def here(self) -> int:
        """The place of the request as a code; `NO_PLACE` if it is unknown."""
        return self.item_columns.place_codes.get(self.place, NO_PLACE) if self.place else NO_PLACE

    @cached_property
    def hours_until_main_time(self) -> Floats:
        """Hours from now to the main time of each candidate (start, due or creation)."""
        return self.item_columns.main_time[self.rows] - self.now_hours

    def hours_until(self, role: str) -> Floats:
        """Hours from now to a time of each candidate (made, start, end, due); negative if past."""
        return self.item_columns.times[role][self.rows] - self.now_hours

    @cached_property
    def candidate_uses(self) -> UseColumns:
        """The usage events of the candidates; `item` is the number of the candidate, not its row."""
        candidate = np.full(len(self.item_columns.items), -1, np.int64)
        candidate[self.rows] = np.arange(len(self.rows))
        number = candidate[self.uses.item]
        chosen = np.flatnonzero(number >= 0)
        uses = self.uses
        return UseColumns(
            number[chosen], uses.time[chosen], uses.hour[chosen], uses.weekday[chosen], uses.place[chosen]
        )

    def count_uses(self, weights: Floats | NDArray[np.bool_] | None = None) -> Floats:
        """Number of usage events per candidate, or the sum of their `weights` (one per candidate use)."""
        weights = None if weights is None else weights.astype(np.float64)
        return np.bincount(self.candidate_uses.item, weights, minlength=len(self.rows)).astype(np.float64)

    def rank(self, values: Floats, *, within_app: bool = False) -> Floats:
        """Number of candidates, or of those of the same application, with a higher value; NaN is lowest."""
        filled = np.where(np.isnan(values), -np.inf, values)
        if len(filled) > _MAX_PAIRS:
            return _count_higher(filled, self.app if within_app else np.zeros_like(self.app))
        higher = filled[None] > filled[:, None]
        return (higher & self.same_app if within_app else higher).sum(1).astype(np.float64)

    def ranks(self, *columns: Floats) -> list[tuple[Floats, Floats]]:
        """For each column, `rank` among all candidates and within the application."""
        if len(self.rows) > _MAX_PAIRS:
            return [(self.rank(values), self.rank(values, within_app=True)) for values in columns]
        values = np.array(columns)
        filled = np.where(np.isnan(values), -np.inf, values)
        higher = filled[:, None] > filled[:, :, None]
        overall, within_app = higher.sum(2), (higher & self.same_app).sum(2)
        return list(zip(overall.astype(np.float64), within_app.astype(np.float64), strict=True))

    def with_ranks(self, columns: FeatureColumns) -> FeatureColumns:
        """Each column with its ranks and its differences to the best, overall and per application.

        Takes all columns at once: for few candidates, numpy calls cost more than the arithmetic.
        """
        values = np.stack(list(columns.values()))
        if values.shape[1] > _MAX_PAIRS:
            ranks, ranks_in_app, best_in_app = self._by_sorting(values)
        else:
            higher = values[:, None] > values[:, :, None]
            ranks, ranks_in_app = higher.sum(2), (higher & self.same_app).sum(2)
            best_in_app = np.where(self.same_app, values[:, None], -np.inf).max(2)
        parts = {
            "": values,
            " rank": ranks,
            " rank in app": ranks_in_app,
            " behind best": values - values.max(1, keepdims=True),
            " behind best in app": values - best_in_app,
        }
        return {
            f"{name}{suffix}": row
            for suffix, rows in parts.items()
            for name, row in zip(columns, rows, strict=True)
        }

    def _by_sorting(self, values: Floats) -> tuple[Floats, Floats, Floats]:
        """For each row of values: ranks, ranks per application, and the best of the application."""
        known = ~np.isnan(values)
        filled = np.where(known, values, -np.inf)
        everywhere = np.zeros_like(self.app)
        ranks = np.stack([_count_higher(row, everywhere) for row in filled])
        ranks_in_app = np.stack([_count_higher(row, self.app) for row in filled])
        best_in_app = np.empty_like(values)
        for app in np.unique(self.app):
            of_app = self.app == app
            best_in_app[:, of_app] = values[:, of_app].max(1, keepdims=True)
        return ranks * known, ranks_in_app * known, best_in_app  # nothing is higher than what is unknown


def _count_higher(values: Floats, groups: Numbers) -> Floats:
    """For each value, how many of the same group are higher; by sorting, for many values."""
    order = np.lexsort((-values, groups))
    values, groups = values[order], groups[order]
    starts_group = np.append(True, groups[1:] != groups[:-1])
    differs = starts_group | np.append(True, values[1:] != values[:-1])
    places = np.arange(len(order))
    first_equal = np.maximum.accumulate(np.where(differs, places, 0))
    first_of_group = np.maximum.accumulate(np.where(starts_group, places, 0))
    counts = np.empty(len(order))
    counts[order] = first_equal - first_of_group
    return counts


def describe_with_ranks(name: str, description: str) -> dict[str, str]:
    """Names and descriptions of the features that `Scene.with_ranks` computes."""
    return {
        name: description,
        f"{name} rank": f"number of candidates with a higher `{name}`",
        f"{name} rank in app": f"number of candidates in the same application with a higher `{name}`",
        f"{name} behind best": f"`{name}` minus the highest value of all candidates",
        f"{name} behind best in app": f"`{name}` minus the highest value in the same application",
    }


def constant(scene: Scene, value: float) -> Floats:
    """The same value for all candidates."""
    values = np.empty(len(scene.rows))
    values.fill(value)  # `np.full` takes three times as long
    return values


def signed_log1p(values: Floats) -> Floats:
    """sign(x) · log(1 + |x|): compresses long times, so that minutes still count."""
    return np.sign(values) * np.log1p(np.abs(values))
