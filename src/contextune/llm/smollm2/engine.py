"""ONNX decoder with KV cache: token ids in, scores of the next token out."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune._internal.onnx_runtime import runtime

MODEL, CONTEXT = "model.onnx", "context"

Scores = NDArray[np.float32]


class DecoderEngine:
    """A loaded ONNX graph."""

    def __init__(self, folder: Path, *, threads: int = 0) -> None:
        """`threads` 0 means one per core, at most four, as the matrices are small."""
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads or min(4, os.cpu_count() or 1)
        # spinning is 10 % faster on an idle machine, and twice as slow on a busy one
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.session = runtime.InferenceSession(folder / MODEL, options, providers=["CPUExecutionProvider"])
        self.context = int(self.session.get_modelmeta().custom_metadata_map[CONTEXT])
        """Maximum number of prompt and answer tokens together."""
        shapes = {node.name: node.shape for node in self.session.get_inputs()}
        self.pasts = [name for name in shapes if name.startswith("past_")]
        _, self.heads, _, self.size = shapes[self.pasts[0]]
        self.vocabulary = int(self.session.get_outputs()[-1].shape[1])


class DecoderState:
    """The KV cache of a batch of drafts."""

    def __init__(self, engine: DecoderEngine, *, rows: int, room: int) -> None:
        """`room` is the capacity in tokens."""
        self._engine = engine
        self._cache = np.empty((len(engine.pasts), rows, engine.heads, room, engine.size), np.float32)
        self._scores = np.empty((rows, engine.vocabulary), np.float32)
        self._binding = engine.session.io_binding()
        for name, part in zip(engine.pasts, self._cache, strict=True):
            # the same memory as input and output: the graph appends in place and copies nothing
            value = _shared(part)
            self._binding.bind_ortvalue_input(name, value)
            self._binding.bind_ortvalue_output(name.replace("past", "now"), value)
        self._binding.bind_ortvalue_output("scores", _shared(self._scores))
        self.length = 0

    def decode(self, tokens: Sequence[Sequence[int]]) -> Scores:
        """Append the same number of tokens to each row; return the next scores, valid until the next call."""
        new = np.array(tokens, np.int64)
        self.length += new.shape[1]
        feed = {
            "tokens": new,
            "last": np.full(len(new), self.length - 1, np.int32),
            "total": np.array(self.length, np.int32),
        }
        for name, value in feed.items():
            self._binding.bind_cpu_input(name, value)
        self._engine.session.run_with_iobinding(self._binding)
        return self._scores

    def select_rows(self, rows: Sequence[int]) -> "DecoderState":
        """A copy with these rows, in this order; rows may repeat."""
        other = DecoderState(self._engine, rows=len(rows), room=self._cache.shape[3])
        other.load(self.cache()[:, rows])
        return other

    def cache(self) -> Scores:
        """A view of the keys and values of all tokens so far."""
        return self._cache[:, :, :, : self.length]

    def load(self, cache: Scores) -> None:
        """Restore keys and values from `cache()` of another state."""
        self.length = cache.shape[3]
        self._cache[:, :, :, : self.length] = cache


def _shared(array: Scores) -> Any:
    return runtime.OrtValue.ortvalue_from_numpy(array)
