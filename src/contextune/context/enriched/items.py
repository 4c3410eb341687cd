"""EnrichedItems: vectors of items with their habits, updated incrementally as items are used."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import NamedTuple

import numpy as np

from contextune.context.enriched.habits import HabitHistory
from contextune.context.enriched.row_vectors import RowVectors
from contextune.context.enriched.text import Relations, content_text
from contextune.context.enriched.uses_by_item import UsesByItem, group_by_item, update_groups
from contextune.context.enriched.uses_diff import UsesDiff
from contextune.context.enriched.vectors import EnrichedVectors, add_habits
from contextune.context.signals import ItemColumns, ItemsMove, UseColumns
from contextune.context.signals.columns import to_hours
from contextune.context.signals.row_list import as_row_list
from contextune.context.signals.row_mapping import RowMapping
from contextune.embed import Matrix
from contextune.store import text_digest
from contextune.types import Item, UsageEvent, User

_NO_HABITS = HabitHistory((), ())


EmbedContents = Callable[[Mapping[str, str]], Mapping[str, Matrix]]
"""Item id → text, to item id → vector."""
EmbedPhrases = Callable[[Sequence[str]], Matrix]
"""Phrases on habits → one row each."""
CountMissing = Callable[[Mapping[str, str]], int]
"""Item id → text, to the number of texts without a stored vector."""


class _ColumnsSource(NamedTuple):
    """Use columns, and what they were computed from."""

    user: User
    uses: Sequence[UsageEvent]
    columns: UseColumns
    item_columns: ItemColumns


@dataclass(frozen=True, eq=False)
class EnrichedChange:
    """How items and uses differ from those of the previous instance."""

    mapping: RowMapping | None
    """Rows of the items before; None if the items are the same."""
    diff: UsesDiff
    row_by_id: Mapping[str, int]
    """The row of each item now."""


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
        change: EnrichedChange | None = None,
    ) -> None:
        """`uses` are ordered by time. Without `change`, items and uses are compared with `previous`."""
        self.user = user
        self.items = items
        self.uses = uses
        self._embed = embed
        self._embed_phrases = embed_phrases
        self._columns: _ColumnsSource | None = None
        self._enriched: EnrichedVectors | None = None
        # skip instances that computed nothing, so that they do not form a chain
        self._previous = previous if previous is None or previous.enriched else previous.previous
        self._previous_columns = previous.columns_source if previous else None
        self._change = change if previous and self._previous is previous else None
        self._diff: UsesDiff | None = None
        if self._change:
            self._diff = self._change.diff
        elif self._previous and self._previous.user == user:
            self._diff = UsesDiff.compare(self._previous.uses, uses)
        # vectors and columns mostly come from the same instance; then the lists are compared once
        self._columns_change = change if previous and previous.has_columns else None
        self._columns_diff: UsesDiff | None = None
        if self._columns_change:
            self._columns_diff = self._columns_change.diff
        elif self._previous and self._previous_columns and self._previous_columns.uses is self._previous.uses:
            self._columns_diff = self._diff
        self._uses_by_item = (
            update_groups(self._previous.uses_by_item, uses, self._diff)
            if self._previous and self._diff
            else group_by_item(uses)
        )
        self._lock = Lock()

    @classmethod
    def restored(
        cls,
        user: User,
        items: Sequence[Item],
        uses: Sequence[UsageEvent],
        embed: EmbedContents,
        embed_phrases: EmbedPhrases,
        *,
        uses_by_item: UsesByItem,
        enriched: EnrichedVectors,
        columns: UseColumns,
        item_columns: ItemColumns,
    ) -> "EnrichedItems":
        """An instance of which everything is known."""
        restored = cls(user, items, (), embed, embed_phrases)
        restored.uses, restored._uses_by_item, restored._enriched = uses, uses_by_item, enriched
        restored._columns = _ColumnsSource(user, uses, columns, item_columns)
        return restored

    @property
    def enriched(self) -> EnrichedVectors | None:
        """The vectors and what they were made from, if they have been computed."""
        return self._enriched

    @property
    def previous(self) -> "EnrichedItems | None":
        """The instance whose vectors will be reused; None once they have been."""
        return self._previous

    @property
    def has_columns(self) -> bool:
        """Whether the use columns have been computed."""
        return self._columns is not None

    @property
    def columns_source(self) -> "_ColumnsSource | None":
        """The use columns, or the earlier ones that they will be computed from."""
        return self._columns or self._previous_columns

    @property
    def uses_by_item(self) -> UsesByItem:
        """The usage events of each item that has any."""
        return self._uses_by_item

    def columns(self, item_columns: ItemColumns) -> UseColumns:
        """The usage events as columns, computed on first use."""
        computed = self._columns
        if computed is None:
            columns = self._updated_columns(item_columns) or UseColumns.build(item_columns, self.uses)
            computed = _ColumnsSource(self.user, self.uses, columns, item_columns)
            self._columns, self._previous_columns = computed, None
        return computed.columns

    def _updated_columns(self, item_columns: ItemColumns) -> UseColumns | None:
        source, change = self._previous_columns, self._columns_change
        if source is None or source.user != self.user:
            return None
        diff = self._columns_diff or UsesDiff.compare(source.uses, self.uses)
        moved = None
        if source.item_columns is item_columns:
            moved = ItemsMove.none(item_columns)
        elif change and change.mapping:
            moved = ItemsMove.between(source.item_columns, item_columns, change.mapping)
        return source.columns.updated(item_columns, self.uses, kept=diff.kept, new=diff.new, moved=moved)

    def missing(self, count: CountMissing) -> int:
        """How many items `vectors` would embed first."""
        if self._enriched is not None:
            return 0
        previous = self._previous.enriched if self._previous else None
        mapping, items = self._mapping() if previous else None, self.items
        if previous:
            items = [self.items[row] for row in mapping.changed] if mapping else []
        relations = Relations(self.user)
        texts = [content_text(item, self.user, relations) for item in items]
        known = previous.find_rows(_digests(texts)) if previous else [-1] * len(texts)
        rows = zip(items, texts, known, strict=True)
        return count({item.id: text for item, text, row in rows if row < 0})

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
        vectors = self.row_vectors(now)
        return vectors.matrix if rows is None else vectors.take(rows)

    def row_vectors(self, now: datetime) -> RowVectors:
        """The same as `vectors`, without copying a large matrix."""
        return self._computed().as_of(now)

    @property
    def contents(self) -> RowVectors:
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

    def _compute(self) -> EnrichedVectors:
        previous = self._previous.enriched if self._previous else None
        return self._update(previous) if previous else self._compute_all()

    def _compute_all(self) -> EnrichedVectors:
        relations = Relations(self.user)
        texts = [content_text(item, self.user, relations) for item in self.items]
        contents = self._embed_texts({item.id: text for item, text in zip(self.items, texts, strict=True)})
        habits = [self._history(item) for item in self.items]
        phrases = self._phrases(habits, {})
        vectors = add_habits(contents, [history.current for history in habits], phrases)
        changed = np.array([history.changed for history in habits], np.float64)
        return EnrichedVectors(
            _digests(texts),
            RowVectors.from_matrix(contents),
            habits,
            phrases,
            RowVectors.from_matrix(vectors),
            changed,
        )

    def _update(self, previous: EnrichedVectors) -> EnrichedVectors:
        """Compute what differs from `previous`."""
        mapping, used_rows = self._mapping(), self._used_rows()
        digests, contents, vectors = previous.digests, previous.contents, previous.vectors
        habits, changed = as_row_list(previous.habits), previous.changed.copy()
        rows: list[int] = []
        if mapping:
            rows, items = mapping.changed, [self.items[row] for row in mapping.changed]
            relations = Relations(self.user)
            new_texts = [content_text(item, self.user, relations) for item in items]
            new_digests = _digests(new_texts)
            new_contents = self._contents(items, new_texts, new_digests, previous)
            digests = as_row_list(previous.digests).moved(mapping, new_digests)
            contents, vectors = (each.moved(mapping, new_contents) for each in (contents, vectors))
            habits = habits.moved(mapping, [_NO_HABITS] * len(rows))
            changed = mapping.merge(changed, np.full(len(rows), -np.inf))
        rows = sorted({*rows, *used_rows})
        histories = [self._history(self.items[row]) for row in rows]
        phrases = self._phrases(histories, previous.phrases)
        if rows:
            habits = habits.replaced(rows, histories)
            changed[rows] = [history.changed for history in histories]
            current = [history.current for history in histories]
            vectors = vectors.replaced(rows, add_habits(contents.take(rows), current, phrases))
        return EnrichedVectors(digests, contents, habits, phrases, vectors, changed)

    def _mapping(self) -> RowMapping | None:
        """Rows of the items in `previous`; None if the items are the same."""
        previous = self._previous
        if previous is None or previous.user != self.user:
            return RowMapping.from_previous_rows([-1] * len(self.items))
        if previous.items is self.items:
            return None
        if self._change:
            return self._change.mapping
        row_by_id = {item.id: row for row, item in enumerate(previous.items)}
        rows = [row_by_id.get(item.id, -1) for item in self.items]
        return RowMapping.from_previous_rows(
            [
                row if row >= 0 and previous.items[row] == item else -1
                for item, row in zip(self.items, rows, strict=True)
            ]
        )

    def _used_rows(self) -> list[int]:
        """Rows of the items whose uses differ from those in `previous`."""
        items = self._diff.items if self._diff else frozenset[str]()
        if not items:
            return []
        if self._change:
            row_by_id = self._change.row_by_id
            return [row_by_id[item] for item in items if item in row_by_id]
        return [row for row, item in enumerate(self.items) if item.id in items]

    def _contents(
        self,
        items: Sequence[Item],
        texts: Sequence[str],
        digests: Sequence[bytes],
        previous: EnrichedVectors,
    ) -> Matrix:
        """Vectors of changed items; only texts that `previous` does not have are embedded."""
        rows = previous.find_rows(digests)
        new = {item.id: text for item, text, row in zip(items, texts, rows, strict=True) if row < 0}
        if not new:
            return previous.contents.take(rows)
        vectors = self._embed_texts(new)
        if len(new) == len(rows):
            return vectors
        result = previous.contents.take(np.maximum(rows, 0))
        result[np.array(rows) < 0] = vectors
        return result

    def _embed_texts(self, texts: Mapping[str, str]) -> Matrix:
        by_id = self._embed(texts)
        return np.stack([by_id[item] for item in texts]) if texts else np.empty((0, 0), np.float32)

    def _phrases(self, habits: Sequence[HabitHistory], known: Mapping[str, Matrix]) -> Mapping[str, Matrix]:
        """The vectors of known phrases, and of all phrases in these habits."""
        needed = dict.fromkeys(
            phrase for history in habits for version in history.phrases for phrase in version
        )
        new = [phrase for phrase in needed if phrase not in known]
        return {**known, **dict(zip(new, self._embed_phrases(new), strict=True))} if new else known

    def _history(self, item: Item) -> HabitHistory:
        uses = self.uses_of(item.id)
        return HabitHistory.build(item, self.user, uses) if uses else _NO_HABITS


def _digests(texts: Sequence[str]) -> list[bytes]:
    return [text_digest(text) for text in texts]
