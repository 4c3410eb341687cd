"""Tools that are hard to tell apart, and what would tell them apart."""

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
from contextune.tools.tool_text import field_words
from contextune.types import Tool

Kind = Literal["confused", "same", "close"]

_CLOSE = 0.85
"""Tools whose vectors are as alike as this are close, whatever their words."""
_ALIKE = 0.6
"""Tools less alike than this never are; between the two, the words they share decide: see `_is_close`."""
_BLOCK = 512
_PAIRS = 50_000
"""How many of the most alike pairs are looked at: where all tools are of one family there are millions."""
_EACH = 2
"""In how many close pairs one tool is named: one family would fill the list otherwise."""
_LISTED = 100
_WORDS = 5
_FILLERS = frozenset(
    tokenize(
        "a an and any are as at be been by can do does for from has have if in into is it its not of on or "
        "so such than that the their them then there these this those to use used uses using was what when "
        "where which who whom will with you your"
    )
)


@dataclass(frozen=True, slots=True, eq=False)
class Confusable:
    """Tools taken for one another. Of a pair that queries confused, the first was wanted."""

    kind: Kind
    tools: tuple[Tool, ...]
    likeness: float
    """The cosine of their vectors."""
    overlap: float
    """The share of their words, in names and descriptions, that both have."""
    own: tuple[tuple[str, ...], ...]
    """The words that each tool has and the other lacks."""
    queries: tuple[str, ...]
    """The ids of the queries that wanted one and found the other first."""
    advice: str


def confusable(catalog: Catalog, vectors: Matrix, cases: Sequence[EvaluatedQuery] = ()) -> list[Confusable]:
    """What queries confused, most often first; then the same tool twice; then close pairs, closest first."""
    search = _SimilaritySearch(catalog, vectors)
    confused = search.confused(cases)
    known = {frozenset(tool.id for tool in found.tools) for found in confused}
    same = [twins for twins in search.same() if frozenset(tool.id for tool in twins.tools) not in known]
    return [*confused, *same, *search.close(known)]


def close_pairs(
    vectors: Matrix, least: float, limit: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]]:
    """The pairs of rows whose cosine is `least` or more, best first; no more than `limit`, the best."""
    first, second = np.empty(0, np.intp), np.empty(0, np.intp)
    alike = np.empty(0, np.float32)
    for start in range(0, len(vectors), _BLOCK):
        # from the block's own rows on: what lies before was met by an earlier block
        product = np.triu(vectors[start : start + _BLOCK] @ vectors[start:].T, 1)
        row, column = np.nonzero(product >= least)
        first, second = np.append(first, row + start), np.append(second, column + start)
        alike = np.append(alike, product[row, column])
        best = np.argsort(-alike, kind="stable")[:limit]
        first, second, alike = first[best], second[best], alike[best]
    return first, second, alike


class _SimilaritySearch:
    def __init__(self, catalog: Catalog, vectors: Matrix) -> None:
        self._catalog = catalog
        self._vectors = vectors
        self._identities = [tool.identity for tool in catalog]
        self._places = {tool.id: place for place, tool in enumerate(catalog)}
        self._said: dict[int, Mapping[str, str]] = {}

    def confused(self, cases: Sequence[EvaluatedQuery]) -> list[Confusable]:
        """Pairs of which queries wanted one and found the other first."""
        seen: dict[frozenset[str], list[tuple[str, EvaluatedQuery]]] = {}
        for case in cases:
            if case.query.relevant and case.found and case.found[0].tool.id not in case.query.relevant:
                ranks = case.ranks
                wanted = min(ranks, key=lambda tool: ranks[tool] or math.inf)
                seen.setdefault(frozenset((wanted, case.found[0].tool.id)), []).append((wanted, case))
        found: list[Confusable] = []
        for pair, each in seen.items():
            wanted = Counter(tool for tool, _ in each).most_common(1)[0][0]
            (other,) = pair - {wanted}
            found.append(
                self._pair("confused", self._places[wanted], self._places[other], [c for _, c in each])
            )
        return sorted(found, key=lambda one: (-len(one.queries), -one.likeness))

    def same(self) -> Iterator[Confusable]:
        """Tools that several servers offer."""
        groups: dict[str, list[int]] = {}
        for place, identity in enumerate(self._identities):
            groups.setdefault(identity, []).append(place)
        for places in groups.values():
            if len(places) > 1:
                tools = tuple(self._catalog[place] for place in places)
                alike = float(self._vectors[places[0]] @ self._vectors[places[1]])
                yield Confusable("same", tools, alike, 1.0, ((),) * len(tools), (), _TWICE)

    def close(self, known: set[frozenset[str]]) -> list[Confusable]:
        """Pairs that are too alike, each tool in a few of them only."""
        found: list[tuple[float, int, int]] = []
        for first, second, alike in zip(*close_pairs(self._vectors, _ALIKE, _PAIRS), strict=True):
            one, other = int(first), int(second)
            pair = frozenset((self._catalog[one].id, self._catalog[other].id))
            if pair in known or self._identities[one] == self._identities[other]:
                continue
            shared = self._overlap(one, other)
            if _is_close(float(alike), shared):
                found.append((float(alike) + shared, one, other))
        found.sort(key=lambda pair: (-pair[0], pair[1:]))
        named = Counter[int]()
        listed: list[Confusable] = []
        for _, one, other in found:
            if max(named[one], named[other]) < _EACH and len(listed) < _LISTED:
                named.update((one, other))
                listed.append(self._pair("close", one, other, ()))
        return listed

    def _pair(self, kind: Kind, one: int, other: int, cases: Sequence[EvaluatedQuery]) -> Confusable:
        tools = (self._catalog[one], self._catalog[other])
        alike = float(self._vectors[one] @ self._vectors[other])
        shared = self._overlap(one, other)
        own = (self._own(one, other), self._own(other, one))
        twice = self._identities[one] == self._identities[other]
        difference = _TWICE if twice else _difference(tools, own)
        advice = list(self._asked(one, other, cases))
        if not advice or twice or _is_close(alike, shared):
            advice.insert(0, difference)
        queries = tuple(case.query.id for case in cases)
        return Confusable(kind, tools, alike, shared, own, queries, " ".join(advice))

    def _asked(self, wanted: int, first: int, cases: Sequence[EvaluatedQuery]) -> Iterator[str]:
        """What the requests that confused two tools would have needed."""
        if not cases:
            return
        texts = [tokenize(case.query.text) for case in cases]
        asked = Counter(word for text in texts for word in dict.fromkeys(text))
        said = [word for word, _ in asked.most_common() if word not in _FILLERS and len(word) > 1]
        one, other = self._words(wanted), self._words(first)
        name, instead = self._catalog[wanted].id, self._catalog[first].id
        label = identifier_words(self._catalog[first].name)
        if label and 2 * sum(set(label) <= set(text) for text in texts) >= len(texts):
            yield f"Requests hold {_listed(label)}, the whole name of {instead}: give it one less common."
        elif only := [word for word in said if _stem(word) in other and _stem(word) not in one]:
            yield (
                f"Requests say {_listed(only)}, which {instead} has and {name} lacks: "
                f"if {name} is for that too, let its description say so."
            )
        elif not any(_stem(word) in one for word in said):
            yield f"Requests have no word in common with {name}: describe it as people ask for it."

    def _words(self, place: int) -> Mapping[str, str]:
        """The words of a name and description, by their stems, in their order."""
        if place not in self._said:
            tool = self._catalog[place]
            said = [*identifier_words(tool.name), *tokenize(tool.title), *tokenize(tool.description)]
            stems: dict[str, str] = {}
            for word in said:
                if word not in _FILLERS:
                    stems.setdefault(_stem(word), word)
            self._said[place] = stems
        return self._said[place]

    def _overlap(self, one: int, other: int) -> float:
        first, second = self._words(one).keys(), self._words(other).keys()
        return len(first & second) / max(1, len(first | second))

    def _own(self, one: int, other: int) -> tuple[str, ...]:
        lacking = self._words(other)
        return tuple(word for stem, word in self._words(one).items() if stem not in lacking)


_TWICE = (
    "This is the same tool twice: offer one of them, or say in each description what its server alone has."
)


def _is_close(alike: float, shared: float) -> bool:
    # a server's name in a tool's text makes the same words less alike, so that those must count too
    return alike >= _CLOSE or (alike >= _ALIKE and alike + shared / 2 >= 1)


def _difference(tools: tuple[Tool, Tool], own: tuple[tuple[str, ...], tuple[str, ...]]) -> str:
    for tool in tools:
        if not tool.description.strip():
            return f"{tool.id} has no description: write one that says what it is for."
    (first, second), (one, other) = tools, own
    if one and other:
        return (
            f"Only {first.id} says {_listed(one)}; only {second.id} says {_listed(other)}. "
            "If that is the difference, let names or first sentences say it; else write when to use which."
        )
    if one or other:
        telling, bare = (first, second) if one else (second, first)
        return (
            f"Only {telling.id} says {_listed(one or other)}, and {bare.id} nothing of its own: "
            f"write there when it is the better choice."
        )
    differ = [_parameters(tool) for tool in tools]
    more = [word for word in differ[0] if word not in differ[1]] or [
        word for word in differ[1] if word not in differ[0]
    ]
    hint = f" Their parameters differ in {_listed(more)}: say what that means." if more else ""
    return f"Both say the same. Offer one of them, or write in each when to use it and not the other.{hint}"


def _parameters(tool: Tool) -> list[str]:
    return [word for word in dict.fromkeys(field_words(tool)["parameters"]) if word not in _FILLERS]


def _listed(several: Sequence[str]) -> str:
    shown = ", ".join(f"“{word}”" for word in several[:_WORDS])
    return f"{shown} and more" if len(several) > _WORDS else shown


def _stem(word: str) -> str:
    """Near enough to tell that "notes" and "note" are one word; it is compared, never shown."""
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            word = word.removesuffix(ending)
            break
    return word.removesuffix("e") if len(word) > 3 else word
