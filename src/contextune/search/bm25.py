"""Lexical search by BM25T: BM25 with a k1 estimated for each term.

BM25T (Lv and Zhai, "A Log-Logistic Model-Based Interpretation of TF Normalization of BM25", ECIR 2012; named
and compared in Trotman, Puurula and Burgess, "Improvements to BM25 and Language Models Examined", ADCS 2014)
estimates k1 from how often a term is repeated in the documents that contain it. No constant has to be tuned,
which suits personal stores: they differ too much from one another for a single k1.

Inverse document frequency is log((N + 1) / df), as in the same authors' BM25+. The log(N / df) of the papers
is zero for a term that all documents contain, so a store of one document could never match.

Collection statistics are computed at query time over the visible documents only. Hidden documents (dated
after the request, or of an excluded app) do not change any score.

A word in another spelling or with another ending counts as a term of its own (`word_variants`).
"""

from collections import Counter
from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contextune.search.word_variants import WordVariants

_B = 0.75
_FEW_POSTINGS = 5_000
"""Weights of so many postings take hardly longer than those of a single query's terms."""
_NEWTON_STEPS = 4  # three reach 1e-7 for every root, and each step doubles the digits


class LexicalArrays(NamedTuple):
    """The content of a `LexicalIndex`, to store it."""

    terms: Sequence[str]
    lengths: NDArray[np.int32]
    """Number of words of each document."""
    documents: NDArray[np.int32]
    frequencies: NDArray[np.float32]
    starts: NDArray[np.int64]
    """Where the postings of each term start, and the end of the last."""


class LexicalIndex:
    """Inverted index over tokenized documents; immutable."""

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        for document in documents:
            _refuse_string(document)
        self._terms: dict[str, int] = {}
        self._weights_by_term: dict[int, NDArray[np.float64]] = {}
        self._lengths: NDArray[np.int32] = np.fromiter(map(len, documents), np.int32, len(documents))
        terms = np.fromiter(
            (self._terms.setdefault(word, len(self._terms)) for document in documents for word in document),
            np.int64,
            int(self._lengths.sum(dtype=np.int64)),
        )
        # (term, document) as one number: a single sort groups and counts the postings
        width = max(len(documents), 1)
        positions = np.repeat(np.arange(len(documents), dtype=np.int64), self._lengths)
        pairs, counts = np.unique(terms * width + positions, return_counts=True)
        self._documents: NDArray[np.int32] = (pairs % width).astype(np.int32)
        self._frequencies: NDArray[np.float32] = counts.astype(np.float32)
        self._starts: NDArray[np.int64] = np.searchsorted(pairs, np.arange(len(self._terms) + 1) * width)

    @classmethod
    def from_arrays(cls, arrays: LexicalArrays) -> "LexicalIndex":
        """The index with this content."""
        index = cls([])
        index._terms = dict(zip(arrays.terms, range(len(arrays.terms)), strict=True))
        _, index._lengths, index._documents, index._frequencies, index._starts = arrays
        return index

    @property
    def arrays(self) -> LexicalArrays:
        """The content of the index."""
        return LexicalArrays(
            list(self._terms), self._lengths, self._documents, self._frequencies, self._starts
        )

    def updated(self, rows: NDArray[np.int64], documents: Sequence[Sequence[str]]) -> "LexicalIndex":
        """The index of changed documents: `rows` has the previous number of each, or a negative one if new.

        `documents` are the tokens of the new ones. The others must be in the same order as before.
        """
        is_new = rows < 0
        current = np.full(len(self), -1, np.int32)
        current[rows[~is_new]] = np.flatnonzero(~is_new)
        index = copy(self)
        vars(index).pop("_by_document", None)
        vars(index).pop("_weights", None)
        index._weights_by_term = {}
        index._lengths = np.empty(len(rows), np.int32)
        index._lengths[~is_new] = self._lengths[rows[~is_new]]
        index._lengths[is_new] = [len(document) for document in documents]
        index._documents = current[self._documents]
        if len(self) > len(rows) - len(documents):
            index._drop_removed_postings()
        index._add_postings(np.flatnonzero(is_new), documents)
        index._drop_unused_terms()
        return index

    def _drop_removed_postings(self) -> None:
        removed = np.flatnonzero(self._documents < 0)
        terms = np.searchsorted(self._starts, removed, side="right") - 1
        self._documents = np.delete(self._documents, removed)
        self._frequencies = np.delete(self._frequencies, removed)
        counts = np.bincount(terms, minlength=len(self._terms))
        self._starts = self._starts - np.concatenate([[0], np.cumsum(counts)])

    def _add_postings(self, rows: NDArray[np.intp], documents: Sequence[Sequence[str]]) -> None:
        new_words = dict.fromkeys(
            word for document in documents for word in document if word not in self._terms
        )
        if new_words:
            variants = vars(self).get("_variants")
            self._terms = self._terms | {word: len(self._terms) + n for n, word in enumerate(new_words)}
            self._starts = np.append(self._starts, np.full(len(new_words), self._starts[-1]))
            if variants:
                vars(self)["_variants"] = variants.extended(self._terms, new_words)
        postings: list[tuple[int, int, int]] = sorted(
            (self._terms[word], row, count)
            for row, document in zip(rows.tolist(), documents, strict=True)
            for word, count in Counter(document).items()
        )
        if not postings:
            return
        positions: list[int] = []
        for term, row, _ in postings:
            start, stop = int(self._starts[term]), int(self._starts[term + 1])
            positions.append(start + int(np.searchsorted(self._documents[start:stop], row)))
        terms, added, counts = zip(*postings, strict=True)
        self._documents = np.insert(self._documents, positions, added)
        self._frequencies = np.insert(self._frequencies, positions, counts)
        sizes = np.bincount(terms, minlength=len(self._terms))
        self._starts = self._starts + np.concatenate([[0], np.cumsum(sizes)])

    def _drop_unused_terms(self) -> None:
        """A term without documents must not hide its variants."""
        used = np.diff(self._starts) > 0
        if used.all():
            return
        words = [word for word, is_used in zip(self._terms, used.tolist(), strict=True) if is_used]
        self._terms = {word: number for number, word in enumerate(words)}
        self._starts = np.append(self._starts[:-1][used], self._starts[-1])
        vars(self).pop("_variants", None)

    def __len__(self) -> int:
        """Number of documents."""
        return len(self._lengths)

    def document_frequency(self, word: str) -> int:
        """Number of documents that contain a word."""
        term = self._terms.get(word)
        return 0 if term is None else int(self._starts[term + 1] - self._starts[term])

    def scores(
        self, query: Sequence[str], *, visible: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """BM25T score of each document: positive if it is visible and shares a word with `query`, else zero.

        A word that occurs twice in the query counts twice.
        """
        _refuse_string(query)
        if visible is not None and visible.shape != self._lengths.shape:
            raise ValueError(f"visible has shape {visible.shape}, but the index has {len(self)} documents")

        counts = self._term_weights(query)
        if not counts:
            return np.zeros(len(self))
        times = np.fromiter(counts.values(), np.float64, len(counts))
        parts = [slice(self._starts[term], self._starts[term + 1]) for term in counts]
        if visible is None or visible.all():
            document = np.concatenate([self._documents[part] for part in parts], dtype=np.intp)
            weights = self._weights_of(list(counts))
            weight = np.concatenate([each * count for each, count in zip(weights, times, strict=True)])
            return np.bincount(document, weight, len(self)).astype(np.float64, copy=False)

        term, document, frequency = self._postings(parts)
        kept = np.flatnonzero(visible[document])
        term, document, frequency = term[kept], document[kept], frequency[kept]
        if not len(document):
            return np.zeros(len(self))
        postings = _Postings(term, frequency, self._lengths[document], len(counts))
        weight = times[term] * _posting_weights(postings, self._lengths[visible])
        # numpy's types do not know that bincount with weights returns floats
        return np.bincount(document, weight, len(self)).astype(np.float64, copy=False)

    def scores_for(self, query: Sequence[str], documents: NDArray[np.intp]) -> NDArray[np.float64]:
        """BM25T scores of a few documents, without scoring the others."""
        _refuse_string(query)
        counts = np.zeros(len(self._terms), np.float32)
        for term, count in self._term_weights(query).items():
            counts[term] = count
        starts, terms, weights = self._by_document
        first = starts[documents]
        sizes = starts[documents + 1] - first
        row = np.repeat(np.arange(len(documents)), sizes)
        posting = np.arange(len(row)) + np.repeat(first - np.cumsum(sizes) + sizes, sizes)
        scores = np.bincount(row, counts[terms[posting]] * weights[posting], len(documents))
        return scores.astype(np.float64, copy=False)

    def matching_words(self, query: Sequence[str], document: int) -> list[str]:
        """The distinct words of the query that occur in `document`, in the query's order."""
        _refuse_string(query)
        if not 0 <= document < len(self):
            raise IndexError(f"no document {document!r} in an index of {len(self)}")
        return [word for word in dict.fromkeys(query) if self._contains(word, document)]

    def _contains(self, word: str, document: int) -> bool:
        for term in self._variants.weights(word):
            documents = self._documents[self._starts[term] : self._starts[term + 1]]
            position = int(np.searchsorted(documents, document))
            if position < len(documents) and int(documents[position]) == document:
                return True
        return False

    def _term_weights(self, query: Sequence[str]) -> dict[int, float]:
        """How often each indexed term, or a variant of it, occurs in the query, by term number."""
        weights: dict[int, float] = {}
        for word in query:
            for term, weight in self._variants.weights(word).items():
                weights[term] = weights.get(term, 0.0) + weight
        return weights

    @cached_property
    def _variants(self) -> WordVariants:
        return WordVariants(self._terms)

    def _postings(
        self, parts: Sequence[slice]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
        """Position of the query term, document, frequency: one entry per posting."""
        term = np.repeat(np.arange(len(parts)), [part.stop - part.start for part in parts])
        # wide types from here on: numpy would widen the narrow ones again at every use
        documents = np.concatenate([self._documents[part] for part in parts], dtype=np.intp)
        frequencies = np.concatenate([self._frequencies[part] for part in parts], dtype=np.float64)
        return term, documents, frequencies

    def _weights_of(self, terms: Sequence[int]) -> list[NDArray[np.float64]]:
        """What the postings of these terms add if all documents are visible; computed once for each term."""
        if len(self._documents) <= _FEW_POSTINGS:
            return [self._weights[self._starts[term] : self._starts[term + 1]] for term in terms]
        weights = self._weights_by_term
        if missing := [term for term in terms if term not in weights]:
            parts = [slice(self._starts[term], self._starts[term + 1]) for term in missing]
            position, document, frequency = self._postings(parts)
            postings = _Postings(position, frequency, self._lengths[document], len(missing))
            ends = np.cumsum([part.stop - part.start for part in parts])[:-1]
            rows = np.split(_posting_weights(postings, self._lengths), ends)
            weights.update(zip(missing, rows, strict=True))
        return [weights[term] for term in terms]

    @cached_property
    def _weights(self) -> NDArray[np.float64]:
        """What each posting adds to its document's score if all documents are visible."""
        sizes = np.diff(self._starts)
        postings = _Postings(
            np.repeat(np.arange(len(sizes)), sizes),
            self._frequencies.astype(np.float64),
            self._lengths[self._documents],
            len(sizes),
        )
        return _posting_weights(postings, self._lengths)

    @cached_property
    def _by_document(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """Where each document's postings start; their terms and weights."""
        order = np.argsort(self._documents, kind="stable")
        terms = np.repeat(np.arange(len(self._terms), dtype=np.int32), np.diff(self._starts))
        starts = np.searchsorted(self._documents[order], np.arange(len(self) + 1))
        return starts, terms[order], self._weights[order]


class _Postings(NamedTuple):
    """Occurrences of terms in documents, one entry per (term, document)."""

    term: NDArray[np.intp]
    frequency: NDArray[np.float64]
    length: NDArray[np.int32]
    """Of the document."""
    terms: int
    """Number of distinct terms."""


def _posting_weights(postings: _Postings, lengths: NDArray[np.int32]) -> NDArray[np.float64]:
    """What each posting adds to its document's score; `lengths` are those of all visible documents."""
    term = postings.term
    df = np.maximum(np.bincount(term, minlength=postings.terms), 1)  # avoids 0/0 for a term without postings
    frequency = postings.frequency / length_norms(postings.length, float(lengths.mean()))
    means = np.bincount(term, np.log(1 + frequency), postings.terms) / df
    k1 = solve_k1(means)[term]
    idf = np.log((len(lengths) + 1) / df)
    gain = (k1 + 1) * frequency / (k1 + frequency)
    return idf[term] * gain


def length_norms(lengths: NDArray[np.int32], average: float) -> NDArray[np.float64]:
    """What the frequencies of terms in documents of these lengths are divided by."""
    return 1 - _B + _B * (lengths / average)


def solve_k1(target: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solve g(k1) = k1 / (k1 - 1) * log(k1) = target; a term's target is its mean of log(1 + frequency).

    Newton's method on log g over u = log k1, where g = u / (1 - exp(-u)). That function is increasing and
    concave, so from a start left of the root every step stays left of it and gets closer: no bracketing is
    needed, and k1 = 1, where the formula of g divides by zero, is an ordinary point. Two starts left of the
    root: target - 1, as g <= 1 + u; and for k1 < 1, 2 log(target), as g <= exp(u / 2).
    """
    if not (np.isfinite(target) & (target >= 0)).all():
        raise ValueError(f"every target must be finite and not negative: {target!r}")
    positive = target > 0  # g(0) = 0
    goal = np.log(np.where(positive, target, 1.0))
    u = np.where(goal >= 0, target - 1, 2 * goal)
    for _ in range(_NEWTON_STEPS):
        value, slope = _log_g(u)
        u = u + (goal - value) / slope
    return np.where(positive, np.exp(u), 0.0)


def _log_g(u: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log g at k1 = exp(u), and its derivative; in terms of -|u|, which cannot overflow."""
    near = np.abs(u) < 1e-8  # both formulas are 0/0 at zero; this close, the tangent is exact
    size = np.where(near, 1.0, np.abs(u))
    decay = -np.expm1(-size)
    value = np.log(size / decay) + np.minimum(u, 0)
    slope = np.where(u > 0, 1 / size - (1 - decay) / decay, 1 / decay - 1 / size)
    return np.where(near, u / 2, value), np.where(near, 0.5, slope)


def _refuse_string(words: Sequence[str]) -> None:
    """A string is a sequence of strings too, and would be searched letter by letter."""
    if isinstance(words, str):
        raise TypeError("expected a list of words, not a string: split it with `tokenize`")
