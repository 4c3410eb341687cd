"""UserIndexCache: the states of users in memory, updated when their data change."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock

from contextune.context.enriched.items import EmbedContents, EnrichedChange, EnrichedItems
from contextune.context.enriched.uses_diff import apply_changes
from contextune.context.index import UserIndex, UserState
from contextune.context.snapshot import SnapshotKeeper
from contextune.context.snapshot.decode import Embedding
from contextune.embed import Embedder, Matrix, count_missing, embed_enriched_items, embed_items
from contextune.store import Store, StoreChanges, StoreRevision, text_digest

MIN_USERS = 64
"""Users whose state is kept in memory, however many items they have."""
MAX_ITEMS = 16_000
"""Further users are kept as long as all have at most so many items: about 250 MB."""
UserProgress = Callable[[str, int, int], None]
"""Called with the user, the number of texts embedded and the number to embed."""


def _ignore(_user: str, _embedded: int, _total: int) -> None:
    """Report nothing."""


class UserIndexCache:
    """LRU cache of the states of users, updated when their items or usage events change."""

    def __init__(self, store: Store, embedder: Embedder, *, progress: UserProgress | None = None) -> None:
        self._store = store
        self._embedder = embedder
        self._progress: UserProgress = progress or _ignore
        self._keeper = SnapshotKeeper(store, embedder.name)
        self._states: OrderedDict[str, UserState] = OrderedDict()
        self._lock = Lock()
        self._drops = 0

    def get(self, user: str) -> UserState:
        """The current state of a user."""
        with self._lock:
            drops = self._drops
        revision = self._store.revision(user)
        with self._lock:
            state = self._states.get(user)
        if state is None or state.revision != revision:
            state = self._update(user, revision, state)
        with self._lock:
            if drops != self._drops:  # the user may have been forgotten meanwhile
                return state
            self._states[user] = state
            self._states.move_to_end(user)
            self._drop_oldest()
        return state

    def _drop_oldest(self) -> None:
        if len(self._states) <= MIN_USERS:
            return
        items = sum(len(state.index.items) for state in self._states.values())
        while len(self._states) > MIN_USERS and items > MAX_ITEMS:
            _, oldest = self._states.popitem(last=False)
            items -= len(oldest.index.items)

    def forget(self, user: str, *, before: int | None = None) -> None:
        """Drop a user from memory; with `before`, only a state older than that revision of the items."""
        with self._lock:
            state = self._states.get(user)
            if before is not None and not (state and state.revision.items < before):
                return
            self._states.pop(user, None)
            self._drops += 1
        self._keeper.forget(user)

    def keep(self, user: str, state: UserState) -> None:
        """Write a snapshot of the state if the store has none, or an old one."""
        self._keeper.keep(user, state)

    def _update(self, user: str, revision: StoreRevision, previous: UserState | None) -> UserState:
        """Read what has changed from the store; reuse the rest."""
        if previous is None:
            embed = Embedding(self._embed_items(user), self._embed_enriched(user))
            saved = self._keeper.load(user, embed)
            if saved and saved.revision == revision:
                return saved
            if saved and (updated := self._apply_changes(user, saved)):
                return updated
        elif updated := self._apply_changes(user, previous):
            return updated
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
        changes = previous.changes + 1 if previous else 0
        return UserState(revision, index, enriched, changes, changes)

    def _apply_changes(self, user: str, previous: UserState) -> UserState | None:
        """The state after the changes since; None if everything has to be read again."""
        changes = self._store.changes(user, previous.revision)
        return self._apply(user, changes, previous) if changes and changes.user is None else None

    def _apply(self, user: str, changes: StoreChanges, previous: UserState) -> UserState:
        """The state after a few changes, without reading the rest."""
        index, before = previous.index, previous.enriched
        deleted: list[str] = []
        if changes.deleted:
            deleted = [name for name in index.ids if text_digest(name) in changes.deleted]
        count = previous.changes + len(changes.items) + len(changes.uses) + len(changes.deleted)
        replaced = changes.deleted or any(item.id in index.row_by_id for item in changes.items)
        index, mapping = index.updated(changes.items, deleted)
        uses, diff = apply_changes(
            before.uses, before.uses_by_item, added=changes.uses, deleted=deleted, zone=index.user.zone
        )
        enriched = EnrichedItems(
            index.user,
            index.items,
            uses,
            self._embed_enriched(user),
            self._embed_items(user),
            previous=before,
            change=EnrichedChange(mapping, diff, index.row_by_id),
        )
        return UserState(changes.revision, index, enriched, count, count if replaced else previous.erased)

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
