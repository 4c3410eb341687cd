"""BM25T with statistics of words that are in a database."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextune.search.bm25 import length_norms, solve_k1
from contextune.search.word_variants import WordVariants, spelling_keys
from contextune.tools.large.segment import ALL_FIELDS
from contextune.tools.tool_text import FIELDS

Tokens = Mapping[str, Sequence[str]]
"""The tokens of a tool by field."""


@dataclass(frozen=True, slots=True)
class WordStatistics:
    """The words of a catalogue that a request may match, and the size of the catalogue."""

    tools: int
    averages: Mapping[str, float]
    """Mean length by field."""
    words: Mapping[str, tuple[Sequence[int], Sequence[float]]]
    """By word and field: number of tools, sum of log(1 + frequency)."""


class QueryWords:
    """The words that a request matches, with their weights in each field."""

    def __init__(self, statistics: WordStatistics) -> None:
        self.statistics = statistics
        self._words = list(statistics.words)
        self._variants = WordVariants({word: number for number, word in enumerate(self._words)})
        self._k1: dict[tuple[str, str], float] = {}

    def weights(self, query: Sequence[str]) -> dict[str, float]:
        """How often each word of the catalogue, or a variant of it, is in a query."""
        weights: dict[str, float] = {}
        for word, count in Counter(query).items():
            for number, weight in self._variants.weights(word).items():
                weights[self._words[number]] = weights.get(self._words[number], 0.0) + weight * count
        return weights

    def frequency(self, word: str, field: str) -> int:
        """The number of tools with a word."""
        counts = self.statistics.words.get(word)
        return max(0, counts[0][ALL_FIELDS.index(field)]) if counts else 0

    def rarity(self, word: str, field: str) -> float:
        """The inverse document frequency of a word."""
        return max(0.0, math.log((self.statistics.tools + 1) / max(1, self.frequency(word, field))))

    def k1(self, word: str, field: str) -> float:
        """The k1 of a word, from how often it is repeated in the tools that have it."""
        if not self._k1:
            self._k1 = self._solve_all()
        return self._k1[word, field]

    def _solve_all(self) -> dict[tuple[str, str], float]:
        keys = [(word, field) for word in self._words for field in ALL_FIELDS]
        means = [
            max(0.0, self.statistics.words[word][1][number] / max(1, self.frequency(word, field)))
            for word in self._words
            for number, field in enumerate(ALL_FIELDS)
        ]
        return dict(zip(keys, solve_k1(np.array(means)).tolist(), strict=True))


class TokenScores:
    """BM25T over one field of a few tools, by their tokens. It is a `FieldScores`."""

    def __init__(self, field: str, documents: Sequence[Sequence[str]], words: QueryWords) -> None:
        self._field, self._words = field, words
        known = words.statistics.words.__contains__
        self._counts = [Counter(filter(known, document)) for document in documents]
        lengths = np.array([len(document) for document in documents], np.int32)
        self._norms = length_norms(lengths, words.statistics.averages[field])

    def __len__(self) -> int:
        """The number of tools in the catalogue."""
        return self._words.statistics.tools

    def document_frequency(self, word: str) -> int:
        """The number of tools in the catalogue with a word."""
        return self._words.frequency(word, self._field)

    def scores(
        self, query: Sequence[str], *, visible: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """Score of each tool; zero if it is not visible."""
        scores = np.zeros(len(self._counts))
        for word, weight in self._words.weights(query).items():
            if not self.document_frequency(word):
                continue
            count = np.array([counts[word] for counts in self._counts], np.float64)
            if not count.any():
                continue
            frequency, k1 = count / self._norms, self._words.k1(word, self._field)
            gain = (k1 + 1) * frequency / (k1 + frequency + (frequency == 0))
            scores += weight * self._words.rarity(word, self._field) * gain
        return scores if visible is None else scores * visible

    def scores_for(self, query: Sequence[str], documents: NDArray[np.intp]) -> NDArray[np.float64]:
        """Scores of some tools."""
        return self.scores(query)[documents]

    def matching_words(self, query: Sequence[str], document: int) -> list[str]:
        """The distinct words of the query that a tool has, in the query's order."""
        counts = self._counts[document]
        return [
            word
            for word in dict.fromkeys(query)
            if any(counts[other] for other in self._words.weights([word]))
        ]


def all_tokens(tokens: Tokens) -> list[str]:
    """The tokens of all fields."""
    return [word for field in FIELDS for word in tokens[field]]


def count_words(
    documents: Iterable[Tokens], averages: Mapping[str, float]
) -> dict[str, tuple[list[int], list[float]]]:
    """By word and field: number of tools, and sum of log(1 + frequency)."""
    words: dict[str, tuple[list[int], list[float]]] = {}
    for tokens in documents:
        for number, field in enumerate(ALL_FIELDS):
            document = all_tokens(tokens) if field == "all" else tokens[field]
            norm = float(length_norms(np.array([len(document)], np.int32), averages[field])[0])
            for word, count in Counter(document).items():
                tools, sums = words.setdefault(word, ([0] * len(ALL_FIELDS), [0.0] * len(ALL_FIELDS)))
                tools[number] += 1
                sums[number] += math.log1p(count / norm)
    return words


def spellings(word: str) -> list[str]:
    """Keys under which other spellings of a word find it; none for plain ASCII."""
    return sorted(spelling_keys(word)) if not word.isascii() else []


def searched_spellings(words: Iterable[str]) -> list[str]:
    """Keys that lead from the words of a request to other spellings."""
    return sorted({key for word in words for key in (word, *spelling_keys(word))})
