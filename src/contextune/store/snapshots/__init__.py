"""Index snapshots: what was computed for a user, in files that are read without parsing."""

from contextune.store.snapshots.files import SnapshotFiles
from contextune.store.snapshots.layout import Sections, Snapshot, SnapshotError, Snapshots, snapshots_of

__all__ = ["Sections", "Snapshot", "SnapshotError", "SnapshotFiles", "Snapshots", "snapshots_of"]
