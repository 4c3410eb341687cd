"""So that nothing is embedded twice.

Vectors of items are kept in the user's part of the store, under the model and a digest
of the text, and go when the item or the user goes. Vectors of requests are remembered
in the process only: what somebody says is not written down for being said.
"""

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

import numpy as np

from contextune.embed.base import Embedder, Matrix
from contextune.store import Store, text_digest
from contextune.types import Progress

_CHUNK = 256


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


class RememberingEmbedder:
    """An embedder that remembers its latest texts, since one request is embedded by every stage it passes."""

    def __init__(self, embedder: Embedder, *, size: int = 512) -> None:
        self._embedder = embedder
        self._size = size
        self._seen: OrderedDict[str, Matrix] = OrderedDict()
        self._lock = Lock()

    @property
    def name(self) -> str:
        """The name of the embedder behind it."""
        return self._embedder.name

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
