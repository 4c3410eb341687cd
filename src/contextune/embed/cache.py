"""So that nothing is embedded twice.

Vectors of items, and of requests that feedback is kept of, are kept in the user's part of the store,
under the model and a digest of the text, those of portraits under the item, and go when the item or the
user goes. Vectors of other requests are remembered in the process only: what somebody says is not written
down for being said, and gone when anybody is forgotten.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from threading import Lock

import numpy as np

from contextune._internal.caches import register_cache
from contextune.embed.protocol import Embedder, Matrix
from contextune.store import Store, text_digest
from contextune.types import Progress

_CHUNK = 256
_FEW = 200
"""Of more items than this all vectors are read at once."""


def embed_items(
    texts: Sequence[str],
    *,
    embedder: Embedder,
    store: Store,
    user: str,
    progress: Progress | None = None,
) -> Matrix:
    """A row a text, out of the store where it is there, embedded and kept where it is not.

    `progress` is told how many texts are done, of how many that had to be embedded.
    """
    digests = [text_digest(text) for text in texts]
    kept = store.vectors(user, embedder.name, digests)
    missing = {d: text for d, text in zip(digests, texts, strict=True) if d not in kept}
    pending = list(missing.items())
    for start in range(0, len(pending), _CHUNK):
        chunk = dict(pending[start : start + _CHUNK])
        fresh = dict(zip(chunk, embedder.embed(list(chunk.values())), strict=True))
        store.put_vectors(user, embedder.name, fresh)
        kept.update(fresh)
        if progress:
            progress(start + len(chunk), len(pending))
    return np.stack([kept[d] for d in digests]) if digests else np.empty((0, 0), np.float32)


def embed_portraits(
    texts: Mapping[str, str],
    *,
    embedder: Embedder,
    store: Store,
    user: str,
    progress: Progress | None = None,
) -> dict[str, Matrix]:
    """By item a vector of its portrait, out of the store where it is there and still says the same."""
    asked = None if len(texts) > _FEW else list(texts)
    kept = store.portraits(user, embedder.name, asked)
    digests = {item: text_digest(text) for item, text in texts.items()}
    rows = {
        item: kept[item][1] for item, digest in digests.items() if item in kept and kept[item][0] == digest
    }
    pending = [item for item in texts if item not in rows]
    for start in range(0, len(pending), _CHUNK):
        chunk = pending[start : start + _CHUNK]
        said = list(dict.fromkeys(texts[item] for item in chunk))
        vectors = dict(zip(said, embedder.embed(said), strict=True))
        fresh = {item: vectors[texts[item]] for item in chunk}
        store.put_portraits(user, embedder.name, {item: (digests[item], row) for item, row in fresh.items()})
        rows.update(fresh)
        if progress:
            progress(start + len(chunk), len(pending))
    return rows


class CachedEmbedder:
    """An embedder that remembers its latest texts, since one request is embedded by every stage it passes."""

    def __init__(self, embedder: Embedder, *, size: int = 4096) -> None:
        self._embedder = embedder
        self._size = size
        self._seen: OrderedDict[str, Matrix] = OrderedDict()
        self._lock = Lock()
        register_cache(self)

    @property
    def name(self) -> str:
        """The name of the embedder behind it."""
        return self._embedder.name

    def forget(self, user: str | None = None) -> None:  # noqa: ARG002  # a text does not say whose it is
        """Drop all texts and their vectors, whoever's they are."""
        with self._lock:
            self._seen.clear()

    def embed(self, texts: Sequence[str]) -> Matrix:
        """As the embedder behind it, asking it only for what is not remembered."""
        with self._lock:
            rows = {text: self._seen[text] for text in texts if text in self._seen}
        if missing := [text for text in dict.fromkeys(texts) if text not in rows]:
            # copies, since a row that is remembered would keep the rest of its batch in memory
            rows.update(zip(missing, map(np.copy, self._embedder.embed(missing)), strict=True))
        with self._lock:
            for text in rows:
                self._seen[text] = rows[text]
                self._seen.move_to_end(text)
            while len(self._seen) > self._size:
                self._seen.popitem(last=False)
        return np.stack([rows[text] for text in texts]) if texts else self._embedder.embed([])
