"""The `Snapshots` protocol: a place for the snapshots of a store's users."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from contextune.store.protocol import Store, StoreRevision
from contextune.store.snapshots.layout import Sections, Snapshot


class Snapshots(Protocol):
    """Keeps one snapshot per user and model, and erases it with the data it was made from."""

    min_items: int | None
    """Users with fewer items have none: computing again is fast. None: snapshots are not used at all."""

    def load(self, user: str, model: str) -> Snapshot | None:
        """The verified snapshot; None if there is none that can be trusted."""
        ...

    def save(
        self, user: str, model: str, revision: StoreRevision, metadata: Mapping[str, Any], sections: Sections
    ) -> bool:
        """Keep a snapshot; False if items have changed since `revision`, or it cannot be written."""
        ...

    def run(self, user: str, job: Callable[[], None]) -> bool:
        """Call `job` in a thread that closing the store waits for; False if one is running."""
        ...

    def defer(self, user: str, job: Callable[[], None] | None) -> None:
        """Call `job` when the store is closed, in place of an earlier one of the user; None: call nothing."""
        ...

    def wait(self) -> None:
        """Wait until a snapshot that is being written is complete."""
        ...


def snapshots_of(store: Store) -> Snapshots | None:
    """The snapshots of a store; None for a store that does not keep any, such as PostgreSQL."""
    snapshots: Snapshots | None = getattr(store, "snapshots", None)
    return None if snapshots is None or snapshots.min_items is None else snapshots
