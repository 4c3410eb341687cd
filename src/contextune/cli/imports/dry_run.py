"""A store that keeps in memory what an import would write, over a store that stays unchanged."""

from collections.abc import Iterable, Sequence

from contextune.errors import UnknownUserError
from contextune.store import ServiceStore
from contextune.store.rows import item_row, use_row, user_row
from contextune.types import Item, UsageEvent, User


class DryRunStore:
    """The import target of `contextune import --dry-run`: counts as a store would, and writes nothing."""

    def __init__(self, store: ServiceStore | None) -> None:
        """Start with the contents of `store`; empty with None."""
        self._store = store
        self._users: dict[str, User] = {}
        self._items: dict[str, Item | None] = {}
        """Items written since; None for those deleted. An import has one user."""
        self._uses: set[tuple[object, ...]] | None = None

    def users(self) -> list[str]:
        """The ids of all users, sorted."""
        return sorted({*self._users, *(self._store.users() if self._store else ())})

    def user(self, user: str) -> User:
        """The user; raise `UnknownUserError` if there is none."""
        if user in self._users:
            return self._users[user]
        if self._store is None:
            raise UnknownUserError(f"unknown user {user!r}")
        return self._store.user(user)

    def put_user(self, user: User) -> None:
        """Keep the user, after the checks of the store."""
        user_row(user)
        self._users[user.id] = user

    def items(self, user: str, ids: Sequence[str] | None = None) -> list[Item]:
        """The items as they would be: all of them sorted by id, or those of `ids`."""
        stored = self._stored_items(user, ids)
        merged = {item.id: item for item in stored} | {
            key: item for key, item in self._items.items() if ids is None or key in ids
        }
        return [item for key in (sorted(merged) if ids is None else ids) if (item := merged.get(key))]

    def put_items(self, user: str, items: Iterable[Item]) -> int:
        """Keep the items, after the checks of the store; none if one is invalid."""
        del user
        new = list(items)
        for item in new:
            item_row(0, item)
        self._items.update((item.id, item) for item in new)
        return len(new)

    def delete_items(self, user: str, ids: Iterable[str]) -> int:
        """Count the items as deleted."""
        existing = self.items(user, list(ids))
        self._items.update((item.id, None) for item in existing)
        return len(existing)

    def put_uses(self, user: str, uses: Iterable[UsageEvent]) -> int:
        """Count the uses that the store does not have."""
        if self._uses is None:
            self._uses = {use_row(0, use)[1:4] for use in self._stored_uses(user)}
        rows = {use_row(0, use)[1:4] for use in uses} - self._uses
        self._uses |= rows
        return len(rows)

    def _stored_items(self, user: str, ids: Sequence[str] | None) -> list[Item]:
        return self._store.items(user, ids) if self._store and user in self._store.users() else []

    def _stored_uses(self, user: str) -> list[UsageEvent]:
        return self._store.uses(user) if self._store and user in self._store.users() else []
