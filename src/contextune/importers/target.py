"""The part of a store that an import reads and writes."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from contextune.types import Item, UsageEvent, User


class ImportTarget(Protocol):
    """A `Store`, or anything that takes the users, items and uses of an import in its place."""

    def user(self, user: str) -> User:
        """The user; raise `UnknownUserError` if there is none."""
        ...

    def put_user(self, user: User) -> None:
        """Add or replace the user."""
        ...

    def items(self, user: str, ids: Sequence[str] | None = None) -> list[Item]:
        """The user's items, or those of `ids` that exist."""
        ...

    def put_items(self, user: str, items: Iterable[Item]) -> int:
        """Add or replace items; return the number written."""
        ...

    def delete_items(self, user: str, ids: Iterable[str]) -> int:
        """Delete items; return the number deleted."""
        ...

    def put_uses(self, user: str, uses: Iterable[UsageEvent]) -> int:
        """Record uses; return the number of new ones."""
        ...
