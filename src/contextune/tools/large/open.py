"""Open the retriever of a catalogue file: over its index on disk if it has one, else in memory."""

from contextune.embed import Embedder, default_embedder
from contextune.tools.catalog_file import CatalogFile
from contextune.tools.large.build import update_index
from contextune.tools.large.manifest import MANIFEST
from contextune.tools.large.stored_index import StoredIndex, index_folder
from contextune.tools.retriever import ToolRetriever
from contextune.types import Progress


def has_index(catalog: CatalogFile) -> bool:
    """Whether a catalogue file has an index on disk."""
    return (index_folder(catalog) / MANIFEST).exists()


def open_retriever(
    catalog: CatalogFile, embedder: Embedder | None = None, *, progress: Progress | None = None
) -> ToolRetriever:
    """A retriever over a catalogue file; an index on disk is brought up to date first."""
    if not has_index(catalog):
        return ToolRetriever(catalog.catalog(), embedder, vector_cache=catalog, progress=progress)
    embedder = embedder or default_embedder()
    update_index(catalog, embedder)
    return ToolRetriever.from_index(StoredIndex(catalog, embedder), embedder)
