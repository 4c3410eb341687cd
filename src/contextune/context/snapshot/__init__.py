"""Snapshots of the state of a user: columns, words and vectors that need not be computed again."""

from contextune.context.snapshot.keeper import SnapshotKeeper

__all__ = ["SnapshotKeeper"]
