"""SnapshotKeeper: reads the snapshot of a user, and writes a new one in the background when it is old."""

import logging
from time import monotonic

from contextune.context.index import UserState
from contextune.context.snapshot.decode import Embedding, decode_state
from contextune.context.snapshot.encode import encode_state
from contextune.context.snapshot.fingerprint import fingerprint
from contextune.store import Store, StoreRevision
from contextune.store.snapshots import SnapshotError, snapshots_of

_MAX_CHANGES, _MAX_CHANGED_SHARE = 256, 1 / 50
"""Entries that may have changed since a snapshot, in number and as a share of the items."""
_MIN_PAUSE_S, _PAUSE_FACTOR = 30.0, 20.0
"""Seconds between two snapshots of a user; at least so many times as long as writing one takes."""

_log = logging.getLogger("contextune.store")


class SnapshotKeeper:
    """The snapshots of a store's users for one embedder. Thread-safe."""

    def __init__(self, store: Store, model: str) -> None:
        self._store, self._model = store, model
        self._snapshots = snapshots_of(store)
        self._saved: dict[str, int] = {}
        """By user: `UserState.changes` of the state in the snapshot."""
        self._next: dict[str, float] = {}
        """By user: when the next snapshot may be written."""

    def load(self, user: str, embed: Embedding) -> UserState | None:
        """The state in the user's snapshot, of an earlier revision; None if there is none to use."""
        snapshot = self._snapshots.load(user, self._model) if self._snapshots else None
        if snapshot is None:
            return None
        profile = self._store.user(user)
        try:
            if snapshot.metadata["fingerprint"] != fingerprint(self._model, profile.zone):
                _log.info(
                    "a snapshot of another version, time zone or description of applications is ignored"
                )
                return None
            revision = StoreRevision(*snapshot.metadata["revision"])
            state = decode_state(snapshot, profile, revision, embed)
        except (LookupError, ValueError, TypeError) as error:  # written by a version with the same number
            _log.warning("a snapshot is ignored: %s", type(error).__name__)
            return None
        self._saved[user] = 0
        return state

    def keep(self, user: str, state: UserState) -> None:
        """Write a snapshot in the background if there is none, or many entries have changed since."""
        snapshots, size = self._snapshots, len(state.index.items)
        if snapshots is None or size < (snapshots.min_items or 0):
            return
        if state.enriched.enriched is None or not state.enriched.has_columns:
            return  # not all is computed
        saved = self._saved.get(user)
        limit = max(_MAX_CHANGES, _MAX_CHANGED_SHARE * size)
        if saved is not None and state.erased <= saved and state.changes - saved <= limit:
            return
        if monotonic() < self._next.get(user, 0) or not snapshots.run(user, lambda: self._save(user, state)):
            snapshots.defer(user, lambda: self._save(user, state))

    def forget(self, user: str) -> None:
        """Drop what is known of a user."""
        if self._snapshots:
            self._snapshots.defer(user, None)
        self._saved.pop(user, None)
        self._next.pop(user, None)

    def _save(self, user: str, state: UserState) -> None:
        start = monotonic()
        try:
            if self._write(user, state):
                self._saved[user] = state.changes
        except SnapshotError as error:
            _log.warning("a snapshot could not be written: %s", error)
        except Exception as error:  # in a thread: the message may contain personal data
            _log.warning("a snapshot could not be written: %s", type(error).__name__)
        end = monotonic()
        self._next[user] = end + max(_MIN_PAUSE_S, _PAUSE_FACTOR * (end - start))

    def _write(self, user: str, state: UserState) -> bool:
        if self._snapshots is None:
            return False
        metadata, sections = encode_state(state)
        metadata["fingerprint"] = fingerprint(self._model, state.index.user.zone)
        metadata["revision"] = list(state.revision)
        return self._snapshots.save(user, self._model, state.revision, metadata, sections)
