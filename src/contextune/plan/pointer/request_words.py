"""How much of a value the request says: its words, their order, and how telling they are.

What is said counts more than what an item gives. So features compare every candidate with the words of the
request, weighted by rarity: "note" or "the" say little, "percurso" says which note is meant.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.names import fold_accents
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.scoring.priors import CommonWords
from contextune.plan.pointer.spelling import respelled
from contextune.plan.pointer.values.spans import TextSpan, find_spans
from contextune.search import tokenize

_WORD = re.compile(r"[^\W_]+")
_QUOTE = re.compile(r"[\"“«„]|(?<!\w)['‘](?=\w)")
_PRONOUNS = frozenset(
    tokenize("""
    he him his she her hers they them their theirs it its that this these those one ones there here same again
    usual who which what
    """)
)
_FOLLOWERS = ("by", "to", "from", "in", "at", "on", "near", "into", "for", "with", "and", "is", "as", "that")
DELIMITERS = frozenset((*_FOLLOWERS, "the", "a", "an", "my", "our", "called", "named", "about", "does", "of"))
"""Words between which a whole value stands: "the … playlist", "play … by"."""
_ALL = frozenset(["all", "any", "every", "everything", "open", "my"])
_SENTENCE_MARKS = (". ", "! ", "? ", "; ", "\n")
_END, _MARK, _OTHER = -1.0, -2.0, -3.0
_MAX_WORDS = 16
"""Words of a value that are compared in order; more are the text of a mail or a note."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """How much of a value the request says."""

    share: float = 0.0
    """Share of the value's words in the request, weighted by rarity."""
    weight: float = 0.0
    """Sum of the rarities of these words."""
    run: int = 0
    """Length of the longest run of words that is in the request in the same order."""
    run_weight: float = 0.0
    verbatim: bool = False
    """Whether the run is the whole value."""
    places: frozenset[int] = frozenset()
    """Places of the run in the request, in words."""


NO_OVERLAP = Overlap()


@lru_cache(maxsize=16384)
def folded_words(text: str) -> tuple[str, ...]:
    """The words of a text as they are compared: without case, accents and the ending of plurals."""
    return tuple(_stem(fold_accents(word)) for word in tokenize(text))


def time_words(inputs: PlanningInput) -> frozenset[str]:
    """The words of a request that say when."""
    return frozenset(word for phrase in inputs.time_phrases for word in folded_words(phrase.text))


@lru_cache(maxsize=4096)
def folded_vocabulary(text: str) -> frozenset[str]:
    """The different words of `folded_words`; cached, since the items of a user recur in many requests."""
    return frozenset(folded_words(text))


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 4 and word.endswith("s") and not word.endswith("ss") else word


class RequestWords:
    """The words of a request, with their places and rarities."""

    def __init__(self, inputs: PlanningInput, common: CommonWords) -> None:
        self.inputs, self.common = inputs, common
        self.text = inputs.request.text
        self._rarities: dict[str, float] = {}
        self.words = self._respelled(folded_words(self.text))
        self.rarity = [self._rarity(word) for word in self.words]
        self._total_rarity = sum(self.rarity)
        self._places: dict[str, list[int]] = {}
        for place, word in enumerate(self.words):
            self._places.setdefault(word, []).append(place)
        self._word_starts = [match.start() for match in _WORD.finditer(self.text)]
        self._overlaps: dict[str, Overlap] = {}
        self._weights: dict[str, float] = {}
        self._neighbours: dict[tuple[int, int], tuple[str, str]] = {}

    def _respelled(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """The words; a rare one that no item has is spelt as the only nearly equal word of the titles."""
        items = self.inputs.items
        rare = {word for word in words if word not in STOP_WORDS and not self.common.log_count(word)}
        rare -= frozenset[str]().union(*(folded_vocabulary(item.text) for item in items))
        rare -= {
            word for n in self.inputs.names if n.words for word in folded_words(self.text[n.start : n.end])
        }
        titles = frozenset[str]().union(*(folded_vocabulary(item.title) for item in items)) if rare else ()
        return tuple(respelled(word, titles) if word in rare else word for word in words)

    def _rarity(self, word: str) -> float:
        rarity = self._rarities.get(word)
        if rarity is None:
            count = max(self.common.log_count(word), self.common.log_count(f"{word}s"))
            rarity = self._rarities[word] = 1.0 / (1.0 + count)
        return rarity

    def overlap(self, value: str) -> Overlap:
        """How much of the value the request says."""
        overlap = self._overlaps.get(value)
        if overlap is None:
            overlap = self._overlaps[value] = self._overlap(folded_words(value))
        return overlap

    def _overlap(self, words: Sequence[str]) -> Overlap:
        found = {word for word in words if word in self._places}
        if not found:
            return NO_OVERLAP
        total = sum(map(self._rarity, set(words)))
        weight = sum(self.rarity[self._places[word][0]] for word in found)
        best: tuple[float, int, int] = (0.0, 0, 0)
        ends: dict[int, int] = {}
        for word in words[:_MAX_WORDS]:
            ends = {place: ends.get(place - 1, 0) + 1 for place in self._places.get(word, ())}
            for place, length in ends.items():
                run_weight = sum(self.rarity[place - length + 1 : place + 1])
                best = max(best, (run_weight, length, place))
        run_weight, length, last = best
        places = frozenset(range(last - length + 1, last + 1))
        return Overlap(weight / total, weight, length, run_weight, length == len(words), places)

    @cached_property
    def item_weights(self) -> list[float]:
        """For each item, the rarities of the request's words in it."""
        return [self._weight_in(text) for text in self.inputs.item_texts]

    def _weight_in(self, text: str) -> float:
        """The rarities of the request's words in a text."""
        weight = self._weights.get(text)
        if weight is None:
            words = folded_vocabulary(text)
            shared = [places[0] for word, places in self._places.items() if word in words]
            weight = self._weights[text] = sum(self.rarity[place] for place in shared)
        return weight

    @cached_property
    def _titles(self) -> list[str]:
        return [item.title for item in self.inputs.items]

    @cached_property
    def _title_words(self) -> list[frozenset[str]]:
        return [folded_vocabulary(title) for title in self._titles]

    @cached_property
    def item_titles(self) -> list[Overlap]:
        """For each item, how much of its title the request says."""
        return [self.overlap(title) for title in self._titles]

    @cached_property
    def named(self) -> frozenset[int]:
        """The indexes of the contacts that the request names."""
        return frozenset(number for number, match in enumerate(self.inputs.names) if match.words)

    @cached_property
    def name_ranges(self) -> list[tuple[int, int]]:
        """Where the request names contacts."""
        return sorted({(match.start, match.end) for match in self.inputs.names if match.words})

    @cached_property
    def items_of_named(self) -> list[bool]:
        """For each item, whether it involves a contact that the request names."""
        lookup = self.inputs.people
        return [
            any(lookup.index(person) in self.named for person in item.people) for item in self.inputs.items
        ]

    @cached_property
    def explicitness(self) -> Mapping[str, float]:
        """Features of the request alone: how explicitly it says what is meant."""
        spans = find_spans(self.text)
        capitals = [match for match in _WORD.finditer(self.text) if match.group()[0].isupper()]
        after_start = [match for match in capitals if not _starts_sentence(self.text, match.start())]
        return {
            "rare words": self._total_rarity,
            "rare share": self._total_rarity / max(1, len(self.words)),
            "capital words": len(after_start),
            "quoted said": any(span.shape == "quoted" for span in spans),
            "number said": any(span.shape == "number" for span in spans),
            "address said": any(span.shape == "address" for span in spans),
            "pronouns": sum(word in _PRONOUNS for word in tokenize(self.text)),
            "names said": len(self.name_ranges),
            "title said": max((overlap.share for overlap in self.item_titles), default=0.0),
            "titles verbatim": sum(overlap.verbatim for overlap in self.item_titles),
            "colon": ":" in self.text,
            "all said": sum(word in _ALL for word in self.words),
        }

    def left_over(self, words: frozenset[str]) -> float:
        """The rarities of the request's words that are not among these: what is said beside them."""
        rows = zip(self.words, self.rarity, strict=True)
        return sum(rarity for word, rarity in rows if word not in words)

    def places_of(self, values: Iterable[str]) -> frozenset[int]:
        """Places of the words of the values that the request says verbatim."""
        overlaps = [self.overlap(value) for value in values]
        return frozenset(place for overlap in overlaps if overlap.verbatim for place in overlap.places)

    def neighbours(self, span: TextSpan) -> tuple[str, str]:
        """The words before and after a span of the request, folded; empty at its ends and marks."""
        words = self._neighbours.get((span.start, span.end))
        if words is None:
            before = _WORD.findall(self.text[max(0, span.start - 24) : span.start])
            after = (
                _WORD.match(self.text, span.end + 1) if self.text[span.end : span.end + 1] == " " else None
            )
            words = fold_accents(before[-1]) if before else "", fold_accents(after.group()) if after else ""
            self._neighbours[span.start, span.end] = words
        return words

    def said_around(self, text: str, span: TextSpan) -> float:
        """The rarities of the request's words in the sentence of an item's text that has the span."""
        start = max(text.rfind(mark, 0, span.start) for mark in _SENTENCE_MARKS) + 1
        ends = [end for mark in _SENTENCE_MARKS if (end := text.find(mark, span.end)) >= 0]
        return self._weight_in(text[start : min(ends, default=len(text))])

    def follows_verb(self, span: TextSpan) -> bool:
        """Whether the span starts the request, or follows its first word, mostly a verb: "Play …"."""
        return " " not in self.text[: span.start].strip(" '\"“‘«")

    def span_features(self, span: TextSpan) -> dict[str, float]:
        """Features of a span of the request: what follows it, and what else it may be."""
        _, after = self.neighbours(span)
        rest = self.text[span.end :].strip(" .!?'\"”’»")
        follower = _END if not rest else _MARK if not after else _OTHER
        overlap = self.overlap(span.text)
        return {
            "span follower": float(_FOLLOWERS.index(after)) if after in _FOLLOWERS else follower,
            "span in quotes": span.start > 0 and bool(_QUOTE.match(self.text, span.start - 1)),
            "span time": any(
                phrase.first < span.end and span.start < phrase.last for phrase in self.inputs.time_phrases
            ),
            "span person": any(start < span.end and span.start < end for start, end in self.name_ranges),
            "span rare": overlap.weight / max(1, len(overlap.places)),
            "span rest": self._total_rarity - overlap.run_weight,
            "span title": self._title_likeness(span.text),
            "span words before": bisect_left(self._word_starts, span.start),
        }

    def _title_likeness(self, text: str) -> float:
        """Jaccard similarity of the words of a text and of the most similar title of an item."""
        words = folded_vocabulary(text)
        return max(
            (
                len(words & title) / len(words | title)
                for title in self._title_words
                if not words.isdisjoint(title)
            ),
            default=0.0,
        )


def _starts_sentence(text: str, place: int) -> bool:
    before = text[:place].rstrip(" '\"“‘«")
    return not before or before[-1] in ".!?:"
