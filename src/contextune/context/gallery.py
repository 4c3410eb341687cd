"""The portraits of a user's items, in words and as vectors, kept current as the items are used."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import takewhile
from threading import Lock
from typing import NamedTuple

import numpy as np

from contextune.context.portrait import Relations, portrait
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
        self.user = user
        self.items = items
        self._embed = embed
        self._embed_past = embed_past
        self._uses: dict[str, list[Use]] = {}
        for use in uses:
            self._uses.setdefault(use.item, []).append(use)
        self._all = uses
        self._columns: Uses | None = None
        self._made: _Made | None = None
        # of one that nobody looked at, what it would have taken over: so they make no chain
        self._before = before if before is None or before.made else before.taken_over
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

    def columns(self, facts: Facts) -> Uses:
        """The uses as columns, worked out when first asked for."""
        if self._columns is None:
            self._columns = Uses.of(facts, self._all)
        return self._columns

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

    def _make(self) -> "_Made":
        latest = local_time(self._all[-1].time, self.user.zone) if self._all else None
        texts = self._described()
        return _Made(texts, self._embedded(texts), latest)

    def _described(self) -> list[str]:
        known: dict[str, tuple[Item, list[Use], str]] = {}
        before = self._before
        if before and before.made and before.user == self.user:
            known = {
                item.id: (item, before.uses_of(item.id), text)
                for item, text in zip(before.items, before.made.texts, strict=True)
            }
        texts: list[str] = []
        for item in self.items:
            uses = self.uses_of(item.id)
            old = known.get(item.id)
            same = old is not None and old[1] == uses and old[0] == item
            texts.append(old[2] if same and old else portrait(item, self.user, uses, self._relations))
        return texts

    def uses_of(self, item: str) -> list[Use]:
        """The item's uses."""
        return self._uses.get(item, [])

    def _embedded(self, texts: Sequence[str]) -> Matrix:
        known: dict[str, Matrix] = {}
        if self._before and self._before.made:
            known = dict(zip(self._before.made.texts, self._before.made.vectors, strict=True))
        named = {item.id: text for item, text in zip(self.items, texts, strict=True)}
        fresh = self._embed({name: text for name, text in named.items() if text not in known})
        rows = [known[text] if text in known else fresh[name] for name, text in named.items()]
        return np.stack(rows) if rows else np.empty((0, 0), np.float32)

    def _as_of(self, now: datetime, made: "_Made", positions: Sequence[int] | None) -> Matrix:
        """As they were before the later uses; of use to look back, so worked out each time and not kept."""
        zone = self.user.zone
        later = {
            use.item for use in takewhile(lambda use: local_time(use.time, zone) >= now, self._all[::-1])
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
