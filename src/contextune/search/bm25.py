"""Lexical search: BM25T, and plain BM25 to compare it with.

BM25T (Lv and Zhai, "A Log-Logistic Model-Based Interpretation of TF Normalization of
BM25", ECIR 2012; named and compared in Trotman, Puurula and Burgess, "Improvements to
BM25 and Language Models Examined", ADCS 2014) gives every term its own k1, read off how
often the term is repeated in the documents that hold it, so that nothing needs tuning
to a collection. Personal stores differ too much from one another for one constant.

All statistics of the collection are taken at query time over the documents the request
may see. What it must not see - because it lies in the request's future, or belongs to
an application left out - does not even shift a weight.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

Method = Literal["bm25t", "bm25"]

_B = 0.75
_NEWTON_STEPS = 4  # three come within 1e-7 of every root, and each step doubles the digits


class LexicalIndex:
    """An inverted index over documents given as lists of words; immutable once built."""

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        for document in documents:
            _refuse_text(document)
        self._terms: dict[str, int] = {}
        self._lengths: NDArray[np.int32] = np.fromiter(map(len, documents), np.int32, len(documents))
        terms = np.fromiter(
            (self._terms.setdefault(word, len(self._terms)) for document in documents for word in document),
            np.int64,
            int(self._lengths.sum(dtype=np.int64)),
        )
        # one number for each (term, document): a single sort groups the postings and counts them
        width = max(len(documents), 1)
        holders = np.repeat(np.arange(len(documents), dtype=np.int64), self._lengths)
        pairs, counts = np.unique(terms * width + holders, return_counts=True)
        self._documents: NDArray[np.int32] = (pairs % width).astype(np.int32)
        self._frequencies: NDArray[np.float32] = counts.astype(np.float32)
        self._starts: NDArray[np.int64] = np.searchsorted(pairs, np.arange(len(self._terms) + 1) * width)

    def __len__(self) -> int:
        """How many documents the index holds."""
        return len(self._lengths)

    def scores(
        self,
        query: Sequence[str],
        *,
        visible: NDArray[np.bool_] | None = None,
        method: Method = "bm25t",
        k1: float = 1.2,
        b: float = _B,
    ) -> NDArray[np.float64]:
        """How well each document answers `query`: zero where it shares no word or is not visible, else above.

        "bm25t" estimates k1 for each term and takes no notice of `k1`; its inverse document
        frequency is log((N + 1) / df), as in the same authors' BM25+, where the papers have
        log(N / df): that is zero for a word all documents hold, and a store of one
        document could never match. "bm25" is Lucene's variant. In both a word
        asked for twice counts twice.
        """
        _refuse_text(query)
        if method not in get_args(Method):
            raise ValueError(f"unknown method {method!r}: choose one of {get_args(Method)}")
        if not (k1 >= 0 and 0 <= b <= 1):
            raise ValueError(f"k1={k1!r}, b={b!r}: k1 must not be negative and b must lie in 0…1")
        if visible is not None and visible.shape != self._lengths.shape:
            raise ValueError(f"visible has shape {visible.shape}, but the index holds {len(self)} documents")

        asked = self._asked(query)
        if not asked:
            return np.zeros(len(self))
        times = np.fromiter(asked.values(), np.float64, len(asked))
        parts = [slice(self._starts[term], self._starts[term + 1]) for term in asked]
        if (visible is None or visible.all()) and method == "bm25t" and b == _B:
            document = np.concatenate([self._documents[part] for part in parts], dtype=np.intp)
            weight = np.concatenate(
                [self._weights[part] * once for part, once in zip(parts, times, strict=True)]
            )
            return np.bincount(document, weight, len(self)).astype(np.float64, copy=False)

        term, document, frequency = self._postings(parts)
        lengths = self._lengths
        if visible is not None:
            seen = np.flatnonzero(visible[document])
            term, document, frequency = term[seen], document[seen], frequency[seen]
            lengths = lengths[visible]
        if not len(document):
            return np.zeros(len(self))
        postings = _Postings(term, frequency, self._lengths[document], len(asked))
        weight = times[term] * _weigh(postings, lengths, method, k1, b)
        # numpy's types do not know that weights make floats
        return np.bincount(document, weight, len(self)).astype(np.float64, copy=False)

    def scores_of(self, query: Sequence[str], documents: NDArray[np.intp]) -> NDArray[np.float64]:
        """By BM25T, how well each of a few documents answers `query`; the rest are not looked at."""
        _refuse_text(query)
        asked = np.zeros(len(self._terms), np.float32)
        for term, times in self._asked(query).items():
            asked[term] = times
        starts, terms, weights = self._by_document
        first = starts[documents]
        sizes = starts[documents + 1] - first
        row = np.repeat(np.arange(len(documents)), sizes)
        place = np.arange(len(row)) + np.repeat(first - np.cumsum(sizes) + sizes, sizes)
        found = np.bincount(row, asked[terms[place]] * weights[place], len(documents))
        return found.astype(np.float64, copy=False)

    def matched(self, query: Sequence[str], document: int) -> list[str]:
        """The query's words that stand in `document`, each once, in the query's order."""
        _refuse_text(query)
        if not 0 <= document < len(self):
            raise IndexError(f"no document {document!r} in an index of {len(self)}")
        return [word for word in dict.fromkeys(query) if self._holds(word, document)]

    def _holds(self, word: str, document: int) -> bool:
        if (term := self._terms.get(word)) is None:
            return False
        holders = self._documents[self._starts[term] : self._starts[term + 1]]
        place = int(np.searchsorted(holders, document))
        return place < len(holders) and int(holders[place]) == document

    def _asked(self, query: Sequence[str]) -> dict[int, int]:
        """How often each of the query's words that the index knows is asked for, by its number."""
        return {self._terms[word]: times for word, times in Counter(query).items() if word in self._terms}

    def _postings(
        self, parts: Sequence[slice]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
        """Which of the asked terms, in which document, how often: one entry each."""
        which = np.repeat(np.arange(len(parts)), [part.stop - part.start for part in parts])
        # wide types from here on: numpy would widen the narrow ones again at every use
        documents = np.concatenate([self._documents[part] for part in parts], dtype=np.intp)
        frequencies = np.concatenate([self._frequencies[part] for part in parts], dtype=np.float64)
        return which, documents, frequencies

    @cached_property
    def _weights(self) -> NDArray[np.float64]:
        """What each posting adds to its document's score while every document is visible."""
        if not len(self._documents):
            return np.empty(0)
        held = np.diff(self._starts)
        postings = _Postings(
            np.repeat(np.arange(len(held)), held),
            self._frequencies.astype(np.float64),
            self._lengths[self._documents],
            len(held),
        )
        return _weigh(postings, self._lengths, "bm25t", 0, _B)

    @cached_property
    def _by_document(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """Where each document's postings start; their terms and weights."""
        order = np.argsort(self._documents, kind="stable")
        terms = np.repeat(np.arange(len(self._terms), dtype=np.int32), np.diff(self._starts))
        starts = np.searchsorted(self._documents[order], np.arange(len(self) + 1))
        return starts, terms[order], self._weights[order]


class _Postings(NamedTuple):
    """Terms in documents, one entry each."""

    term: NDArray[np.intp]
    frequency: NDArray[np.float64]
    length: NDArray[np.int32]
    """Of the document."""
    terms: int
    """How many there are."""


def _weigh(
    postings: _Postings, lengths: NDArray[np.int32], method: Method, k1: float, b: float
) -> NDArray[np.float64]:
    """What each posting adds to the score of its document; `lengths` are those of the whole collection."""
    term, documents = postings.term, len(lengths)
    df = np.maximum(np.bincount(term, minlength=postings.terms), 1)  # a term nobody holds weighs nothing
    frequency = postings.frequency / (1 - b + b * (postings.length / lengths.mean()))
    if method == "bm25t":
        means = np.bincount(term, np.log(1 + frequency), postings.terms) / df
        own_k1 = solve_k1(means)[term]
        idf = np.log((documents + 1) / df)
        gain = (own_k1 + 1) * frequency / (own_k1 + frequency)
    else:
        idf = np.log1p((documents - df + 0.5) / (df + 0.5))
        gain = frequency / (k1 + frequency)
    return idf[term] * gain


def solve_k1(target: NDArray[np.float64]) -> NDArray[np.float64]:
    """The k1 of each term, whose g(k1) = k1 / (k1 - 1) * log(k1) is the term's mean of log(1 + frequency).

    Newton's method on log g over u = log k1, where g = u / (1 - exp(-u)). That function rises
    and is concave, so from a start left of the root every step stays left of it and nearer:
    no bracketing is needed, and k1 = 1, where g's own formula divides by zero, is an ordinary point.
    Left of the root lies target - 1, as g <= 1 + u, and, where k1 < 1, 2 log(target), as g <= exp(u / 2).
    """
    if not (np.isfinite(target) & (target >= 0)).all():
        raise ValueError(f"every target must be a number of zero or more, not {target!r}")
    positive = target > 0  # g(0) = 0
    goal = np.log(np.where(positive, target, 1.0))
    u = np.where(goal >= 0, target - 1, 2 * goal)
    for _ in range(_NEWTON_STEPS):
        value, slope = _log_g(u)
        u = u + (goal - value) / slope
    return np.where(positive, np.exp(u), 0.0)


def _log_g(u: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log g at k1 = exp(u), and its derivative; written in -|u|, where nothing overflows."""
    near = np.abs(u) < 1e-8  # both formulas are 0/0 at zero; so near to it the tangent is exact
    size = np.where(near, 1.0, np.abs(u))
    decay = -np.expm1(-size)
    value = np.log(size / decay) + np.minimum(u, 0)
    slope = np.where(u > 0, 1 / size - (1 - decay) / decay, 1 / decay - 1 / size)
    return np.where(near, u / 2, value), np.where(near, 0.5, slope)


def _refuse_text(given: Sequence[str]) -> None:
    """Text is a sequence of strings as well and would be searched letter by letter."""
    if isinstance(given, str):
        raise TypeError("expected a list of words, not a text: split it with `words`")
