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
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

Method = Literal["bm25t", "bm25"]

_NEWTON_STEPS = 4  # three come within 1e-7 of every root, and each step doubles the digits


class LexicalIndex:
    """An inverted index over documents given as lists of words; immutable once built."""

    __slots__ = ("_documents", "_frequencies", "_lengths", "_starts", "_terms")

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
        b: float = 0.75,
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

        asked = Counter(word for word in query if word in self._terms)
        if not asked:
            return np.zeros(len(self))
        times = np.fromiter(asked.values(), np.float64, len(asked))
        term, document, frequency = self._postings([self._terms[word] for word in asked])
        lengths = self._lengths
        if visible is not None:
            seen = np.flatnonzero(visible[document])
            term, document, frequency = term[seen], document[seen], frequency[seen]
            lengths = lengths[visible]
        if not len(document):
            return np.zeros(len(self))

        held = np.bincount(term, minlength=len(times))
        df = np.maximum(held, 1)  # a term that no visible document holds weighs nothing below
        relative_length = self._lengths[document] / lengths.mean()
        frequency = frequency / (1 - b + b * relative_length)
        if method == "bm25t":
            means = np.bincount(term, np.log(1 + frequency), len(times)) / df
            own_k1 = solve_k1(means)[term]
            idf = np.log((len(lengths) + 1) / df)
            gain = (own_k1 + 1) * frequency / (own_k1 + frequency)
        else:
            idf = np.log1p((len(lengths) - df + 0.5) / (df + 0.5))
            gain = frequency / (k1 + frequency)
        total = np.bincount(document, (times * idf)[term] * gain, len(self))
        return total.astype(np.float64, copy=False)  # numpy's types do not know that weights make floats

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

    def _postings(
        self, terms: Sequence[int]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
        """Which of `terms`, in which document, how often: one entry each."""
        slices = [slice(self._starts[term], self._starts[term + 1]) for term in terms]
        sizes = [part.stop - part.start for part in slices]
        # the empty arrays stand first so that no term at all is no special case
        documents = [np.empty(0, np.int32), *(self._documents[part] for part in slices)]
        frequencies = [np.empty(0, np.float32), *(self._frequencies[part] for part in slices)]
        which = np.repeat(np.arange(len(terms)), np.array(sizes, np.intp))
        # wide types from here on: numpy would widen the narrow ones again at every use
        return which, np.concatenate(documents, dtype=np.intp), np.concatenate(frequencies, dtype=np.float64)


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
