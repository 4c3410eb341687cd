"""EnrichedItems: enriched texts and their vectors, updated incrementally as items are used."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contextune.context.enriched_text import Relations, enriched_text
from contextune.context.signals import ItemColumns, UseColumns
from contextune.embed import Matrix
from contextune.types import Item, UsageEvent, User, local_time

_BLOCK = 1024
"""Events compared at once: comparing list slices is faster than a loop over their elements."""


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


EmbedEnriched = Callable[[Mapping[str, str]], Mapping[str, Matrix]]
"""Item id → text, to item id → vector."""


class EnrichedTexts(NamedTuple):
    """Enriched texts of all items and their vectors, under all usage events so far."""

    texts: Sequence[str]
    vectors: Matrix
    last_use: datetime | None
    """Time of the last usage event of any item."""


class _ColumnsSource(NamedTuple):
    """Use columns, and what they were computed from."""

    user: User
    uses: Sequence[UsageEvent]
    columns: UseColumns


class EnrichedItems:
    """Enriched texts, their vectors and use columns; only what differs from `previous` is computed."""

    def __init__(
        self,
        user: User,
        items: Sequence[Item],
        uses: Sequence[UsageEvent],
        embed: EmbedEnriched,
        embed_past: Callable[[Sequence[str]], Matrix],
        *,
        previous: "EnrichedItems | None" = None,
    ) -> None:
        """`uses` are ordered by time; `embed` stores the vectors, `embed_past` does not."""
        self.user = user
        self.items = items
        self.uses = uses
        self._embed = embed
        self._embed_past = embed_past
        self._columns: UseColumns | None = None
        self._enriched: EnrichedTexts | None = None
        # skip instances that computed nothing, so that they do not form a chain
        self._previous = previous if previous is None or previous.enriched else previous.previous
        self._previous_columns = previous.columns_source if previous else None
        self._diff: UsesDiff | None = None
        if self._previous and self._previous.user == user:
            self._diff = UsesDiff.compare(self._previous.uses, uses)
        # texts and columns mostly come from the same instance; then the lists are compared once
        self._columns_diff: UsesDiff | None = None
        if self._previous and self._previous_columns and self._previous_columns.uses is self._previous.uses:
            self._columns_diff = self._diff
        self._uses_by_item = self._group_by_item()
        self._relations = Relations(user)
        self._lock = Lock()

    @property
    def enriched(self) -> EnrichedTexts | None:
        """The texts and vectors, if they have been computed."""
        return self._enriched

    @property
    def previous(self) -> "EnrichedItems | None":
        """The instance whose texts will be reused; None once they have been."""
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

    def vectors(self, now: datetime, rows: Sequence[int] | None = None) -> Matrix:
        """Vectors of all items or of some rows, as of a time on the user's wall clock."""
        with self._lock:
            if self._enriched is None:
                self._enriched = self._compute()
                self._previous = None
            enriched = self._enriched
        if enriched.last_use is not None and enriched.last_use >= now:
            return self._vectors_as_of(now, enriched, rows)
        return enriched.vectors if rows is None else enriched.vectors[rows]

    def uses_of(self, item: str) -> list[UsageEvent]:
        """The usage events of an item."""
        return self._uses_by_item.get(item, [])

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

    def _compute(self) -> EnrichedTexts:
        last_use = local_time(self.uses[-1].time, self.user.zone) if self.uses else None
        previous = self._previous.enriched if self._previous else None
        previous_rows = self._previous_rows()
        texts = [
            previous.texts[row] if previous and row >= 0 else self._text(item)
            for item, row in zip(self.items, previous_rows, strict=True)
        ]
        return EnrichedTexts(texts, self._embed_changed(texts, previous_rows, previous), last_use)

    def _text(self, item: Item) -> str:
        return enriched_text(item, self.user, self.uses_of(item.id), self._relations)

    def _previous_rows(self) -> list[int]:
        """For each item its row in `previous`, or -1 if the item or its usage has changed."""
        diff, previous = self._diff, self._previous
        if diff is None or previous is None:
            return [-1] * len(self.items)
        if previous.items is self.items:
            return [-1 if item.id in diff.items else row for row, item in enumerate(self.items)]
        row_by_id = {item.id: row for row, item in enumerate(previous.items) if item.id not in diff.items}
        rows = [row_by_id.get(item.id, -1) for item in self.items]
        return [
            row if row >= 0 and previous.items[row] == item else -1
            for item, row in zip(self.items, rows, strict=True)
        ]

    def _embed_changed(
        self, texts: Sequence[str], previous_rows: Sequence[int], previous: EnrichedTexts | None
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
            return previous.vectors
        vectors = previous.vectors[np.array(previous_rows, np.intp)]
        if new:
            vectors[changed] = new
        return vectors

    def _vectors_as_of(self, now: datetime, enriched: EnrichedTexts, rows: Sequence[int] | None) -> Matrix:
        """The vectors before later usage events; for requests in the past, so computed each time."""
        zone = self.user.zone
        used_later = {
            use.item for use in takewhile(lambda use: local_time(use.time, zone) >= now, self.uses[::-1])
        }
        chosen = range(len(self.items)) if rows is None else rows
        past_texts: dict[int, str] = {}
        for number, row in enumerate(chosen):
            item = self.items[row]
            if item.id in used_later:
                past_uses = [use for use in self.uses_of(item.id) if local_time(use.time, zone) < now]
                text = enriched_text(item, self.user, past_uses, self._relations)
                if text != enriched.texts[row]:
                    past_texts[number] = text
        vectors = enriched.vectors[chosen] if rows is not None else enriched.vectors
        if not past_texts:
            return vectors
        vectors = vectors.copy()
        vectors[list(past_texts)] = self._embed_past(list(past_texts.values()))
        return vectors
