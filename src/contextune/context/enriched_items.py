"""EnrichedItems: vectors of items with their habits, updated incrementally as items are used."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contextune.context.enriched_text import Relations, content_text
from contextune.context.habits import HabitHistory, Phrases
from contextune.context.signals import ItemColumns, UseColumns
from contextune.context.signals.columns import to_hours
from contextune.embed import Matrix
from contextune.types import Item, UsageEvent, User

_BLOCK = 1024
"""Events compared at once: comparing list slices is faster than a loop over their elements."""
_NO_HABITS = HabitHistory((), ())


@dataclass(frozen=True, eq=False)
class UsesDiff:
    """Difference of two time-ordered lists of one user's usage events."""

    kept: NDArray[np.bool_]
    """For each previous event, whether it is still there."""
    new: NDArray[np.bool_]
    """For each current event, whether it was added; the others are the kept ones in the same order."""
    items: frozenset[str]
    """Items whose events differ."""

    @classmethod
    def compare(cls, previous: Sequence[UsageEvent], current: Sequence[UsageEvent]) -> "UsesDiff":
        """Compare two lists; common prefix and suffix are skipped block by block."""
        head = _common_prefix(previous, current)
        shorter = min(len(previous), len(current)) - head
        tail = _common_prefix(previous[: -shorter - 1 : -1], current[: -shorter - 1 : -1])
        old, fresh = previous[head : len(previous) - tail], current[head : len(current) - tail]
        old_set, fresh_set = set(old), set(fresh)
        kept, new = np.ones(len(previous), np.bool_), np.zeros(len(current), np.bool_)
        kept[head : head + len(old)] = [use in fresh_set for use in old]
        new[head : head + len(fresh)] = [use not in old_set for use in fresh]
        return cls(kept, new, frozenset(use.item for use in old_set ^ fresh_set))


def _common_prefix(left: Sequence[UsageEvent], right: Sequence[UsageEvent]) -> int:
    """Length of the common prefix."""
    start = 0
    while (part := left[start : start + _BLOCK]) and part == right[start : start + len(part)]:
        start += len(part)
    return start + next(
        (n for n, (a, b) in enumerate(zip(part, right[start : start + len(part)], strict=False)) if a != b),
        min(len(part), max(0, len(right) - start)),
    )


EmbedContents = Callable[[Mapping[str, str]], Mapping[str, Matrix]]
"""Item id → text, to item id → vector."""
EmbedPhrases = Callable[[Sequence[str]], Matrix]
"""Phrases on habits → one row each."""
CountMissing = Callable[[Mapping[str, str]], int]
"""Item id → text, to the number of texts without a stored vector."""


def add_habits(contents: Matrix, habits: Sequence[Phrases], vectors: Mapping[str, Matrix]) -> Matrix:
    """Vectors of items: that of each content plus that of its habits, at unit length.

    The vector of an item's habits is the direction of the sum of its phrases, which `vectors` holds.
    """
    used = [row for row, phrases in enumerate(habits) if phrases]
    if not used:
        return contents
    sums = np.stack([np.sum([vectors[phrase] for phrase in habits[row]], axis=0) for row in used])
    result = contents.copy()
    result[used] = _unit(contents[used] + _unit(sums))
    return result


def _unit(rows: Matrix) -> Matrix:
    return (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)).astype(np.float32)


class EnrichedVectors(NamedTuple):
    """Contents, habits and vectors of all items, under all usage events so far."""

    texts: Sequence[str]
    contents: Matrix
    """Vectors of the texts."""
    habits: Sequence[HabitHistory]
    phrases: Mapping[str, Matrix]
    """The vector of every phrase in the habits."""
    vectors: Matrix
    changed: NDArray[np.float64]
    """For each item, when its habits changed last, in hours on the wall clock."""


class _ColumnsSource(NamedTuple):
    """Use columns, and what they were computed from."""

    user: User
    uses: Sequence[UsageEvent]
    columns: UseColumns


class EnrichedItems:
    """Vectors of items with their habits, and use columns; only what differs from `previous` is computed."""

    def __init__(
        self,
        user: User,
        items: Sequence[Item],
        uses: Sequence[UsageEvent],
        embed: EmbedContents,
        embed_phrases: EmbedPhrases,
        *,
        previous: "EnrichedItems | None" = None,
    ) -> None:
        """`uses` are ordered by time."""
        self.user = user
        self.items = items
        self.uses = uses
        self._embed = embed
        self._embed_phrases = embed_phrases
        self._columns: UseColumns | None = None
        self._enriched: EnrichedVectors | None = None
        # skip instances that computed nothing, so that they do not form a chain
        self._previous = previous if previous is None or previous.enriched else previous.previous
        self._previous_columns = previous.columns_source if previous else None
        self._diff: UsesDiff | None = None
        if self._previous and self._previous.user == user:
            self._diff = UsesDiff.compare(self._previous.uses, uses)
        # vectors and columns mostly come from the same instance; then the lists are compared once
        self._columns_diff: UsesDiff | None = None
        if self._previous and self._previous_columns and self._previous_columns.uses is self._previous.uses:
            self._columns_diff = self._diff
        self._uses_by_item = self._group_by_item()
        self._lock = Lock()

    @property
    def enriched(self) -> EnrichedVectors | None:
        """The vectors and what they were made from, if they have been computed."""
        return self._enriched

    @property
    def previous(self) -> "EnrichedItems | None":
        """The instance whose vectors will be reused; None once they have been."""
        return self._previous

    @property
    def columns_source(self) -> "_ColumnsSource | None":
        """The use columns, or the earlier ones that they will be computed from."""
        columns = self._columns
        return self._previous_columns if columns is None else _ColumnsSource(self.user, self.uses, columns)

    @property
    def uses_by_item(self) -> Mapping[str, list[UsageEvent]]:
        """The usage events of each item that has any."""
        return self._uses_by_item

    def columns(self, item_columns: ItemColumns) -> UseColumns:
        """The usage events as columns, computed on first use."""
        columns, source = self._columns, self._previous_columns
        if columns is None:
            if source and source.user == self.user:
                diff = self._columns_diff or UsesDiff.compare(source.uses, self.uses)
                columns = source.columns.updated(item_columns, self.uses, kept=diff.kept, new=diff.new)
            if columns is None:
                columns = UseColumns.build(item_columns, self.uses)
            self._columns, self._previous_columns = columns, None
        return columns

    def missing(self, count: CountMissing) -> int:
        """How many items `vectors` would embed first."""
        if self._enriched is not None:
            return 0
        previous = self._previous.enriched if self._previous else None
        rows = self._previous_rows()
        texts = self._texts(previous, rows)
        known = frozenset(previous.texts) if previous else frozenset[str]()
        new = [n for n, row in enumerate(rows) if (previous is None or row < 0) and texts[n] not in known]
        return count({self.items[row].id: texts[row] for row in new})

    def vectors_of(self, now: datetime, rows: Sequence[int]) -> Matrix:
        """The same as `vectors` for a few rows, without waiting for the other items."""
        if self._enriched is not None:
            return self.vectors(now, rows)
        if not len(rows):
            return np.empty((0, 0), np.float32)
        relations, items = Relations(self.user), [self.items[row] for row in rows]
        by_id = self._embed({item.id: content_text(item, self.user, relations) for item in items})
        hours = to_hours(now)
        past = [self._history(item).as_of(hours) for item in items]
        phrases = list(dict.fromkeys(phrase for version in past for phrase in version))
        vectors = dict(zip(phrases, self._embed_phrases(phrases), strict=True)) if phrases else {}
        return add_habits(np.stack([by_id[item.id] for item in items]), past, vectors)

    def vectors(self, now: datetime, rows: Sequence[int] | None = None) -> Matrix:
        """Vectors of all items or of some rows, as of a time on the user's wall clock."""
        enriched = self._computed()
        hours = to_hours(now)
        chosen = np.arange(len(self.items)) if rows is None else np.array(rows, np.intp)
        later = np.flatnonzero(enriched.changed[chosen] >= hours)
        vectors = enriched.vectors if rows is None else enriched.vectors[chosen]
        if len(later):
            changed = chosen[later]
            past = [enriched.habits[row].as_of(hours) for row in map(int, changed)]
            vectors = vectors.copy()
            vectors[later] = add_habits(enriched.contents[changed], past, enriched.phrases)
        return vectors

    @property
    def contents(self) -> Matrix:
        """Vectors of all items without their habits."""
        return self._computed().contents

    def uses_of(self, item: str) -> list[UsageEvent]:
        """The usage events of an item."""
        return self._uses_by_item.get(item, [])

    def _computed(self) -> EnrichedVectors:
        with self._lock:
            if self._enriched is None:
                self._enriched = self._compute()
                self._previous = None
            return self._enriched

    def _group_by_item(self) -> Mapping[str, list[UsageEvent]]:
        diff, previous = self._diff, self._previous
        groups = dict(previous.uses_by_item) if diff and previous else {}
        changed = self.uses
        if diff:
            for item in diff.items:
                groups.pop(item, None)
            changed = [use for use in self.uses if use.item in diff.items]
        for use in changed:
            groups.setdefault(use.item, []).append(use)
        return groups

    def _compute(self) -> EnrichedVectors:
        previous = self._previous.enriched if self._previous else None
        previous_rows = self._previous_rows()
        texts = self._texts(previous, previous_rows)
        contents = self._contents(texts, previous, previous_rows)
        habits = self._habits(previous, previous_rows)
        phrases = dict(previous.phrases) if previous else {}
        needed = dict.fromkeys(
            phrase for history in habits for version in history.phrases for phrase in version
        )
        if new := [phrase for phrase in needed if phrase not in phrases]:
            phrases |= zip(new, self._embed_phrases(new), strict=True)
        changed = np.array([history.changed for history in habits], np.float64)
        vectors = self._vectors(contents, habits, phrases, previous, previous_rows)
        return EnrichedVectors(texts, contents, habits, phrases, vectors, changed)

    def _previous_rows(self) -> list[int]:
        """For each item its row in `previous`, or -1 if the item is new or has changed."""
        previous = self._previous
        if previous is None or previous.user != self.user:
            return [-1] * len(self.items)
        if previous.items is self.items:
            return list(range(len(self.items)))
        row_by_id = {item.id: row for row, item in enumerate(previous.items)}
        rows = [row_by_id.get(item.id, -1) for item in self.items]
        return [
            row if row >= 0 and previous.items[row] == item else -1
            for item, row in zip(self.items, rows, strict=True)
        ]

    def _texts(self, previous: EnrichedVectors | None, previous_rows: Sequence[int]) -> Sequence[str]:
        relations = Relations(self.user)
        return [
            previous.texts[row] if previous and row >= 0 else content_text(item, self.user, relations)
            for item, row in zip(self.items, previous_rows, strict=True)
        ]

    def _contents(
        self, texts: Sequence[str], previous: EnrichedVectors | None, previous_rows: Sequence[int]
    ) -> Matrix:
        """Vectors of all texts; only texts that `previous` does not have are embedded."""
        if previous and -1 in previous_rows:
            row_by_text = {text: row for row, text in enumerate(previous.texts)}
            previous_rows = [
                row_by_text.get(text, -1) if row < 0 else row
                for text, row in zip(texts, previous_rows, strict=True)
            ]
        changed = [row for row, previous_row in enumerate(previous_rows) if previous_row < 0]
        new: list[Matrix] = []
        if changed:
            by_id = self._embed({self.items[row].id: texts[row] for row in changed})
            new = [by_id[self.items[row].id] for row in changed]
        if previous is None or len(changed) == len(previous_rows):
            return np.stack(new) if new else np.empty((0, 0), np.float32)
        if len(previous_rows) == len(previous.texts) and all(
            row == previous_row for row, previous_row in enumerate(previous_rows)
        ):
            return previous.contents
        contents = previous.contents[np.array(previous_rows, np.intp)]
        if new:
            contents[changed] = new
        return contents

    def _habits(
        self, previous: EnrichedVectors | None, previous_rows: Sequence[int]
    ) -> Sequence[HabitHistory]:
        changed = self._diff.items if self._diff else None
        return [
            previous.habits[row]
            if previous and changed is not None and row >= 0 and item.id not in changed
            else self._history(item)
            for item, row in zip(self.items, previous_rows, strict=True)
        ]

    def _history(self, item: Item) -> HabitHistory:
        uses = self.uses_of(item.id)
        return HabitHistory.build(item, self.user, uses) if uses else _NO_HABITS

    def _vectors(
        self,
        contents: Matrix,
        habits: Sequence[HabitHistory],
        phrases: Mapping[str, Matrix],
        previous: EnrichedVectors | None,
        previous_rows: Sequence[int],
    ) -> Matrix:
        """The vectors under all uses; those of items that are as before are taken from `previous`."""
        if previous is None:
            return add_habits(contents, [history.current for history in habits], phrases)
        changed = [
            row
            for row, previous_row in enumerate(previous_rows)
            if previous_row < 0 or habits[row] is not previous.habits[previous_row]
        ]
        if not changed and contents is previous.contents:
            return previous.vectors
        if len(changed) == len(previous_rows):
            return add_habits(contents, [history.current for history in habits], phrases)
        vectors = previous.vectors[np.array(previous_rows, np.intp)]
        current = [habits[row].current for row in changed]
        vectors[changed] = add_habits(contents[changed], current, phrases)
        return vectors
