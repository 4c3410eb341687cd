"""StoredIndex: the index of a catalogue file on disk, memory-mapped and updated in place."""

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from contextune._internal.array_files import read_array
from contextune.embed import Embedder
from contextune.errors import StoreError
from contextune.tools.catalog_file import CatalogFile, CatalogRevision
from contextune.tools.filter import ToolFilter
from contextune.tools.large.lazy_catalog import LazyCatalog
from contextune.tools.large.manifest import MANIFEST, Manifest
from contextune.tools.large.segment import Segment
from contextune.tools.large.snapshot import IndexSnapshot
from contextune.tools.large.subset import SubsetIndex
from contextune.tools.query import ToolQuery

_OPEN_ATTEMPTS = 5
_PAGE = 1000


def index_folder(catalog: CatalogFile) -> Path:
    """The folder of a catalogue file's index."""
    return catalog.path.with_name(f"{catalog.path.name}.index")


class StoredIndex:
    """Searches a catalogue file of up to millions of tools. Thread-safe; other processes may update it.

    Tools that were changed or removed after the index was written are not returned; new ones are found after
    `update_index`.
    """

    def __init__(self, catalog: CatalogFile, embedder: Embedder, *, verify: bool = False) -> None:
        """Open the index; with `verify`, read all of its files to check them."""
        self._file = catalog
        self._embedder = embedder.name
        self.catalog = LazyCatalog(catalog)
        self._lock = threading.Lock()
        self._signature = _signature(catalog)
        self.manifest, self._snapshot = self._open(verify)
        self._seen: CatalogRevision | None = None
        self._hidden: Sequence[int] = ()

    @property
    def embedder_name(self) -> str:
        """The name of the embedder of its vectors."""
        return self._embedder

    @property
    def snapshot(self) -> IndexSnapshot:
        """The state that is searched now."""
        return self._refresh()[0]

    def __len__(self) -> int:
        """The number of tools."""
        return self._snapshot.count

    def positions(self, ids: Sequence[str]) -> dict[str, int]:
        """Places of the tools with these ids; unknown ids are left out."""
        return self._file.places(ids)

    def subset(
        self, query: ToolQuery, tool_filter: ToolFilter | None, depth: int
    ) -> tuple[SubsetIndex, ToolQuery]:
        """The candidates of a request, and the request with its past calls at their positions."""
        snapshot, hidden = self._refresh()
        # the conditions of a subclass can be checked only on the tools themselves
        accept = tool_filter if tool_filter is not None and type(tool_filter) is not ToolFilter else None
        visible = snapshot.visible(tool_filter, hidden)
        return snapshot.subset(query, visible, depth, self._file.tools, accept)

    def _refresh(self) -> tuple[IndexSnapshot, Sequence[int]]:
        """The newest snapshot, and the places of tools that changed after it was written."""
        revision, signature = self._file.revision(), _signature(self._file)
        with self._lock:
            if (revision, signature) != (self._seen, self._signature):
                if signature != self._signature:
                    self.manifest, self._snapshot = self._open(verify=False)
                    self._signature = signature
                written, removed, self._seen = self._file.changed_places(self.manifest.revision)
                self._hidden = [*written, *removed]
            return self._snapshot, self._hidden

    def _open(self, verify: bool) -> tuple[Manifest, IndexSnapshot]:
        folder = index_folder(self._file)
        for attempt in range(_OPEN_ATTEMPTS):
            manifest = Manifest.read(folder)
            self._check(manifest, folder)
            try:
                return manifest, open_snapshot(folder, manifest, verify=verify)
            except FileNotFoundError as error:  # replaced by a newer generation meanwhile
                if attempt + 1 == _OPEN_ATTEMPTS:
                    raise StoreError(
                        f"the index {str(folder)!r} lacks a file: build it again "
                        "(contextune tools index build)"
                    ) from error
        raise AssertionError

    def _check(self, manifest: Manifest, folder: Path) -> None:
        if manifest.embedder != self._embedder:
            raise StoreError(
                f"the index {str(folder)!r} is of the embedder {manifest.embedder!r}, not "
                f"{self._embedder!r}: build it again (contextune tools index build)"
            )
        if manifest.catalog != self._file.revision().catalog:
            raise StoreError(
                f"the index {str(folder)!r} is of another catalogue file: build it again "
                "(contextune tools index build)"
            )


def _signature(catalog: CatalogFile) -> tuple[int, int]:
    """Changes whenever another generation of the index is published."""
    try:
        status = (index_folder(catalog) / MANIFEST).stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_ino


def open_snapshot(folder: Path, manifest: Manifest, *, verify: bool = False) -> IndexSnapshot:
    """Map the files of a generation; raises `FileNotFoundError` if a file is missing."""
    manifest.check(folder, deep=verify)
    removed = (read_array(folder / name) if name else np.empty(0, np.intp) for name in manifest.removed)
    try:
        segments = [Segment.open(folder / name, manifest.averages) for name in manifest.segments]
        return IndexSnapshot(segments, removed)
    except ValueError as error:
        raise StoreError(
            f"the index {str(folder)!r} is damaged: build it again (contextune tools index build)"
        ) from error
