"""The default embedder: a bundled int8 MiniLM run by onnxruntime. No torch, no download."""

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from pathlib import Path
from threading import Lock
from typing import Any, cast

import numpy as np

from contextune._internal.assets import model_folder
from contextune._internal.cpu_time import map_in_threads
from contextune._internal.onnx_runtime import available_cores, open_session
from contextune._internal.wordpiece import open_tokenizer
from contextune.embed.protocol import Matrix, replace_surrogates
from contextune.embed.scripts import readable_scripts
from contextune.errors import EmbedderError, MissingExtraError

THREADS_VARIABLE = "CONTEXTUNE_THREADS"
_LOADING = Lock()
"""So that two threads that need the bundled embedder at once load it once."""


class OnnxEmbedder:
    """ONNX sentence encoder; by default the bundled one.

    Model folders are written by `contextune_lab.train.embedder.export`.
    """

    def __init__(self, folder: Path | None = None, *, threads: int = 0) -> None:
        """`threads=0` uses one thread per core."""
        folder = folder or model_folder("embedder")
        try:
            about = cast("dict[str, Any]", json.loads((folder / "embedder.json").read_text(encoding="utf-8")))
            self._tokenizer = open_tokenizer(folder / "tokenizer.json", int(about["max_tokens"]))
            self._threads = threads or available_cores()
            self._session = open_session(folder / "model.onnx")
            self._width = int(about["dimensions"])
            # with the checksum, vectors of different exports of a model are never mixed
            self._name = f"{about['name']}@{about['sha256']['model.onnx'][:8]}"
        except MissingExtraError:
            raise
        except Exception as error:  # each library has its own exceptions for a missing or damaged file
            raise EmbedderError(
                f"cannot load the embedder in {str(folder)!r}: {error}; "
                "export one with python -m contextune_lab.train.embedder.export"
            ) from error

    @property
    def name(self) -> str:
        """Model name and the first digits of its checksum."""
        return self._name

    @cached_property
    def scripts(self) -> frozenset[str] | None:
        """The scripts it can read; see `contextune.embed.scripts`."""
        return readable_scripts(self._tokenizer.vocabulary)

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One unit vector per text, which does not depend on the other texts: each is run on its own.

        Batches need padding and are no faster. Each text is run by one thread: threads that share the work on
        a text wait for each other after every layer.
        """
        out = np.empty((len(texts), self._width), np.float32)
        encodings = map(self._tokenizer.encode, replace_surrogates(texts))
        if self._threads > 1 and len(texts) > 1:
            with ThreadPoolExecutor(min(self._threads, len(texts))) as pool:
                for row, vector in zip(out, map_in_threads(pool, self._run, encodings), strict=True):
                    row[:] = vector
        else:
            for row, encoding in zip(out, encodings, strict=True):
                row[:] = self._run(encoding)
        return out

    def _run(self, tokens: list[int]) -> Matrix:
        ids = np.array([tokens], np.int64)
        return self._session.run(["embedding"], {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0][0]


def default_embedder() -> OnnxEmbedder:
    """The bundled embedder, loaded once per process.

    CONTEXTUNE_THREADS sets its number of threads: use 1 if several processes share the cores.
    """
    with _LOADING:
        return load_default_embedder()


@cache
def load_default_embedder() -> OnnxEmbedder:
    """`default_embedder` for one thread."""
    return OnnxEmbedder(threads=embedder_threads())


def embedder_threads() -> int:
    """The number of threads that `CONTEXTUNE_THREADS` sets; 0 by default."""
    threads = os.environ.get(THREADS_VARIABLE, "0")
    if not threads.isdecimal():
        raise EmbedderError(
            f"{THREADS_VARIABLE}={threads!r} is not a number: use 1, or 0 for one thread per core"
        )
    return int(threads)
