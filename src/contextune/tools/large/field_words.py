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

_MAX_POSTINGS = 200_000
"""Postings read to choose the candidates of a request, beyond those of its rarest word."""
_RESCORED = 8
"""Candidates scored by all words, per candidate wanted."""
Positions = NDArray[np.intp]


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


class FieldWords:
    """The words of one field of a catalogue."""

    def __init__(self, field: str, segments: Sequence[Segment], vocabulary: Vocabulary) -> None:
        self._postings = [segment.fields[field] for segment in segments]
        self._offsets = np.cumsum([0, *map(len, segments)])
        self._vocabulary = vocabulary
        self._statistics: dict[int, tuple[int, float, float]] = {}

    def __len__(self) -> int:
        """The number of rows."""
        return int(self._offsets[-1])

    def document_frequency(self, word: str) -> int:
        """Number of rows that contain a word."""
        number = self._vocabulary.get(word)
        return 0 if number is None else self._term_statistics(number)[0]

    def scores_for(self, query: Sequence[str], rows: Positions) -> NDArray[np.float64]:
        """BM25T scores of a few rows."""
        scores = np.zeros(len(rows))
        for number, weight in self._weights(query).items():
            _, idf, k1 = self._term_statistics(number)
            frequency = self._frequencies(number, rows)
            scores += weight * idf * (k1 + 1) * frequency / (k1 + frequency + (frequency == 0))
        return scores

    def contains(self, word: str, row: int) -> bool:
        """Whether a row contains a word or a variant of it."""
        rows = np.array([row], np.intp)
        return any(self._frequencies(n, rows)[0] > 0 for n in self._vocabulary.variants.weights(word))

    def best(self, query: Sequence[str], k: int, visible: NDArray[np.bool_]) -> Positions:
        """About the `k` best visible rows, best first; only rows that share a word with the query."""
        weights = self._weights(query)
        terms = sorted(weights, key=lambda number: self._term_statistics(number)[0])
        scores = np.zeros(len(self), np.float32)
        touched: list[Positions] = []
        read = 0
        for number in terms:
            read += self._term_statistics(number)[0]
            if touched and read > _MAX_POSTINGS:
                break
            rows, gains = self._gains(number)
            scores[rows] += weights[number] * gains
            touched.append(rows)
        if not touched:
            return np.empty(0, np.intp)
        rows = np.concatenate(touched)
        rows = rows[visible[rows]]
        size = min(len(rows), _RESCORED * k * len(touched))  # a row is there once for each of its words
        rows = np.unique(rows[np.argpartition(-scores[rows], size - 1)[:size]] if size else rows)
        return rows[top(self.scores_for(query, rows), k)]

    def _weights(self, query: Sequence[str]) -> dict[int, float]:
        weights: dict[int, float] = {}
        for word, count in Counter(query).items():
            for number, weight in self._vocabulary.variants.weights(word).items():
                weights[number] = weights.get(number, 0.0) + weight * count
        return weights

    def _term_statistics(self, number: int) -> tuple[int, float, float]:
        """Document frequency, inverse document frequency and k1 of a word; computed once."""
        if number not in self._statistics:
            frequency, log_sum = 0, 0.0
            for postings, term in zip(self._postings, self._vocabulary.term(number).numbers, strict=True):
                if term is not None:
                    part = postings.slice(term)
                    frequency += part.stop - part.start
                    log_sum += float(postings.log_sums[term])
            k1 = float(solve_k1(np.array([log_sum / max(frequency, 1)]))[0])
            self._statistics[number] = frequency, math.log((len(self) + 1) / max(frequency, 1)), k1
        return self._statistics[number]

    def _frequencies(self, number: int, rows: Positions) -> NDArray[np.float64]:
        """The normalized frequency of a word in each of a few rows."""
        result = np.zeros(len(rows))
        for postings, term, offset in self._parts(number):
            part = postings.slice(term)
            documents = postings.rows[part]
            if not len(documents):
                continue
            local = (rows - offset).astype(np.int32)
            places = np.searchsorted(documents, local).clip(max=len(documents) - 1)
            hits = documents[places] == local
            result[hits] = postings.frequencies[part][places[hits]]
        return result

    def _gains(self, number: int) -> tuple[Positions, NDArray[np.floating[Any]]]:
        """All rows that contain a word, and what it adds to their scores."""
        _, idf, k1 = self._term_statistics(number)
        rows: list[Positions] = []
        gains: list[NDArray[np.floating[Any]]] = []
        for postings, term, offset in self._parts(number):
            part = postings.slice(term)
            frequency = postings.frequencies[part]
            rows.append(postings.rows[part].astype(np.intp) + offset)
            gains.append(idf * (k1 + 1) * frequency / (k1 + frequency))
        return np.concatenate(rows), np.concatenate(gains)

    def _parts(self, number: int) -> Iterator[tuple[Postings, int, int]]:
        numbers = self._vocabulary.term(number).numbers
        for postings, term, offset in zip(self._postings, numbers, self._offsets.tolist(), strict=False):
            if term is not None:
                yield postings, term, offset


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
