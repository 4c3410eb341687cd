"""What a store must do. Every call names the user; none can reach beyond that user's data."""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from contextune.types import Feedback, Item, UsageEvent, User

Vector = NDArray[np.float32]


def text_digest(text: str) -> bytes:
    """What the vectors of a text are kept under, so that equal texts share them and no text is kept twice."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class StoreRevision(NamedTuple):
    """How far a user's data has changed; uses by themselves, since they change all the time."""

    items: int
    """Grows with the user, their items, and what is deleted."""
    uses: int
    """Grows with every use recorded."""


class Store(Protocol):
    """Where users, items, uses and vectors live.

    Each writing call is one transaction: all of it happens, or none of it.
    Calls about a user the store does not know raise `UnknownUserError`.
    """

    def put_user(self, user: User) -> None:
        """Add the user, or replace what is known of them; their items and uses stay."""
        ...

    def user(self, user: str) -> User:
        """What is known of the user."""
        ...

    def users(self) -> list[str]:
        """The ids of all users, sorted."""
        ...

    def put_items(self, user: str, items: Iterable[Item], *, most: int | None = None) -> int:
        """Add items, or replace those of the same id; how many there were.

        `LimitError` where the user would have more than `most` by it; what was there before stays.
        """
        ...

    def items(self, user: str, ids: Sequence[str] | None = None) -> list[Item]:
        """The user's items, sorted by id; or those asked for that exist, in the order asked for."""
        ...

    def delete_items(self, user: str, ids: Iterable[str]) -> int:
        """Delete items with their uses and vectors; how many items there were."""
        ...

    def put_uses(self, user: str, uses: Iterable[UsageEvent], *, most: int | None = None) -> int:
        """Record uses; one that is there already (same item, time and place) is not counted twice.

        `LimitError` where the user would have more than `most` by it.
        """
        ...

    def uses(self, user: str, *, item: str | None = None) -> list[UsageEvent]:
        """The user's uses in order of time; of one item, or of all."""
        ...

    def revision(self, user: str) -> StoreRevision:
        """Numbers that grow with every change to the user's data, in whatever process it was made."""
        ...

    def vectors(self, user: str, model: str, digests: Sequence[bytes]) -> dict[bytes, Vector]:
        """Vectors kept for these text digests under this model; those not kept are left out."""
        ...

    def put_vectors(self, user: str, model: str, vectors: Mapping[bytes, Vector]) -> None:
        """Keep vectors. This does not count as a change to the user's data."""
        ...

    def portraits(
        self, user: str, model: str, items: Sequence[str] | None = None
    ) -> dict[str, tuple[bytes, Vector]]:
        """By item, of all or those asked for: the digest of its portrait, and the vector under this model."""
        ...

    def put_portraits(self, user: str, model: str, portraits: Mapping[str, tuple[bytes, Vector]]) -> None:
        """Keep vectors by item, in place of earlier ones; those of items that are gone are left out."""
        ...

    def put_feedback(self, user: str, feedback: Feedback) -> None:
        """Keep what became of a request."""
        ...

    def feedback(self, user: str) -> list[Feedback]:
        """What became of the user's requests, in the order it was told."""
        ...

    def forget(self, user: str) -> None:
        """Erase the user so that no trace of them is left in the store's files."""
        ...

    def close(self) -> None:
        """Let go of the files."""
        ...
