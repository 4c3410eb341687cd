"""Open the retriever of a catalogue: in PostgreSQL, over an index on disk, or in memory."""

from contextlib import ExitStack
from pathlib import Path

from contextune._internal.postgres_url import is_postgres
from contextune.embed import Embedder, default_embedder
from contextune.errors import InvalidDataError
from contextune.tools.catalog_file import CatalogFile
from contextune.tools.large.build import update_index
from contextune.tools.large.manifest import MANIFEST
from contextune.tools.large.stored_index import StoredIndex, index_folder
from contextune.tools.retriever import ToolRetriever
from contextune.types import Progress


def has_index(catalog: CatalogFile) -> bool:
    """Whether a catalogue file has an index on disk."""
    return (index_folder(catalog) / MANIFEST).exists()


def open_tools(
    stack: ExitStack,
    catalog: Path | str,
    embedder: Embedder | None = None,
    *,
    timeout: float = 30.0,
    max_connections: int = 8,
    progress: Progress | None = None,
) -> ToolRetriever:
    """A retriever over a catalogue that exists: a file, or the URL of one in PostgreSQL; `stack` closes it.

    `timeout` and `max_connections` are those of `PostgresCatalog`.
    """
    remedy = "add tools with 'contextune tools add …'"
    if is_postgres(catalog):
        from contextune.tools.large.postgres import PostgresCatalog

        embedder = embedder or default_embedder()
        shared = stack.enter_context(
            PostgresCatalog(str(catalog), embedder, timeout=timeout, max_connections=max_connections)
        )
        if not shared.count():
            raise InvalidDataError(f"the catalogue in PostgreSQL is empty: {remedy}")
        return ToolRetriever.from_index(shared, embedder)
    path = Path(catalog).expanduser()
    if not path.is_file():
        raise InvalidDataError(f"there is no catalogue at {str(path)!r}: contextune tools add … creates it")
    file = stack.enter_context(CatalogFile(path))
    if not file.count():
        raise InvalidDataError(f"empty catalogue: {str(path)!r} ({remedy})")
    return open_retriever(file, embedder, progress=progress)


def open_retriever(
    catalog: CatalogFile, embedder: Embedder | None = None, *, progress: Progress | None = None
) -> ToolRetriever:
    """A retriever over a catalogue file; an index on disk is brought up to date first."""
    if not has_index(catalog):
        return ToolRetriever(catalog.catalog(), embedder, vector_cache=catalog, progress=progress)
    embedder = embedder or default_embedder()
    update_index(catalog, embedder)
    return ToolRetriever.from_index(StoredIndex(catalog, embedder), embedder)
