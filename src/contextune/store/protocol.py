"""The `Store` protocol. Every call names a user and reaches only that user's data."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from contextune.store.quota import StoredSizes
from contextune.types import Feedback, Item, UsageEvent, User

Vector = NDArray[np.float32]
Entry = TypeVar("Entry")


def text_digest(text: str) -> bytes:
    """The key of a text's vectors: equal texts share vectors, and the text is not stored again."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class StoreRevision(NamedTuple):
    """Change counters of a user's data; uses have their own, as they change all the time."""

    items: int
    """Grows when the user or an item is written or deleted."""
    uses: int
    """Grows when a use is recorded."""

    @property
    def newest(self) -> int:
        """The number of the last change of any kind; both counters share one sequence."""
        return max(self)


@dataclass(frozen=True, slots=True)
class StoreChanges:
    """What changed in a user's data after a revision."""

    revision: StoreRevision
    """The revision with these changes."""
    user: User | None
    """The user, if written since."""
    items: list[Item]
    """New and changed items."""
    deleted: frozenset[bytes]
    """`text_digest` of the ids of deleted items, whose earlier uses are gone too.

    An item that was deleted and written again is among `items` as well.
    """
    uses: list[UsageEvent]
    """New uses."""


@dataclass(frozen=True, slots=True)
class Page(Generic[Entry]):
    """Some of a user's entries."""

    entries: list[Entry]
    total: int
    """Number of entries on all pages."""
    next: int | None
    """Where the next page starts; None after the last page."""


class Store(Protocol):
    """Storage of users, items, uses, vectors and feedback.

    Each writing call is one transaction. Calls for an unknown user raise `UnknownUserError`.
    """

    def put_user(self, user: User) -> None:
        """Add or replace the user; items and uses stay."""
        ...

    def user(self, user: str) -> User:
        """The user's profile, places, contacts and time zone."""
        ...

    def users(self) -> list[str]:
        """The ids of all users, sorted."""
        ...

    def put_items(self, user: str, items: Iterable[Item], *, limit: int | None = None) -> int:
        """Add items, or replace those of the same id; return the number written.

        Raise `LimitError` and write nothing if the user would have more than `limit` items.
        """
        ...

    def items(self, user: str, ids: Sequence[str] | None = None) -> list[Item]:
        """The user's items, sorted by id; or those of `ids` that exist, in that order."""
        ...

    def delete_items(self, user: str, ids: Iterable[str]) -> int:
        """Delete items with their uses and vectors; return the number of items deleted."""
        ...

    def put_uses(self, user: str, uses: Iterable[UsageEvent], *, limit: int | None = None) -> int:
        """Record uses; return the number of new ones (a known item, time and place is ignored).

        Raise `LimitError` and write nothing if the user would have more than `limit` uses.
        """
        ...

    def uses(self, user: str, *, item: str | None = None) -> list[UsageEvent]:
        """The user's uses of one item or of all, in order of time."""
        ...

    def revision(self, user: str) -> StoreRevision:
        """Counters that grow with every change to the user's data, by any process."""
        ...

    def changes(self, user: str, since: StoreRevision) -> StoreChanges | None:
        """What changed since an earlier revision; None if the store no longer knows: then read everything."""
        ...

    def vectors(self, user: str, model: str, digests: Sequence[bytes]) -> dict[bytes, Vector]:
        """The stored vectors of these text digests for this model."""
        ...

    def put_vectors(self, user: str, model: str, vectors: Mapping[bytes, Vector]) -> None:
        """Store vectors. The revision does not change."""
        ...

    def enriched_vectors(
        self, user: str, model: str, items: Sequence[str] | None = None
    ) -> dict[str, tuple[bytes, Vector]]:
        """By item: digest and vector of its enriched text for this model; of all items, or of `items`."""
        ...

    def put_enriched_vectors(
        self, user: str, model: str, vectors: Mapping[str, tuple[bytes, Vector]]
    ) -> None:
        """Store digests and vectors of enriched texts, replacing earlier ones; unknown items are ignored."""
        ...

    def put_feedback(self, user: str, feedback: Feedback) -> None:
        """Store feedback on a request."""
        ...

    def feedback(self, user: str) -> list[Feedback]:
        """All feedback of the user, oldest first."""
        ...

    def forget(self, user: str) -> None:
        """Delete the user, and every trace of them in the store's files."""
        ...

    def close(self) -> None:
        """Close the files."""
        ...


class ServiceStore(Store, Protocol):
    """What services need in addition: pages, sizes, and use in a `with` block."""

    def items_page(
        self,
        user: str,
        *,
        app: str | None = None,
        start: int = 0,
        limit: int = 100,
        max_bytes: int | None = None,
    ) -> Page[Item]:
        """Items sorted by id, beginning at number `start`; fewer than `limit` if they exceed `max_bytes`."""
        ...

    def uses_page(self, user: str, *, start: int = 0, limit: int = 100) -> Page[UsageEvent]:
        """Uses sorted by time, beginning at number `start`; a time without a zone is sorted as if in UTC."""
        ...

    def sizes(self, user: str) -> StoredSizes:
        """Entries and bytes that the user has stored, without vectors and indexes."""
        ...

    def vector_digests(self, user: str) -> dict[str, list[bytes]]:
        """By model: the text digests that have a stored vector; models of enriched vectors included."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...
