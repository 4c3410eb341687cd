"""BM25T over the memory-mapped postings of several segments.

Statistics of words count removed tools until the segments are merged, as in other engines. In a large
catalogue, only a request's rarer words choose candidates; all of them count in their scores.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from contextune.search import top
from contextune.search.bm25 import solve_k1
from contextune.search.word_variants import WordVariants
from contextune.tools.large.postings import Postings
from contextune.tools.large.segment import Segment

_MAX_POSTINGS = 100_000
"""Postings read to choose the candidates of a request, beyond those of its rarest word."""
_FEW_POSTINGS = 4000
"""The postings of a word with fewer are read without asking whether they can change the result."""
_RESCORED = 64
"""Candidates scored by all words, per candidate wanted."""
_ROUNDING = 1e-5
"""Relative error of sums in single precision."""
Positions = NDArray[np.intp]
Floats = NDArray[np.floating[Any]]


class _Term(NamedTuple):
    """A word of the catalogue."""

    numbers: tuple[int | None, ...]
    """Its number in each segment."""


class Vocabulary(Mapping[str, int]):
    """The words of all segments; a word gets a number when it is first looked up."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self._segments = segments
        self._numbers: dict[str, int | None] = {}
        self._terms: list[_Term] = []

    def __getitem__(self, word: str) -> int:
        """The number of a word; raises `KeyError` if no tool has it."""
        if word not in self._numbers:
            encoded = word.encode("utf-8", "surrogatepass")
            numbers = tuple(segment.terms.find(encoded) for segment in self._segments)
            known = any(number is not None for number in numbers)
            if known:
                self._terms.append(_Term(numbers))
            self._numbers[word] = len(self._terms) - 1 if known else None
        number = self._numbers[word]
        if number is None:
            raise KeyError(word)
        return number

    def __iter__(self) -> Iterator[str]:
        """All words beyond plain ASCII: only they have variants."""
        return iter(dict.fromkeys(word for segment in self._segments for word in segment.wide_terms))

    def __len__(self) -> int:
        """The number of words, counted once for each segment."""
        return sum(len(segment.terms) for segment in self._segments)

    def term(self, number: int) -> _Term:
        """The word with this number."""
        return self._terms[number]

    @cached_property
    def variants(self) -> WordVariants:
        """Other spellings of words."""
        return WordVariants(self)


class _Statistics(NamedTuple):
    """A word in one field."""

    frequency: int
    """Number of rows that contain it."""
    idf: float
    k1: float

    def scores(self, weight: float, frequency: Floats) -> Floats:
        """Scores of rows with these frequencies; `weight` is that of the word in a query."""
        return weight * self.idf * (self.k1 + 1) * frequency / (self.k1 + frequency)


class _QueryTerm(NamedTuple):
    """A word of a query."""

    number: int
    weight: float
    statistics: _Statistics
    highest: float
    """Its score in the row where it is highest."""


class FieldWords:
    """The words of one field of a catalogue. Thread-safe."""

    def __init__(self, field: str, segments: Sequence[Segment], vocabulary: Vocabulary) -> None:
        self._postings = [segment.fields[field] for segment in segments]
        self._offsets: list[int] = np.cumsum([0, *map(len, segments)]).tolist()
        self._vocabulary = vocabulary
        self._statistics: dict[int, _Statistics] = {}
        self._highest: dict[int, float] = {}
        """By word: its highest frequency in a row."""
        self._idle_scores: list[NDArray[np.float32]] = []
        """Zeros, one for each row: a request takes them, and leaves zeros again."""

    def __len__(self) -> int:
        """The number of rows."""
        return self._offsets[-1]

    def document_frequency(self, word: str) -> int:
        """Number of rows that contain a word."""
        number = self._vocabulary.get(word)
        return 0 if number is None else self._statistics_of([number])[0].frequency

    def scores_for(self, query: Sequence[str], rows: Positions) -> NDArray[np.float64]:
        """BM25T scores of a few rows."""
        scores = np.zeros(len(rows))
        weights = self._weights(query)
        local = self._local(rows)
        for (number, weight), term in zip(weights.items(), self._statistics_of([*weights]), strict=True):
            for hits, frequency in self._find(number, local):
                scores[hits] += term.scores(weight, frequency)
        return scores

    def contains(self, word: str, row: int) -> bool:
        """Whether a row contains a word or a variant of it."""
        local = self._local(np.array([row], np.intp))
        return any(
            len(hits)
            for number in self._vocabulary.variants.weights(word)
            for hits, _ in self._find(number, local)
        )

    def best(self, query: Sequence[str], k: int, visible: NDArray[np.bool_] | None = None) -> Positions:
        """About the `k` best visible rows, best first; only rows that share a word with the query.

        Reads the postings of the rarest words first, until no row without them can be among the best
        (MaxScore: Turtle and Flood, 1995) or `_MAX_POSTINGS` are read; then looks up the other words in the
        rows that score best so far.
        """
        terms = self._query_terms(query)
        try:
            scores = self._idle_scores.pop()
        except IndexError:
            scores = np.zeros(len(self), np.float32)
        touched: list[Positions] = []
        others = total = sum(term.highest for term in terms)
        read = 0
        for term in terms:
            frequency = term.statistics.frequency
            read += frequency
            if touched and read > _MAX_POSTINGS:
                break
            if frequency > _FEW_POSTINGS and others < total - others:
                lowest = _kth_highest(scores[_join(touched, visible)], k)
                if others < (1 - _ROUNDING) * lowest:
                    break
            touched.append(self._add_scores(term, scores))
            others -= term.highest
        rows = _join(touched, visible)
        partial = scores[rows]
        for fresh in touched:
            scores[fresh] = 0
        self._idle_scores.append(scores)
        return self._refine(rows, partial, terms[len(touched) :], k)

    def _refine(
        self, rows: Positions, partial: NDArray[np.float32], terms: Sequence[_QueryTerm], k: int
    ) -> Positions:
        """The `k` best of some rows, best first, given their scores without those of a few words."""
        chosen = np.flatnonzero(partial >= _kth_highest(partial, _RESCORED * k))
        chosen = chosen[np.argsort(rows[chosen])]
        rows, scores = rows[chosen], partial[chosen].astype(np.float64)
        others = sum(term.highest for term in terms)
        for term in terms:
            kept = scores + others >= (1 - _ROUNDING) * _kth_highest(scores, k)
            rows, scores = rows[kept], scores[kept]
            for hits, frequency in self._find(term.number, self._local(rows)):
                scores[hits] += term.statistics.scores(term.weight, frequency)
            others -= term.highest
        return rows[top(scores, k)]

    def _add_scores(self, term: _QueryTerm, scores: NDArray[np.float32]) -> Positions:
        """Add the scores of a word to those of the rows that contain it; the rows that had none before."""
        fresh: list[Positions] = []
        for postings, position, offset in self._parts(term.number):
            part = postings.slice(position)
            frequency = postings.frequencies[part]
            rows = postings.rows[part].astype(np.intp)
            rows += offset
            before = scores[rows]
            scores[rows] = before + term.statistics.scores(term.weight, frequency)
            fresh.append(rows[before == 0])
        return fresh[0] if len(fresh) == 1 else np.concatenate(fresh)

    def _weights(self, query: Sequence[str]) -> dict[int, float]:
        weights: dict[int, float] = {}
        for word, count in Counter(query).items():
            for number, weight in self._vocabulary.variants.weights(word).items():
                weights[number] = weights.get(number, 0.0) + weight * count
        return weights

    def _statistics_of(self, numbers: Sequence[int]) -> list[_Statistics]:
        """The statistics of words; those of each are computed once."""
        if missing := [number for number in numbers if number not in self._statistics]:
            counts = [self._count(number) for number in missing]
            means = np.array([log_sum / max(frequency, 1) for frequency, log_sum in counts])
            k1s: list[float] = solve_k1(means).tolist()
            for number, (frequency, _), k1 in zip(missing, counts, k1s, strict=True):
                idf = math.log((len(self) + 1) / max(frequency, 1))
                self._statistics[number] = _Statistics(frequency, idf, k1)
        return [self._statistics[number] for number in numbers]

    def _count(self, number: int) -> tuple[int, float]:
        """The number of rows with a word, and the sum of their log(1 + frequency)."""
        rows, log_sum = 0, 0.0
        for postings, term, _ in self._parts(number):
            part = postings.slice(term)
            rows += part.stop - part.start
            log_sum += float(postings.log_sums[term])
        return rows, log_sum

    def _query_terms(self, query: Sequence[str]) -> "list[_QueryTerm]":
        """The words of a query, rarest first."""
        weights = self._weights(query)
        terms: list[_QueryTerm] = []
        for (number, weight), statistics in zip(
            weights.items(), self._statistics_of([*weights]), strict=True
        ):
            if number not in self._highest:
                parts = [
                    postings.frequencies[postings.slice(term)] for postings, term, _ in self._parts(number)
                ]
                self._highest[number] = max(float(part.max(initial=0.0)) for part in parts)
            highest = (
                float(statistics.scores(weight, np.array(self._highest[number])))
                if self._highest[number]
                else 0.0
            )
            terms.append(_QueryTerm(number, weight, statistics, highest))
        return sorted(terms, key=lambda term: term.statistics.frequency)

    def _find(self, number: int, local: Sequence[NDArray[np.int32]]) -> Iterator[tuple[Positions, Floats]]:
        """Which of a few rows contain a word, and its normalized frequency there; for each segment."""
        numbers = self._vocabulary.term(number).numbers
        for postings, term, rows in zip(self._postings, numbers, local, strict=True):
            if term is None:
                continue
            part = postings.slice(term)
            documents = postings.rows[part]
            if not len(documents):
                continue
            places = np.searchsorted(documents, rows)
            np.minimum(places, len(documents) - 1, out=places)
            hits = np.flatnonzero(documents[places] == rows)
            if len(hits):
                yield hits, postings.frequencies[part][places[hits]].astype(np.float64)

    def _local(self, rows: Positions) -> list[NDArray[np.int32]]:
        """Rows as they are numbered in each segment."""
        return [(rows - offset).astype(np.int32) for offset in self._offsets[:-1]]

    def _parts(self, number: int) -> Iterator[tuple[Postings, int, int]]:
        numbers = self._vocabulary.term(number).numbers
        for postings, term, offset in zip(self._postings, numbers, self._offsets, strict=False):
            if term is not None:
                yield postings, term, offset


def _join(parts: Sequence[Positions], visible: NDArray[np.bool_] | None) -> Positions:
    """The visible ones of some rows."""
    rows = np.concatenate([np.empty(0, np.intp), *parts])
    return rows if visible is None else rows[visible[rows]]


def _kth_highest(scores: Floats, k: int) -> float:
    """The `k`-th highest of some scores; 0 if there are fewer."""
    return float(np.partition(scores, len(scores) - k)[len(scores) - k]) if len(scores) >= k else 0.0


class SubsetWords:
    """The words of a few rows, scored with the statistics of the whole catalogue."""

    def __init__(self, words: FieldWords, rows: Positions) -> None:
        self._words, self._rows = words, rows

    def __len__(self) -> int:
        """The number of rows of the whole catalogue."""
        return len(self._words)

    def document_frequency(self, word: str) -> int:
        """Number of rows of the whole catalogue that contain a word."""
        return self._words.document_frequency(word)

    def scores(
        self, query: Sequence[str], *, visible: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """BM25T score of each row; zero if it is not visible."""
        scores = self._words.scores_for(query, self._rows)
        return scores if visible is None else scores * visible

    def scores_for(self, query: Sequence[str], documents: Positions) -> NDArray[np.float64]:
        """BM25T scores of some of the rows."""
        return self._words.scores_for(query, self._rows[documents])

    def matching_words(self, query: Sequence[str], document: int) -> list[str]:
        """The distinct words of the query that a row contains, in the query's order."""
        row = int(self._rows[document])
        return [word for word in dict.fromkeys(query) if self._words.contains(word, row)]
