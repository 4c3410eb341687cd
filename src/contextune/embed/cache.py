"""Embedding caches: each text is embedded once.

Vectors of items, and of requests with feedback, are stored per user under the model and a digest of the text;
vectors of enriched items under the item. They are deleted with the item or the user. Vectors of other
requests are cached in memory only (`CachedEmbedder`), and dropped when any user is forgotten.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from threading import Lock

import numpy as np

from contextune._internal.caches import register_cache
from contextune.embed.protocol import Embedder, Matrix
from contextune.store import Store, text_digest
from contextune.types import Progress

_CHUNK = 128
"""Texts embedded and stored at once; between chunks, the HTTP service turns to users with fewer."""
_FEW = 200
"""For more items than this, all vectors of the user are read in one query."""


def embed_items(
    texts: Sequence[str],
    *,
    embedder: Embedder,
    store: Store,
    user: str,
    progress: Progress | None = None,
) -> Matrix:
    """One row per text: read from the store, or embedded and stored.

    `progress` is called with the number of texts embedded and the number to embed.
    """
    digests = [text_digest(text) for text in texts]
    stored = store.vectors(user, embedder.name, digests)
    missing = {d: text for d, text in zip(digests, texts, strict=True) if d not in stored}
    pending = list(missing.items())
    for start in range(0, len(pending), _CHUNK):
        chunk = dict(pending[start : start + _CHUNK])
        fresh = dict(zip(chunk, embedder.embed(list(chunk.values())), strict=True))
        store.put_vectors(user, embedder.name, fresh)
        stored.update(fresh)
        if progress:
            progress(start + len(chunk), len(pending))
    return np.stack([stored[d] for d in digests]) if digests else np.empty((0, 0), np.float32)


def embed_enriched_items(
    texts: Mapping[str, str],
    *,
    embedder: Embedder,
    store: Store,
    user: str,
    progress: Progress | None = None,
) -> dict[str, Matrix]:
    """The vector of each item's enriched text, read from the store unless the text changed."""
    ids = None if len(texts) > _FEW else list(texts)
    stored = store.enriched_vectors(user, embedder.name, ids)
    digests = {item: text_digest(text) for item, text in texts.items()}
    rows = {
        item: stored[item][1]
        for item, digest in digests.items()
        if item in stored and stored[item][0] == digest
    }
    pending = [item for item in texts if item not in rows]
    for start in range(0, len(pending), _CHUNK):
        chunk = pending[start : start + _CHUNK]
        distinct = list(dict.fromkeys(texts[item] for item in chunk))
        vectors = dict(zip(distinct, embedder.embed(distinct), strict=True))
        fresh = {item: vectors[texts[item]] for item in chunk}
        store.put_enriched_vectors(
            user, embedder.name, {item: (digests[item], row) for item, row in fresh.items()}
        )
        rows.update(fresh)
        if progress:
            progress(start + len(chunk), len(pending))
    return rows


def count_missing(texts: Mapping[str, str], *, embedder: Embedder, store: Store, user: str) -> int:
    """How many items `embed_enriched_items` would embed."""
    stored = store.enriched_vectors(user, embedder.name, None if len(texts) > _FEW else list(texts))
    return sum(item not in stored or stored[item][0] != text_digest(text) for item, text in texts.items())


class CachedEmbedder:
    """LRU cache around an embedder: several stages embed the same request."""

    def __init__(self, embedder: Embedder, *, size: int = 4096) -> None:
        self._embedder = embedder
        self._size = size
        self._vectors: OrderedDict[str, Matrix] = OrderedDict()
        self._lock = Lock()
        register_cache(self)

    @property
    def name(self) -> str:
        """The name of the wrapped embedder."""
        return self._embedder.name

    @property
    def scripts(self) -> frozenset[str] | None:
        """The scripts that the wrapped embedder can read, if it tells."""
        return getattr(self._embedder, "scripts", None)

    def forget(self, user: str | None = None) -> None:  # noqa: ARG002  # texts are not kept by user
        """Drop all texts and vectors, of all users."""
        with self._lock:
            self._vectors.clear()

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One unit vector per text, embedding only the texts that are not cached."""
        with self._lock:
            rows = {text: self._vectors[text] for text in texts if text in self._vectors}
        if missing := [text for text in dict.fromkeys(texts) if text not in rows]:
            # copies: a cached row would keep its whole batch in memory
            rows.update(zip(missing, map(np.copy, self._embedder.embed(missing)), strict=True))
        with self._lock:
            for text in rows:
                self._vectors[text] = rows[text]
                self._vectors.move_to_end(text)
            while len(self._vectors) > self._size:
                self._vectors.popitem(last=False)
        return np.stack([rows[text] for text in texts]) if texts else self._embedder.embed([])
