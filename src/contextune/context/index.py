"""One user's items made ready for search, and kept ready while they do not change."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from threading import Lock
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from contextune.embed import Embedder, Matrix, embed_items
from contextune.search import LexicalIndex, words
from contextune.store import Store
from contextune.types import Item, Progress, User, local_time

_USERS = 64
Value = TypeVar("Value")


class _made_once(Generic[Value]):  # noqa: N801  # read as a decorator
    """`functools.cached_property` less its lock, for which in Python 3.11 all users wait on one embedding."""

    def __init__(self, make: "Callable[[UserIndex], Value]") -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __get__(self, index: "UserIndex", owner: type["UserIndex"]) -> Value:
        value = vars(index)[self._make.__name__] = self._make(index)
        return value


class UserIndex:
    """A user's items by position; their words and vectors are made when first asked for."""

    def __init__(
        self,
        user: User,
        items: list[Item],
        embed: Callable[[Sequence[str]], Matrix],
        *,
        before: "UserIndex | None" = None,
    ) -> None:
        """`before` is the index before a change: what it knows of the items that stayed is taken over."""
        self.user = user
        # so an application is a slice, and no item that a request may not see moves the order of others
        self.items = sorted(items, key=lambda item: (item.app, item.id))
        self._embed = embed
        made = [local_time(made, user.zone) if (made := item.made) else None for item in self.items]
        self._made = np.array(made, dtype="datetime64[us]")
        if before:
            self._take_over(before)

    @_made_once
    def texts(self) -> list[str]:
        """Every item in words."""
        return [item.text for item in self.items]

    @_made_once
    def tokens(self) -> list[list[str]]:
        """The words of every item."""
        return [words(text) for text in self.texts]

    @_made_once
    def vectors(self) -> Matrix:
        """A row an item."""
        return self._embed(self.texts)

    @_made_once
    def apps(self) -> Mapping[str, slice]:
        """Where each application's items lie: the stores that are searched each by itself."""
        counts = Counter(item.app for item in self.items)
        ends = accumulate(counts.values())
        return {app: slice(end - n, end) for (app, n), end in zip(counts.items(), ends, strict=True)}

    @_made_once
    def lexical(self) -> Mapping[str, LexicalIndex]:
        """An index of words for each application."""
        return {app: LexicalIndex(self.tokens[part]) for app, part in self.apps.items()}

    def visible(self, time: datetime) -> NDArray[np.bool_]:
        """Which items a request of this time may see: those made by then, and those that say not when."""
        now = np.datetime64(local_time(time, self.user.zone), "us")
        return np.isnat(self._made) | (self._made <= now)

    def _take_over(self, before: "UserIndex") -> None:
        """Fill in, out of `before`, whatever it had made: only what changed is worked out anew."""
        made, mine = vars(before), vars(self)
        old = {item.id: position for position, item in enumerate(before.items)}
        same = [
            position
            if (position := old.get(item.id)) is not None and before.items[position] == item
            else None
            for item in self.items
        ]
        if "texts" in made:
            mine["texts"] = [
                item.text if position is None else before.texts[position]
                for item, position in zip(self.items, same, strict=True)
            ]
        if "tokens" in made:
            mine["tokens"] = [
                words(text) if position is None else before.tokens[position]
                for text, position in zip(self.texts, same, strict=True)
            ]
        if "vectors" in made and len(before.vectors):
            rows = np.array([-1 if position is None else position for position in same], np.intp)
            fresh = np.flatnonzero(rows < 0)
            vectors = before.vectors[rows]
            if len(fresh):
                vectors[fresh] = self._embed([self.texts[int(position)] for position in fresh])
            mine["vectors"] = vectors


class Indexes:
    """The indexes of the users seen last, each brought up to date once its user's items have changed."""

    def __init__(self, store: Store, embedder: Embedder, *, progress: Progress | None = None) -> None:
        self._store = store
        self._embedder = embedder
        self._progress = progress
        self._kept: OrderedDict[str, tuple[int, UserIndex]] = OrderedDict()
        self._lock = Lock()

    def of(self, user: str) -> UserIndex:
        """The user's index as of now."""
        revision = self._store.revision(user).items
        with self._lock:
            kept = self._kept.get(user)
        if kept is None or kept[0] != revision:
            kept = revision, self._build(user, kept[1] if kept else None)
        with self._lock:
            self._kept[user] = kept
            self._kept.move_to_end(user)
            while len(self._kept) > _USERS:
                self._kept.popitem(last=False)
        return kept[1]

    def _build(self, user: str, before: UserIndex | None) -> UserIndex:
        def embed(texts: Sequence[str]) -> Matrix:
            return embed_items(
                texts, embedder=self._embedder, store=self._store, user=user, progress=self._progress
            )

        return UserIndex(self._store.user(user), self._store.items(user), embed, before=before)
