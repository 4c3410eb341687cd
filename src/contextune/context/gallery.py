"""The portraits of a user's items, in words and as vectors, kept current as the items are used."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from threading import Lock

import numpy as np

from contextune.context.portrait import portrait
from contextune.embed import Matrix
from contextune.signals import Facts, Uses
from contextune.types import Item, Use, User, local_time

EmbedPortraits = Callable[[Mapping[str, str]], Mapping[str, Matrix]]
"""Item → text, to item → vector."""


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
        self._latest = max((local_time(use.time, user.zone) for use in uses), default=None)
        self._all = uses
        self._columns: Uses | None = None
        self._texts = self._described(before)
        self._vectors: Matrix | None = None
        self._before = before
        self._lock = Lock()

    def columns(self, facts: Facts) -> Uses:
        """The uses as columns, worked out when first asked for."""
        if self._columns is None:
            self._columns = Uses.of(facts, self._all)
        return self._columns

    def vectors(self, now: datetime) -> Matrix:
        """A row an item, as its portrait was at a moment of the user's wall clock."""
        with self._lock:
            if self._vectors is None:
                self._vectors = self._embedded()
                self._before = None
        if self._latest is None or self._latest < now:
            return self._vectors
        return self._as_of(now, self._vectors)

    def _described(self, before: "Gallery | None") -> list[str]:
        known: dict[str, tuple[Item, list[Use], str]] = {}
        if before and before.user == self.user:
            known = {
                item.id: (item, before.uses_of(item.id), text)
                for item, text in zip(before.items, before.texts, strict=True)
            }
        texts: list[str] = []
        for item in self.items:
            uses = self.uses_of(item.id)
            old = known.get(item.id)
            same = old is not None and old[1] == uses and old[0] == item
            texts.append(old[2] if same and old else portrait(item, self.user, uses))
        return texts

    @property
    def texts(self) -> Sequence[str]:
        """Every item's portrait."""
        return self._texts

    def uses_of(self, item: str) -> list[Use]:
        """The item's uses."""
        return self._uses.get(item, [])

    def _embedded(self) -> Matrix:
        known: dict[str, Matrix] = {}
        if self._before is not None and self._before._vectors is not None:
            known = dict(zip(self._before.texts, self._before._vectors, strict=True))
        named = {item.id: text for item, text in zip(self.items, self._texts, strict=True)}
        fresh = self._embed({name: text for name, text in named.items() if text not in known})
        rows = [known[text] if text in known else fresh[name] for name, text in named.items()]
        return np.stack(rows) if rows else np.empty((0, 0), np.float32)

    def _as_of(self, now: datetime, vectors: Matrix) -> Matrix:
        """As they were before the later uses; of use to look back, so worked out each time and not kept."""
        zone = self.user.zone
        then: dict[int, str] = {}
        for number, item in enumerate(self.items):
            uses = self.uses_of(item.id)
            seen = [use for use in uses if local_time(use.time, zone) < now]
            if len(seen) < len(uses) and (text := portrait(item, self.user, seen)) != self._texts[number]:
                then[number] = text
        if not then:
            return vectors
        past = vectors.copy()
        past[list(then)] = self._embed_past(list(then.values()))
        return past
