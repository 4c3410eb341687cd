"""One user's items made ready for search, and kept ready while they do not change."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from threading import Lock
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from contextune.context.enriched_items import EmbedPortraits, EnrichedItems
from contextune.context.signals import ItemColumns
from contextune.context.signals.columns import RowMapping
from contextune.embed import Embedder, Matrix, embed_items, embed_portraits
from contextune.search import LexicalIndex, tokenize
from contextune.store import Store, StoreRevision
from contextune.types import Item, Progress, User, local_time

_USERS = 64
Value = TypeVar("Value")


class _lazy_property(Generic[Value]):  # noqa: N801  # read as a decorator
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
        if before:
            self._take_over(before)
        else:
            self._made = self._when(self.items)

    @_lazy_property
    def texts(self) -> list[str]:
        """Every item in words."""
        return [item.text for item in self.items]

    @_lazy_property
    def tokens(self) -> list[list[str]]:
        """The words of every item."""
        # the same words as the very same strings: most words stand in many items
        shared: dict[str, str] = {}
        return [[shared.setdefault(word, word) for word in tokenize(text)] for text in self.texts]

    @_lazy_property
    def vectors(self) -> Matrix:
        """A row an item."""
        return self._embed(self.texts)

    @_lazy_property
    def facts(self) -> ItemColumns:
        """What signals read: times, places and people as columns."""
        return ItemColumns(self.user, self.items, self.tokens, self.position)

    @_lazy_property
    def position(self) -> Mapping[str, int]:
        """Where each item lies, by id."""
        return {item.id: number for number, item in enumerate(self.items)}

    @_lazy_property
    def apps(self) -> Mapping[str, slice]:
        """Where each application's items lie: the stores that are searched each by itself."""
        counts = Counter(item.app for item in self.items)
        ends = accumulate(counts.values())
        return {app: slice(end - n, end) for (app, n), end in zip(counts.items(), ends, strict=True)}

    @_lazy_property
    def lexical(self) -> Mapping[str, LexicalIndex]:
        """An index of words for each application."""
        return {app: LexicalIndex(self.tokens[part]) for app, part in self.apps.items()}

    def lexical_scores(self, query: Sequence[str], visible: NDArray[np.bool_]) -> NDArray[np.float64]:
        """BM25T of every item, each application a collection of its own, over the visible ones."""
        scores = np.zeros(len(self.items))
        for app, part in self.apps.items():
            scores[part] = self.lexical[app].scores(query, visible=visible[part])
        return scores

    def visible(self, time: datetime) -> NDArray[np.bool_]:
        """Which items a request of this time may see: those made by then, and those that say not when."""
        now = np.datetime64(local_time(time, self.user.zone), "us")
        return np.isnat(self._made) | (self._made <= now)

    def _when(self, items: Sequence[Item]) -> NDArray[np.datetime64]:
        """When each was made."""
        made = [local_time(made, self.user.zone) if (made := item.made) else None for item in items]
        return np.array(made, dtype="datetime64[us]")

    def _take_over(self, before: "UserIndex") -> None:
        """Fill in, out of `before`, whatever it had made: only what changed is worked out anew."""
        made, mine = vars(before), vars(self)
        old, earlier = before.position, before.items
        same = [
            position if (position := old.get(item.id, -1)) >= 0 and earlier[position] == item else -1
            for item in self.items
        ]
        # the very same objects, so that comparing them again costs nothing
        self.items = [
            item if position < 0 else earlier[position]
            for item, position in zip(self.items, same, strict=True)
        ]
        change = RowMapping.of(same)
        fresh = [self.items[row] for row in change.fresh]
        if before.user.zone == self.user.zone:
            self._made = change.merged(before._made, self._when(fresh))
        else:
            self._made = self._when(self.items)
        if "texts" in made:
            mine["texts"] = change.listed(before.texts, [item.text for item in fresh])
        if "tokens" in made:
            said = [tokenize(self.texts[row]) for row in change.fresh]
            mine["tokens"] = change.listed(before.tokens, said)
        if "vectors" in made and len(before.vectors):
            vectors = before.vectors[same]
            if fresh:
                vectors[change.fresh] = self._embed([self.texts[row] for row in change.fresh])
            mine["vectors"] = vectors
        if "lexical" in made:
            mine["lexical"] = {
                app: before.lexical[app]
                if app in before.apps and same[part] == list(_numbers(before.apps[app]))
                else LexicalIndex(self.tokens[part])
                for app, part in self.apps.items()
            }
        if "facts" in made and before.user == self.user:
            mine["facts"] = before.facts.after(self.items, self.tokens, self.position, change)


def _numbers(part: slice) -> range:
    return range(part.start, part.stop)


@dataclass(frozen=True, slots=True)
class UserState:
    """All that is known of a user: the items, ready for search, and how they are used."""

    revision: StoreRevision
    index: UserIndex
    gallery: EnrichedItems


class UserIndexCache:
    """What is known of the users seen last, brought up to date once their items or uses have changed."""

    def __init__(self, store: Store, embedder: Embedder, *, progress: Progress | None = None) -> None:
        self._store = store
        self._embedder = embedder
        self._progress = progress
        self._kept: OrderedDict[str, UserState] = OrderedDict()
        self._lock = Lock()

    def of(self, user: str) -> UserState:
        """What is known of the user as of now."""
        revision = self._store.revision(user)
        with self._lock:
            kept = self._kept.get(user)
        if kept is None or kept.revision != revision:
            kept = self._renewed(user, revision, kept)
        with self._lock:
            self._kept[user] = kept
            self._kept.move_to_end(user)
            while len(self._kept) > _USERS:
                self._kept.popitem(last=False)
        return kept

    def forget(self, user: str) -> None:
        """Drop what is kept in memory of a user."""
        with self._lock:
            self._kept.pop(user, None)

    def _renewed(self, user: str, revision: StoreRevision, before: UserState | None) -> UserState:
        """Items that did not change, and portraits that would say the same, are taken over from before."""
        index = before.index if before else None
        if before is None or index is None or before.revision.items != revision.items:
            index = UserIndex(
                self._store.user(user), self._store.items(user), self._embed(user), before=index
            )
        gallery = EnrichedItems(
            index.user,
            index.items,
            self._store.uses(user),
            self._embed_portraits(user),
            self._embedder.embed,
            before=before.gallery if before else None,
        )
        return UserState(revision, index, gallery)

    def _embed(self, user: str) -> Callable[[Sequence[str]], Matrix]:
        return lambda texts: embed_items(
            texts, embedder=self._embedder, store=self._store, user=user, progress=self._progress
        )

    def _embed_portraits(self, user: str) -> EmbedPortraits:
        return lambda texts: embed_portraits(
            texts, embedder=self._embedder, store=self._store, user=user, progress=self._progress
        )
