"""The portraits of a user's items, in words and as vectors, kept current as the items are used."""

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

_AT_ONCE = 1024
"""Uses compared at once: a list compares its elements faster than a loop over it does."""


@dataclass(frozen=True, eq=False)
class UsesDiff:
    """Two lists of one user's uses, each in order of time, compared."""

    kept: NDArray[np.bool_]
    """Which of the earlier ones are still there."""
    new: NDArray[np.bool_]
    """Which of those now there were not there before; the others are the kept ones, in their order."""
    items: frozenset[str]
    """Whose uses are others than before."""

    @classmethod
    def of(cls, before: Sequence[UsageEvent], now: Sequence[UsageEvent]) -> "UsesDiff":
        """Only between the first and the last difference are they looked at one by one."""
        head = _alike(before, now)
        shorter = min(len(before), len(now)) - head
        tail = _alike(before[: -shorter - 1 : -1], now[: -shorter - 1 : -1])
        old, fresh = before[head : len(before) - tail], now[head : len(now) - tail]
        was, there = set(old), set(fresh)
        kept, new = np.ones(len(before), np.bool_), np.zeros(len(now), np.bool_)
        kept[head : head + len(old)] = [use in there for use in old]
        new[head : head + len(fresh)] = [use not in was for use in fresh]
        return cls(kept, new, frozenset(use.item for use in was ^ there))


def _alike(one: Sequence[UsageEvent], other: Sequence[UsageEvent]) -> int:
    """How many at the start are the same."""
    start = 0
    while (part := one[start : start + _AT_ONCE]) and part == other[start : start + len(part)]:
        start += len(part)
    return start + next(
        (n for n, (a, b) in enumerate(zip(part, other[start : start + len(part)], strict=False)) if a != b),
        min(len(part), max(0, len(other) - start)),
    )


EmbedPortraits = Callable[[Mapping[str, str]], Mapping[str, Matrix]]
"""Item → text, to item → vector."""


class _EnrichedVersion(NamedTuple):
    texts: Sequence[str]
    vectors: Matrix
    latest: datetime | None
    """When anything was last used."""


class _ReadUses(NamedTuple):
    """Uses as columns, and what they were read from."""

    user: User
    uses: Sequence[UsageEvent]
    columns: UseColumns


class EnrichedItems:
    """Items as portraits under the uses there have been; only what changed since `before` is made anew."""

    def __init__(
        self,
        user: User,
        items: Sequence[Item],
        uses: Sequence[UsageEvent],
        embed: EmbedPortraits,
        embed_past: Callable[[Sequence[str]], Matrix],
        *,
        before: "EnrichedItems | None" = None,
    ) -> None:
        """`uses` are in order of time."""
        self.user = user
        self.items = items
        self.uses = uses
        self._embed = embed
        self._embed_past = embed_past
        self._columns: UseColumns | None = None
        self._made: _EnrichedVersion | None = None
        # of one that nobody looked at, what it would have taken over: so they make no chain
        self._before = before if before is None or before.made else before.taken_over
        self._read_before = before.read if before else None
        self._since: UsesDiff | None = None
        if self._before and self._before.user == user:
            self._since = UsesDiff.of(self._before.uses, uses)
        # columns and portraits are mostly those of one gallery; then the lists are compared once
        self._read_since: UsesDiff | None = None
        if self._before and self._read_before and self._read_before.uses is self._before.uses:
            self._read_since = self._since
        self._of = self._by_item()
        self._relations = Relations(user)
        self._lock = Lock()

    @property
    def made(self) -> "_EnrichedVersion | None":
        """The portraits, if anybody has looked at them."""
        return self._made

    @property
    def taken_over(self) -> "EnrichedItems | None":
        """The gallery that this one will take portraits over from."""
        return self._before

    @property
    def read(self) -> "_ReadUses | None":
        """The uses as columns, or the earlier ones that they will be made from."""
        columns = self._columns
        return self._read_before if columns is None else _ReadUses(self.user, self.uses, columns)

    @property
    def by_item(self) -> Mapping[str, list[UsageEvent]]:
        """The uses of each item that has any."""
        return self._of

    def columns(self, facts: ItemColumns) -> UseColumns:
        """The uses as columns, worked out when first asked for."""
        columns, before = self._columns, self._read_before
        if columns is None:
            if before and before.user == self.user:
                since = self._read_since or UsesDiff.of(before.uses, self.uses)
                columns = before.columns.after(facts, self.uses, kept=since.kept, new=since.new)
            if columns is None:
                columns = UseColumns.of(facts, self.uses)
            self._columns, self._read_before = columns, None
        return columns

    def vectors(self, now: datetime, positions: Sequence[int] | None = None) -> Matrix:
        """A row an item, or each asked for, as its portrait was at a moment of the user's wall clock."""
        with self._lock:
            if self._made is None:
                self._made = self._make()
                self._before = None
            made = self._made
        if made.latest is not None and made.latest >= now:
            return self._as_of(now, made, positions)
        return made.vectors if positions is None else made.vectors[positions]

    def uses_of(self, item: str) -> list[UsageEvent]:
        """The item's uses."""
        return self._of.get(item, [])

    def _by_item(self) -> Mapping[str, list[UsageEvent]]:
        since, before = self._since, self._before
        found = dict(before.by_item) if since and before else {}
        changed = self.uses
        if since:
            for item in since.items:
                found.pop(item, None)
            changed = [use for use in self.uses if use.item in since.items]
        for use in changed:
            found.setdefault(use.item, []).append(use)
        return found

    def _make(self) -> "_EnrichedVersion":
        latest = local_time(self.uses[-1].time, self.user.zone) if self.uses else None
        before = self._before.made if self._before else None
        rows = self._unchanged()
        texts = [
            before.texts[row] if before and row >= 0 else self._portrait(item)
            for item, row in zip(self.items, rows, strict=True)
        ]
        return _EnrichedVersion(texts, self._embedded(texts, rows, before), latest)

    def _portrait(self, item: Item) -> str:
        return enriched_text(item, self.user, self.uses_of(item.id), self._relations)

    def _unchanged(self) -> list[int]:
        """Where each item lies in the gallery before, or -1 where it has changed, or how it is used."""
        since, before = self._since, self._before
        if since is None or before is None:
            return [-1] * len(self.items)
        if before.items is self.items:
            return [-1 if item.id in since.items else number for number, item in enumerate(self.items)]
        old = {item.id: number for number, item in enumerate(before.items) if item.id not in since.items}
        rows = [old.get(item.id, -1) for item in self.items]
        return [
            row if row >= 0 and before.items[row] == item else -1
            for item, row in zip(self.items, rows, strict=True)
        ]

    def _embedded(
        self, texts: Sequence[str], rows: Sequence[int], before: "_EnrichedVersion | None"
    ) -> Matrix:
        """Also what says the same as anything said before is not embedded again."""
        if before and -1 in rows:
            said = {text: number for number, text in enumerate(before.texts)}
            rows = [said.get(text, -1) if row < 0 else row for text, row in zip(texts, rows, strict=True)]
        fresh = [number for number, row in enumerate(rows) if row < 0]
        new: list[Matrix] = []
        if fresh:
            found = self._embed({self.items[number].id: texts[number] for number in fresh})
            new = [found[self.items[number].id] for number in fresh]
        if before is None or len(fresh) == len(rows):
            return np.stack(new) if new else np.empty((0, 0), np.float32)
        if len(rows) == len(before.texts) and all(row == number for number, row in enumerate(rows)):
            return before.vectors
        vectors = before.vectors[np.array(rows, np.intp)]
        if new:
            vectors[fresh] = new
        return vectors

    def _as_of(self, now: datetime, made: "_EnrichedVersion", positions: Sequence[int] | None) -> Matrix:
        """As they were before the later uses; of use to look back, so worked out each time and not kept."""
        zone = self.user.zone
        later = {
            use.item for use in takewhile(lambda use: local_time(use.time, zone) >= now, self.uses[::-1])
        }
        wanted = range(len(self.items)) if positions is None else positions
        then: dict[int, str] = {}
        for row, number in enumerate(wanted):
            item = self.items[number]
            if item.id in later:
                seen = [use for use in self.uses_of(item.id) if local_time(use.time, zone) < now]
                text = enriched_text(item, self.user, seen, self._relations)
                if text != made.texts[number]:
                    then[row] = text
        past = made.vectors[wanted] if positions is not None else made.vectors
        if not then:
            return past
        past = past.copy()
        past[list(then)] = self._embed_past(list(then.values()))
        return past
