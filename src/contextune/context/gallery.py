"""The portraits of a user's items, in words and as vectors, kept current as the items are used."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import takewhile
from threading import Lock
from typing import NamedTuple

import numpy as np

from contextune.context.portrait import Relations, portrait
from contextune.context.since import Since
from contextune.embed import Matrix
from contextune.signals import Facts, Uses
from contextune.types import Item, Use, User, local_time

EmbedPortraits = Callable[[Mapping[str, str]], Mapping[str, Matrix]]
"""Item → text, to item → vector."""


class _Made(NamedTuple):
    texts: Sequence[str]
    vectors: Matrix
    latest: datetime | None
    """When anything was last used."""


class _Read(NamedTuple):
    """Uses as columns, and what they were read from."""

    user: User
    uses: Sequence[Use]
    columns: Uses


class Gallery:
    """Items as portraits under the uses there have been; only what changed since `before` is made anew."""

    def __init__(
        self,
        user: User,
        items: Sequence[Item],
        uses: Sequence[Use],
        embed: EmbedPortraits,
        embed_past: Callable[[Sequence[str]], Matrix],
        *,
        before: "Gallery | None" = None,
    ) -> None:
        """`uses` are in order of time."""
        self.user = user
        self.items = items
        self.uses = uses
        self._embed = embed
        self._embed_past = embed_past
        self._columns: Uses | None = None
        self._made: _Made | None = None
        # of one that nobody looked at, what it would have taken over: so they make no chain
        self._before = before if before is None or before.made else before.taken_over
        self._read_before = before.read if before else None
        self._since: Since | None = None
        if self._before and self._before.user == user:
            self._since = Since.of(self._before.uses, uses)
        # columns and portraits are mostly those of one gallery; then the lists are compared once
        self._read_since: Since | None = None
        if self._before and self._read_before and self._read_before.uses is self._before.uses:
            self._read_since = self._since
        self._of = self._by_item()
        self._relations = Relations(user)
        self._lock = Lock()

    @property
    def made(self) -> "_Made | None":
        """The portraits, if anybody has looked at them."""
        return self._made

    @property
    def taken_over(self) -> "Gallery | None":
        """The gallery that this one will take portraits over from."""
        return self._before

    @property
    def read(self) -> "_Read | None":
        """The uses as columns, or the earlier ones that they will be made from."""
        columns = self._columns
        return self._read_before if columns is None else _Read(self.user, self.uses, columns)

    @property
    def by_item(self) -> Mapping[str, list[Use]]:
        """The uses of each item that has any."""
        return self._of

    def columns(self, facts: Facts) -> Uses:
        """The uses as columns, worked out when first asked for."""
        columns, before = self._columns, self._read_before
        if columns is None:
            if before and before.user == self.user:
                since = self._read_since or Since.of(before.uses, self.uses)
                columns = before.columns.after(facts, self.uses, kept=since.kept, new=since.new)
            if columns is None:
                columns = Uses.of(facts, self.uses)
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

    def uses_of(self, item: str) -> list[Use]:
        """The item's uses."""
        return self._of.get(item, [])

    def _by_item(self) -> Mapping[str, list[Use]]:
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

    def _make(self) -> "_Made":
        latest = local_time(self.uses[-1].time, self.user.zone) if self.uses else None
        before = self._before.made if self._before else None
        rows = self._unchanged()
        texts = [
            before.texts[row] if before and row >= 0 else self._portrait(item)
            for item, row in zip(self.items, rows, strict=True)
        ]
        return _Made(texts, self._embedded(texts, rows, before), latest)

    def _portrait(self, item: Item) -> str:
        return portrait(item, self.user, self.uses_of(item.id), self._relations)

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

    def _embedded(self, texts: Sequence[str], rows: Sequence[int], before: "_Made | None") -> Matrix:
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

    def _as_of(self, now: datetime, made: "_Made", positions: Sequence[int] | None) -> Matrix:
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
                text = portrait(item, self.user, seen, self._relations)
                if text != made.texts[number]:
                    then[row] = text
        past = made.vectors[wanted] if positions is not None else made.vectors
        if not then:
            return past
        past = past.copy()
        past[list(then)] = self._embed_past(list(then.values()))
        return past
