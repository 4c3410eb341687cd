"""Find tools that are hard to tell apart, and suggest how to tell them apart."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from contextune.embed import Matrix
from contextune.evaluate.evaluation import EvaluatedQuery
from contextune.search import identifier_words, tokenize
from contextune.tools import Catalog
from contextune.tools.tool_text import field_tokens
from contextune.types import Tool

Kind = Literal["confused", "same", "close"]

_CLOSE = 0.85
"""Tools with this cosine similarity are close, whatever their words."""
_MIN_SIMILARITY = 0.6
"""Less similar tools are never close; between the two, shared words decide: see `_is_close`."""
_BLOCK = 512
_MAX_PAIRS = 50_000
"""Candidate pairs; a catalogue of similar tools has millions."""
_MAX_PAIRS_PER_TOOL = 2
"""So that one family of tools does not fill the list."""
_MAX_LISTED = 100
_MAX_WORDS = 5
_STOP_WORDS = frozenset(
    tokenize(
        "a an and any are as at be been by can do does for from has have if in into is it its not of on or "
        "so such than that the their them then there these this those to use used uses using was what when "
        "where which who whom will with you your"
    )
)


@dataclass(frozen=True, slots=True, eq=False)
class ConfusableTools:
    """Tools that are easily confused. In a pair of kind "confused", the first is the relevant one."""

    kind: Kind
    tools: tuple[Tool, ...]
    similarity: float
    """The cosine of their vectors."""
    overlap: float
    """The share of the words in their names and descriptions that both have."""
    unique_words: tuple[tuple[str, ...], ...]
    """The words that each tool has and the other does not."""
    queries: tuple[str, ...]
    """The ids of the queries that ranked the other tool first."""
    advice: str


def find_confusable(
    catalog: Catalog, vectors: Matrix, cases: Sequence[EvaluatedQuery] = ()
) -> list[ConfusableTools]:
    """Pairs confused by queries, most often first; then duplicate tools; then close pairs, closest first."""
    search = _SimilaritySearch(catalog, vectors)
    confused = search.confused(cases)
    reported = {_ids(group) for group in confused}
    duplicates = [group for group in search.duplicates() if _ids(group) not in reported]
    return [*confused, *duplicates, *search.close(reported)]


def _ids(group: ConfusableTools) -> frozenset[str]:
    return frozenset(tool.id for tool in group.tools)


def similar_pairs(
    vectors: Matrix, minimum: float, limit: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]]:
    """The best `limit` pairs of rows with a cosine of at least `minimum`: two rows and the cosine."""
    first, second = np.empty(0, np.intp), np.empty(0, np.intp)
    cosines = np.empty(0, np.float32)
    for start in range(0, len(vectors), _BLOCK):
        # rows before this block were compared in an earlier one
        product = np.triu(vectors[start : start + _BLOCK] @ vectors[start:].T, 1)
        row, column = np.nonzero(product >= minimum)
        first, second = np.append(first, row + start), np.append(second, column + start)
        cosines = np.append(cosines, product[row, column])
        best = np.argsort(-cosines, kind="stable")[:limit]
        first, second, cosines = first[best], second[best], cosines[best]
    return first, second, cosines


class _SimilaritySearch:
    def __init__(self, catalog: Catalog, vectors: Matrix) -> None:
        self._catalog = catalog
        self._vectors = vectors
        self._identities = [tool.identity for tool in catalog]
        self._positions = {tool.id: position for position, tool in enumerate(catalog)}
        self._stems: dict[int, Mapping[str, str]] = {}

    def confused(self, cases: Sequence[EvaluatedQuery]) -> list[ConfusableTools]:
        """Pairs of a relevant tool and the tool that a query ranked first instead."""
        by_pair: dict[frozenset[str], list[tuple[str, EvaluatedQuery]]] = {}
        for case in cases:
            if case.query.relevant and case.hits and case.hits[0].tool.id not in case.query.relevant:
                ranks = case.ranks
                relevant = min(ranks, key=lambda tool: ranks[tool] or math.inf)
                pair = frozenset((relevant, case.hits[0].tool.id))
                by_pair.setdefault(pair, []).append((relevant, case))
        pairs: list[ConfusableTools] = []
        for pair, entries in by_pair.items():
            relevant = Counter(tool for tool, _ in entries).most_common(1)[0][0]
            (other,) = pair - {relevant}
            confused_by = [case for _, case in entries]
            pairs.append(
                self._pair("confused", self._positions[relevant], self._positions[other], confused_by)
            )
        return sorted(pairs, key=lambda pair: (-len(pair.queries), -pair.similarity))

    def duplicates(self) -> Iterator[ConfusableTools]:
        """The same tool on several servers."""
        groups: dict[str, list[int]] = {}
        for position, identity in enumerate(self._identities):
            groups.setdefault(identity, []).append(position)
        for positions in groups.values():
            if len(positions) > 1:
                tools = tuple(self._catalog[position] for position in positions)
                similarity = float(self._vectors[positions[0]] @ self._vectors[positions[1]])
                yield ConfusableTools(
                    "same", tools, similarity, 1.0, ((),) * len(tools), (), _DUPLICATE_ADVICE
                )

    def close(self, reported: set[frozenset[str]]) -> list[ConfusableTools]:
        """Close pairs that are not reported yet, each tool in a few of them only."""
        candidates: list[tuple[float, int, int]] = []
        pairs = similar_pairs(self._vectors, _MIN_SIMILARITY, _MAX_PAIRS)
        for first, second, similarity in zip(*pairs, strict=True):
            a, b = int(first), int(second)
            pair = frozenset((self._catalog[a].id, self._catalog[b].id))
            if pair in reported or self._identities[a] == self._identities[b]:
                continue
            overlap = self._overlap(a, b)
            if _is_close(float(similarity), overlap):
                candidates.append((float(similarity) + overlap, a, b))
        candidates.sort(key=lambda pair: (-pair[0], pair[1:]))
        counts = Counter[int]()
        listed: list[ConfusableTools] = []
        for _, a, b in candidates:
            if max(counts[a], counts[b]) < _MAX_PAIRS_PER_TOOL and len(listed) < _MAX_LISTED:
                counts.update((a, b))
                listed.append(self._pair("close", a, b, ()))
        return listed

    def _pair(self, kind: Kind, a: int, b: int, cases: Sequence[EvaluatedQuery]) -> ConfusableTools:
        tools = (self._catalog[a], self._catalog[b])
        similarity = float(self._vectors[a] @ self._vectors[b])
        overlap = self._overlap(a, b)
        unique = (self._unique_words(a, b), self._unique_words(b, a))
        is_duplicate = self._identities[a] == self._identities[b]
        difference = _DUPLICATE_ADVICE if is_duplicate else _difference_advice(tools, unique)
        advice = list(self._query_advice(a, b, cases))
        if not advice or is_duplicate or _is_close(similarity, overlap):
            advice.insert(0, difference)
        queries = tuple(case.query.id for case in cases)
        return ConfusableTools(kind, tools, similarity, overlap, unique, queries, " ".join(advice))

    def _query_advice(self, relevant: int, first: int, cases: Sequence[EvaluatedQuery]) -> Iterator[str]:
        """Why the queries ranked another tool above the relevant one, and what to change."""
        if not cases:
            return
        texts = [tokenize(case.query.text) for case in cases]
        counts = Counter(word for text in texts for word in dict.fromkeys(text))
        query_words = [word for word, _ in counts.most_common() if word not in _STOP_WORDS and len(word) > 1]
        relevant_stems, first_stems = self._words(relevant), self._words(first)
        name, instead = self._catalog[relevant].id, self._catalog[first].id
        name_words = identifier_words(self._catalog[first].name)
        if name_words and 2 * sum(set(name_words) <= set(text) for text in texts) >= len(texts):
            yield f"Requests contain {_quote(name_words)}, the whole name of {instead}: give it a rarer name."
        elif only := [
            word for word in query_words if _stem(word) in first_stems and _stem(word) not in relevant_stems
        ]:
            yield (
                f"Requests say {_quote(only)}, which {instead} has and {name} lacks: "
                f"if {name} is for that too, say so in its description."
            )
        elif not any(_stem(word) in relevant_stems for word in query_words):
            yield f"Requests share no word with {name}: describe it in the words of its users."

    def _words(self, position: int) -> Mapping[str, str]:
        """Stem → word of a tool's name, title and description, in order."""
        if position not in self._stems:
            tool = self._catalog[position]
            words = [*identifier_words(tool.name), *tokenize(tool.title), *tokenize(tool.description)]
            stems: dict[str, str] = {}
            for word in words:
                if word not in _STOP_WORDS:
                    stems.setdefault(_stem(word), word)
            self._stems[position] = stems
        return self._stems[position]

    def _overlap(self, a: int, b: int) -> float:
        first, second = self._words(a).keys(), self._words(b).keys()
        return len(first & second) / max(1, len(first | second))

    def _unique_words(self, a: int, b: int) -> tuple[str, ...]:
        others = self._words(b)
        return tuple(word for stem, word in self._words(a).items() if stem not in others)


_DUPLICATE_ADVICE = (
    "The same tool on two servers: offer one of them, or say in each description what is special about it."
)


def _is_close(similarity: float, overlap: float) -> bool:
    # the server's name in a tool's text lowers the similarity of equal descriptions, so words count too
    return similarity >= _CLOSE or (similarity >= _MIN_SIMILARITY and similarity + overlap / 2 >= 1)


def _difference_advice(tools: tuple[Tool, Tool], unique: tuple[tuple[str, ...], tuple[str, ...]]) -> str:
    for tool in tools:
        if not tool.description.strip():
            return f"{tool.id} has no description: write one that says what it is for."
    (first, second), (of_first, of_second) = tools, unique
    if of_first and of_second:
        return (
            f"Only {first.id} says {_quote(of_first)}; only {second.id} says {_quote(of_second)}. If that is "
            "the difference, say it in the name or first sentence; else write when to use which."
        )
    if of_first or of_second:
        specific, generic = (first, second) if of_first else (second, first)
        return (
            f"Only {specific.id} says {_quote(of_first or of_second)}, and {generic.id} says nothing "
            f"the other does not: write in {generic.id} when it is the better choice."
        )
    parameters = [_parameter_words(tool) for tool in tools]
    differing = [word for word in parameters[0] if word not in parameters[1]] or [
        word for word in parameters[1] if word not in parameters[0]
    ]
    hint = f" Their parameters differ in {_quote(differing)}: say what that means." if differing else ""
    return (
        f"Both say the same. Offer one of them, or write in each when to use it instead of the other.{hint}"
    )


def _parameter_words(tool: Tool) -> list[str]:
    return [word for word in dict.fromkeys(field_tokens(tool)["parameters"]) if word not in _STOP_WORDS]


def _quote(words: Sequence[str]) -> str:
    quoted = ", ".join(f"“{word}”" for word in words[:_MAX_WORDS])
    return f"{quoted} and more" if len(words) > _MAX_WORDS else quoted


def _stem(word: str) -> str:
    """A crude stem, so that "notes" equals "note"; compared, never shown."""
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            word = word.removesuffix(ending)
            break
    return word.removesuffix("e") if len(word) > 3 else word
