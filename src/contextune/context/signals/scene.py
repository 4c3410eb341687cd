"""One request over one user's items: everything a signal may look at, as of the request's moment."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from contextune.context.signals.columns import NOWHERE, Floats, ItemColumns, Numbers, UseColumns, hours
from contextune.search import tokenize
from contextune.types import Item

_RARE = 5
"""A word in more candidates than this ties nothing."""
_SHORT = 2
Columns = Mapping[str, Floats]
"""Feature → one value for each candidate; NaN where there is nothing to say."""


@dataclass(frozen=True)
class RequestClasses:
    """What was read out of the words of a request: probabilities of kinds and of applications."""

    kinds: Mapping[str, float]
    apps: Mapping[str, float]
    tools: Mapping[str, float]
    """By application, the likeness of the request to the nearest of its tools."""


@dataclass(frozen=True)
class Similarities:
    """How like the request each candidate is."""

    situated: Floats
    """By meaning, the request taken with its time and place."""
    bare: Floats
    """By meaning, the words of the request alone."""
    around: Floats
    """By meaning, the time and place of the request alone."""
    lexical: Floats
    """By words, each application an own collection."""


@dataclass(frozen=True)
class Scene:
    """A request, its moment, and the candidates. `rows` are positions of items, all of them visible."""

    text: str
    now: datetime
    place: str | None
    facts: ItemColumns
    uses: UseColumns
    """Those before `now`, no other."""
    rows: Numbers
    likeness: Similarities
    vectors: NDArray[np.float32]
    """Of the candidates."""
    reading: RequestClasses

    @cached_property
    def words(self) -> list[str]:
        """The words of the request."""
        return tokenize(self.text)

    @cached_property
    def items(self) -> list[Item]:
        """The candidates."""
        return [self.facts.items[row] for row in map(int, self.rows)]

    @cached_property
    def word_sets(self) -> list[frozenset[str]]:
        """The words of each candidate."""
        return [self.facts.words_of(row) for row in map(int, self.rows)]

    @cached_property
    def rare_words(self) -> Mapping[str, float]:
        """Words that a few of the candidates share, and how much that says."""
        count = Counter(word for found in self.word_sets for word in found)
        return {
            word: math.log((len(self.rows) + 1) / n)
            for word, n in count.items()
            if 1 < n <= _RARE and len(word) > _SHORT
        }

    @cached_property
    def rare_sets(self) -> list[frozenset[str]]:
        """The rare words of each candidate."""
        return [found & self.rare_words.keys() for found in self.word_sets]

    @cached_property
    def shared_words(self) -> tuple[Floats, Floats]:
        """Which candidate (rows) holds which rare word (columns), and how much each word says."""
        column = {word: number for number, word in enumerate(self.rare_words)}
        held = np.zeros((len(self.rows), len(column)))
        places = [(number, column[word]) for number, found in enumerate(self.rare_sets) for word in found]
        if places:
            held[tuple(zip(*places, strict=True))] = 1
        return held, np.array(list(self.rare_words.values()), np.float64)

    @cached_property
    def hour(self) -> float:
        """The moment, in hours."""
        return hours(self.now)

    @cached_property
    def app(self) -> Numbers:
        """The application of each candidate, as a number."""
        return self.facts.app[self.rows]

    @cached_property
    def same_app(self) -> NDArray[np.bool_]:
        """Which two candidates are of one application."""
        return self.app[:, None] == self.app[None]

    @cached_property
    def here(self) -> int:
        """The place of the request as a number; `NOWHERE` where it is not known."""
        return self.facts.place_code.get(self.place, NOWHERE) if self.place else NOWHERE

    @cached_property
    def time(self) -> Floats:
        """Hours from now to the time a person would name each candidate by."""
        return self.facts.time[self.rows] - self.hour

    def until(self, role: str) -> Floats:
        """Hours from now to a time of each candidate (made, start, end, due); negative if past."""
        return self.facts.times[role][self.rows] - self.hour

    @cached_property
    def own(self) -> UseColumns:
        """The uses of the candidates, each by its number among them: of a large store's uses a few."""
        number = np.full(len(self.facts.items), -1, np.int64)
        number[self.rows] = np.arange(len(self.rows))
        of = number[self.uses.item]
        mine = np.flatnonzero(of >= 0)
        uses = self.uses
        return UseColumns(of[mine], uses.time[mine], uses.hour[mine], uses.weekday[mine], uses.place[mine])

    def count(self, weights: Floats | NDArray[np.bool_] | None = None) -> Floats:
        """For each candidate the number of its uses, or the sum of the weights of its `own`."""
        chosen = None if weights is None else weights.astype(np.float64)
        return np.bincount(self.own.item, chosen, minlength=len(self.rows)).astype(np.float64)

    def rank(self, values: Floats, *, within: bool = False) -> Floats:
        """How many candidates have a higher value; `within` their application only. NaN counts as lowest."""
        filled = np.where(np.isnan(values), -np.inf, values)
        higher = filled[None] > filled[:, None]
        return (higher & self.same_app if within else higher).sum(1).astype(np.float64)

    def spread(self, columns: Columns) -> Columns:
        """Each value with its rank and its distance to the best, overall and within the application.

        All columns at once: of few candidates, a call costs more than what it works out.
        """
        values = np.stack(list(columns.values()))
        higher = values[:, None] > values[:, :, None]
        parts = {
            "": values,
            " rank": higher.sum(2),
            " rank in app": (higher & self.same_app).sum(2),
            " behind best": values - values.max(1, keepdims=True),
            " behind best in app": values - np.where(self.same_app, values[:, None], -np.inf).max(2),
        }
        return {
            f"{name}{suffix}": row
            for suffix, rows in parts.items()
            for name, row in zip(columns, rows, strict=True)
        }


def spread_features(name: str, explanation: str) -> dict[str, str]:
    """The names and explanations of what `Scene.spread` makes."""
    return {
        name: explanation,
        f"{name} rank": f"how many candidates have more of it: {explanation}",
        f"{name} rank in app": f"how many of the same application have more of it: {explanation}",
        f"{name} behind best": f"distance to the best candidate: {explanation}",
        f"{name} behind best in app": f"distance to the best of the same application: {explanation}",
    }


def flat(scene: Scene, value: float) -> Floats:
    """One value for all candidates."""
    return np.full(len(scene.rows), value, np.float64)


def signed_log1p(values: Floats) -> Floats:
    """Signed logarithm: a minute and an hour differ as much as a day and two months."""
    return np.sign(values) * np.log1p(np.abs(values))
