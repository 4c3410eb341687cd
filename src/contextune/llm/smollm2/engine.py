"""Runs the graph: tokens in, scores of what may come next out. What was read is kept, and read once."""

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
    """A graph that is loaded."""

    def __init__(self, folder: Path, *, threads: int = 0) -> None:
        """`threads` 0 is one a core, and four at most: matrices so small are soon multiplied."""
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads or min(4, os.cpu_count() or 1)
        # threads that spin while they wait are a tenth faster alone, and twice as slow where others work too
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.session = runtime.InferenceSession(folder / MODEL, options, providers=["CPUExecutionProvider"])
        self.context = int(self.session.get_modelmeta().custom_metadata_map[CONTEXT])
        """Tokens that can be read and written together."""
        shapes = {given.name: given.shape for given in self.session.get_inputs()}
        self.pasts = [name for name in shapes if name.startswith("past_")]
        _, self.heads, _, self.size = shapes[self.pasts[0]]
        self.vocabulary = int(self.session.get_outputs()[-1].shape[1])


class DecoderState:
    """What one or several drafts have in common, and how each went on: keys and values of what was read."""

    def __init__(self, engine: DecoderEngine, *, rows: int, room: int) -> None:
        """`room` is for how many tokens."""
        self._engine = engine
        self._kept = np.empty((len(engine.pasts), rows, engine.heads, room, engine.size), np.float32)
        self._scores = np.empty((rows, engine.vocabulary), np.float32)
        self._bound = engine.session.io_binding()
        for name, part in zip(engine.pasts, self._kept, strict=True):
            # one piece of memory before and after: the graph writes behind what is there, and copies nothing
            value = _shared(part)
            self._bound.bind_ortvalue_input(name, value)
            self._bound.bind_ortvalue_output(name.replace("past", "now"), value)
        self._bound.bind_ortvalue_output("scores", _shared(self._scores))
        self.read = 0

    def go_on(self, tokens: Sequence[Sequence[int]]) -> Scores:
        """Read as many tokens more in each row; the scores of what comes next, valid until the next call."""
        new = np.array(tokens, np.int64)
        self.read += new.shape[1]
        given = {
            "tokens": new,
            "last": np.full(len(new), self.read - 1, np.int32),
            "total": np.array(self.read, np.int32),
        }
        for name, value in given.items():
            self._bound.bind_cpu_input(name, value)
        self._engine.session.run_with_iobinding(self._bound)
        return self._scores

    def rows(self, places: Sequence[int]) -> "DecoderState":
        """These rows alone, in this order, each as often as it is named."""
        other = DecoderState(self._engine, rows=len(places), room=self._kept.shape[3])
        other.put(self.kept()[:, places])
        return other

    def kept(self) -> Scores:
        """What was read, to be put into another."""
        return self._kept[:, :, :, : self.read]

    def put(self, kept: Scores) -> None:
        """Take what another has read for one's own."""
        self.read = kept.shape[3]
        self._kept[:, :, :, : self.read] = kept


def _shared(array: Scores) -> Any:
    return runtime.OrtValue.ortvalue_from_numpy(array)
