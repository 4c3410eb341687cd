"""What a request mentions outright: names of people, times and titles.

In a large store, neither similarity nor recency makes the right item a candidate then: "my last email from
Nadia" is similar to all of her mails, and the newest mails may all be from others.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from copy import copy
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from contextune.context.signals.columns import REPLY_PREFIXES, PeopleColumns
from contextune.context.signals.people import relation_synonyms
from contextune.context.signals.row_mapping import RowMapping
from contextune.context.signals.time_phrases import find_probable_intervals
from contextune.context.stop_words import STOP_WORDS
from contextune.search import tokenize
from contextune.time_phrases import Interval

_MIN_NAME_LENGTH = 3
_MAX_ADDED = 1000
"""Items that are added before the index is built anew."""
_MAX_NAMES = 4
_MAX_INTERVALS = 3
"""Limits for long requests, such as a pasted mail: the first names and times count."""


class MentionIndex:
    """Rows by the words of their people's names, and by the words of their titles."""

    def __init__(self, people: Sequence[Sequence[str]], titles: Sequence[Sequence[str]]) -> None:
        """`people` are names, addresses and numbers per item; `titles` are the words of each title."""
        self._layers: list[MentionLayer] = [_MentionLayer(people, titles)]
        self._added: list[tuple[Sequence[str], Sequence[str]]] = []
        """People and titles of items that were added since; they form the second layer."""
        self._rows: NDArray[np.int64] = np.arange(len(people))

    @classmethod
    def from_layer(cls, layer: "MentionLayer", size: int) -> "MentionIndex":
        """The index of `size` items whose numbers are their rows."""
        index = cls([], [])
        index._layers, index._rows = [layer], np.arange(size)
        return index

    def rows_by_word(self) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
        """Current rows by words of names, and by the longest word of the title."""
        names: defaultdict[str, list[int]] = defaultdict(list)
        titles: defaultdict[str, list[int]] = defaultdict(list)
        for layer in self._layers:
            for word, numbers in layer.by_name.items():
                names[word] += self._current(numbers)
            for word, entries in layer.by_title.items():
                titles[word] += self._current([number for number, _ in entries])
        return names, titles

    def _current(self, numbers: Sequence[int]) -> list[int]:
        rows = self._rows[numbers]
        return rows[rows >= 0].tolist()

    def updated(
        self, mapping: RowMapping, people: Sequence[Sequence[str]], titles: Sequence[Sequence[str]]
    ) -> "MentionIndex | None":
        """The index after items have changed; `people` and `titles` are those of all items.

        None after many changes: then a new index is faster.
        """
        added = [*self._added, *((people[row], titles[row]) for row in mapping.changed)]
        if len(added) > _MAX_ADDED:
            return None
        index = copy(self)
        previous = np.append(mapping.current_rows(int(self._rows.max(initial=-1)) + 1), -1)
        index._rows = np.concatenate([previous[self._rows], np.array(mapping.changed, np.int64)])
        if mapping.changed:
            start = len(self._rows) - len(self._added)
            layer = _MentionLayer([each[0] for each in added], [each[1] for each in added], start=start)
            index._added, index._layers = added, [self._layers[0], layer]
        return index

    def is_name(self, word: str, visible: NDArray[np.bool_]) -> bool:
        """Whether a visible item involves a person of this name, who need not be a contact."""
        for layer in self._layers:
            numbers = layer.by_name.get(word)
            if numbers is not None:
                rows = self._rows[numbers]
                if visible[rows[rows >= 0]].any():
                    return True
        return False

    def rows_by_title(self, words: frozenset[str]) -> list[int]:
        """Rows whose title consists of these words, except for "Re:" and the like."""
        allowed = words.union(REPLY_PREFIXES)
        rows = [
            int(self._rows[number])
            for layer in self._layers
            for word in words
            for number, title in layer.by_title.get(word, ())
            if allowed.issuperset(title)
        ]
        return [row for row in rows if row >= 0]


class MentionLayer(Protocol):
    """Items by the words of names and titles. Items have numbers that stay when their rows move."""

    by_name: Mapping[str, Sequence[int]]
    by_title: Mapping[str, Sequence[tuple[int, Sequence[str]]]]
    """By the longest word: numbers with all words of the title."""


class _MentionLayer:
    """A `MentionLayer` in dictionaries."""

    def __init__(
        self, people: Sequence[Sequence[str]], titles: Sequence[Sequence[str]], *, start: int = 0
    ) -> None:
        """The items are numbered from `start`."""
        rows_by_person: defaultdict[str, list[int]] = defaultdict(list)
        for row, persons in enumerate(people, start):
            for person in persons:
                rows_by_person[person].append(row)
        by_name: defaultdict[str, list[int]] = defaultdict(list)
        for person, rows in rows_by_person.items():
            for word in _name_words(person):
                by_name[word] += rows
        by_title: defaultdict[str, list[tuple[int, Sequence[str]]]] = defaultdict(list)
        for row, words in enumerate(titles, start):
            if words:  # the longest word is usually a rare one, so that few titles are compared
                by_title[max(words, key=len)].append((row, words))
        self.by_name: Mapping[str, Sequence[int]] = dict(by_name)
        self.by_title: Mapping[str, Sequence[tuple[int, Sequence[str]]]] = dict(by_title)


def mentioned_people(
    words: Sequence[str], people: PeopleColumns, index: MentionIndex, visible: NDArray[np.bool_]
) -> dict[str, list[int]]:
    """Words that name a person or a relation, each with its contacts; none if only items have the name."""
    contacts_by_word: dict[str, list[int]] = {}
    for word in dict.fromkeys(words):
        contacts = people.by_name.get(word, [])
        if word not in STOP_WORDS:
            for synonym in relation_synonyms(word):
                contacts = [*contacts, *people.by_relation.get(synonym, [])]
        if contacts or (word not in STOP_WORDS and index.is_name(word, visible)):
            contacts_by_word[word] = contacts
            if len(contacts_by_word) == _MAX_NAMES:
                break
    return contacts_by_word


def mentioned_intervals(text: str, now: datetime) -> list[Interval]:
    """Intervals of time that a text probably names; of an ambiguous phrase the two best readings."""
    return list(dict.fromkeys(find_probable_intervals(text, now)))[:_MAX_INTERVALS]


def _name_words(person: str) -> set[str]:
    """The words of a name or of the local part of an address: domains are no names."""
    words = tokenize(person.partition("@")[0])
    return {word for word in words if len(word) >= _MIN_NAME_LENGTH and word.isalpha()}
