"""UserIndex: one user's items with tokens, vectors and columns, updated incrementally."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import accumulate
from threading import Lock
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from contextune.context.enriched_items import EmbedContents, EnrichedItems
from contextune.context.mentions import MentionIndex
from contextune.context.signals import ItemColumns
from contextune.context.signals.columns import RowMapping
from contextune.embed import Embedder, Matrix, count_missing, embed_enriched_items, embed_items
from contextune.search import LexicalIndex, tokenize
from contextune.store import Store, StoreRevision
from contextune.types import Item, User, local_time

_MAX_USERS = 64
"""Users whose state is kept in memory."""
Value = TypeVar("Value")
UserProgress = Callable[[str, int, int], None]
"""Called with the user, the number of texts embedded and the number to embed."""


class _lazy_property(Generic[Value]):  # noqa: N801  # used as a decorator
    """`functools.cached_property` without its lock, which in Python 3.11 is shared by all instances."""

    def __init__(self, compute: "Callable[[UserIndex], Value]") -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __get__(self, index: "UserIndex", owner: type["UserIndex"]) -> Value:
        value = vars(index)[self._compute.__name__] = self._compute(index)
        return value


class UserIndex:
    """A user's items, one row each; tokens, vectors and columns are computed on first use."""

    def __init__(
        self,
        user: User,
        items: list[Item],
        embed: Callable[[Sequence[str]], Matrix],
        *,
        previous: "UserIndex | None" = None,
    ) -> None:
        """`previous` is the index before a change; what it computed for unchanged items is reused."""
        self.user = user
        # sorted: an application is a slice, and items that a request cannot see do not affect the order
        self.items = sorted(items, key=lambda item: (item.app, item.id))
        self._embed = embed
        if previous:
            self._reuse(previous)
        else:
            self._created = self._creation_times(self.items)

    @_lazy_property
    def texts(self) -> list[str]:
        """The text of each item."""
        return [item.text for item in self.items]

    @_lazy_property
    def tokens(self) -> list[list[str]]:
        """The tokens of each item."""
        # interned: most words occur in many items
        interned: dict[str, str] = {}
        return [[interned.setdefault(word, word) for word in tokenize(text)] for text in self.texts]

    @_lazy_property
    def vectors(self) -> Matrix:
        """One row per item."""
        return self._embed(self.texts)

    @_lazy_property
    def item_columns(self) -> ItemColumns:
        """Times, places and people as columns, for the features."""
        return ItemColumns(self.user, self.items, self.tokens, self.row_by_id)

    @_lazy_property
    def row_by_id(self) -> Mapping[str, int]:
        """The row of each item."""
        return {item.id: row for row, item in enumerate(self.items)}

    @_lazy_property
    def apps(self) -> Mapping[str, slice]:
        """The rows of each application."""
        counts = Counter(item.app for item in self.items)
        ends = accumulate(counts.values())
        return {app: slice(end - n, end) for (app, n), end in zip(counts.items(), ends, strict=True)}

    @_lazy_property
    def lexical(self) -> Mapping[str, LexicalIndex]:
        """A lexical index per application."""
        return {app: LexicalIndex(self.tokens[part]) for app, part in self.apps.items()}

    @_lazy_property
    def store_lexical(self) -> LexicalIndex:
        """A lexical index of all items as one collection, whose scores are comparable across applications."""
        return LexicalIndex(self.tokens)

    @_lazy_property
    def people(self) -> list[tuple[str, ...]]:
        """The names, addresses and numbers of the people in each item."""
        return [item.people for item in self.items]

    @_lazy_property
    def mentions(self) -> MentionIndex:
        """Rows by names of people and by titles, for candidates of large stores."""
        return MentionIndex(self.people, self.item_columns.title_words)

    def lexical_scores(self, query: Sequence[str], visible: NDArray[np.bool_]) -> NDArray[np.float64]:
        """BM25T score of each item; each application is its own collection, of its visible items."""
        scores = np.zeros(len(self.items))
        for app, part in self.apps.items():
            scores[part] = self.lexical[app].scores(query, visible=visible[part])
        return scores

    def visible(self, time: datetime) -> NDArray[np.bool_]:
        """Whether each item existed at this time; items without a creation time always do."""
        now = np.datetime64(local_time(time, self.user.zone), "us")
        return np.isnat(self._created) | (self._created <= now)

    def _creation_times(self, items: Sequence[Item]) -> NDArray[np.datetime64]:
        """Creation times on the user's wall clock."""
        times = [local_time(made, self.user.zone) if (made := item.made) else None for item in items]
        return np.array(times, dtype="datetime64[us]")

    def _reuse(self, previous: "UserIndex") -> None:
        """Fill in what `previous` has computed; only changed items are computed again."""
        computed, own = vars(previous), vars(self)
        previous_items = previous.items
        # for each item its row in `previous`, or -1 if it is new or changed
        previous_rows = [
            row if (row := previous.row_by_id.get(item.id, -1)) >= 0 and previous_items[row] == item else -1
            for item in self.items
        ]
        # keep the identical objects, which makes later comparisons cheap
        self.items = [
            item if row < 0 else previous_items[row]
            for item, row in zip(self.items, previous_rows, strict=True)
        ]
        mapping = RowMapping.from_previous_rows(previous_rows)
        changed = [self.items[row] for row in mapping.changed]
        if previous.user.zone == self.user.zone:
            self._created = mapping.merge(previous._created, self._creation_times(changed))
        else:
            self._created = self._creation_times(self.items)
        if "texts" in computed:
            own["texts"] = mapping.merge_lists(previous.texts, [item.text for item in changed])
        if "tokens" in computed:
            tokens = [tokenize(self.texts[row]) for row in mapping.changed]
            own["tokens"] = mapping.merge_lists(previous.tokens, tokens)
        if "people" in computed:
            own["people"] = mapping.merge_lists(previous.people, [item.people for item in changed])
        if "vectors" in computed and len(previous.vectors):
            vectors = previous.vectors[previous_rows]
            if changed:
                vectors[mapping.changed] = self._embed([self.texts[row] for row in mapping.changed])
            own["vectors"] = vectors
        if "lexical" in computed:
            own["lexical"] = {
                app: previous.lexical[app]
                if app in previous.apps and previous_rows[part] == list(_to_range(previous.apps[app]))
                else LexicalIndex(self.tokens[part])
                for app, part in self.apps.items()
            }
        if "item_columns" in computed and previous.user == self.user:
            own["item_columns"] = previous.item_columns.updated(
                self.items, self.tokens, self.row_by_id, mapping
            )


def _to_range(part: slice) -> range:
    return range(part.start, part.stop)


@dataclass(frozen=True, slots=True)
class UserState:
    """A user's items and usage at one revision of the store."""

    revision: StoreRevision
    index: UserIndex
    enriched: EnrichedItems


def _ignore(_user: str, _embedded: int, _total: int) -> None:
    """Report nothing."""


class UserIndexCache:
    """LRU cache of the states of users, updated when their items or usage events change."""

    def __init__(self, store: Store, embedder: Embedder, *, progress: UserProgress | None = None) -> None:
        self._store = store
        self._embedder = embedder
        self._progress: UserProgress = progress or _ignore
        self._states: OrderedDict[str, UserState] = OrderedDict()
        self._lock = Lock()

    def get(self, user: str) -> UserState:
        """The current state of a user."""
        revision = self._store.revision(user)
        with self._lock:
            state = self._states.get(user)
        if state is None or state.revision != revision:
            state = self._update(user, revision, state)
        with self._lock:
            self._states[user] = state
            self._states.move_to_end(user)
            while len(self._states) > _MAX_USERS:
                self._states.popitem(last=False)
        return state

    def forget(self, user: str) -> None:
        """Drop a user from memory."""
        with self._lock:
            self._states.pop(user, None)

    def _update(self, user: str, revision: StoreRevision, previous: UserState | None) -> UserState:
        """Read what has changed from the store; reuse the rest."""
        index = previous.index if previous else None
        if previous is None or index is None or previous.revision.items != revision.items:
            index = UserIndex(
                self._store.user(user), self._store.items(user), self._embed_items(user), previous=index
            )
        enriched = EnrichedItems(
            index.user,
            index.items,
            self._store.uses(user),
            self._embed_enriched(user),
            self._embed_items(user),
            previous=previous.enriched if previous else None,
        )
        return UserState(revision, index, enriched)

    def missing(self, user: str, state: UserState) -> int:
        """How many items of a user have no vector yet."""
        return state.enriched.missing(
            lambda texts: count_missing(texts, embedder=self._embedder, store=self._store, user=user)
        )

    def _embed_items(self, user: str) -> Callable[[Sequence[str]], Matrix]:
        progress = partial(self._progress, user)
        return lambda texts: embed_items(
            texts, embedder=self._embedder, store=self._store, user=user, progress=progress
        )

    def _embed_enriched(self, user: str) -> EmbedContents:
        progress = partial(self._progress, user)
        return lambda texts: embed_enriched_items(
            texts, embedder=self._embedder, store=self._store, user=user, progress=progress
        )
