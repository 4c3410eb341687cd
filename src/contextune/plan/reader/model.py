"""`RequestReader`: which tool a request means, read together with the first items of its context.

The tool classifier knows a vector of the request alone. The reader is a second encoder that reads request and
items as one text. That takes as long as all other planning, so it is only asked where the calls leave doubt.
Its model is a distribution of its own, `contextune-reader`.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from threading import Lock

from contextune._internal.model_files import model_folder
from contextune.embed import Embedder
from contextune.embed.onnx import OnnxEmbedder, embedder_threads
from contextune.errors import ContextuneError
from contextune.plan.calls.classifier import ToolClassifier
from contextune.plan.calls.ranker import CallRanker
from contextune.plan.planning_input import PlanningInput
from contextune.plan.reader.installed import reader_installed
from contextune.plan.reader.text import reader_text
from contextune.types import ToolHit

MODEL = "reader"
_KNOWN_SHARE = 0.5
"""Least share of the retrieved tools that the reader must know."""
_LOADING = Lock()
"""So that two threads that need the reader at once load it once."""


@dataclass(frozen=True, eq=False)
class RequestReader:
    """An encoder of request and items, a classifier of its vectors, and a ranker of calls that knows both."""

    encoder: Embedder
    classifier: ToolClassifier
    ranker: CallRanker

    def knows(self, tools: Sequence[ToolHit]) -> bool:
        """Whether these are tools that it was trained on, and not those of another catalogue."""
        known = sum(hit.tool.name in self._names for hit in tools)
        return bool(tools) and known >= _KNOWN_SHARE * len(tools)

    def read(self, inputs: PlanningInput) -> Mapping[str, float]:
        """The probability of each tool that it knows, by name."""
        text = reader_text(inputs.request, inputs.items, inputs.user.zone)
        return self.classifier.probabilities(self.encoder.embed([text])[0])

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self.classifier.names)

    @classmethod
    def load(cls, folder: Path) -> "RequestReader":
        """Read a model from a folder, as `contextune_lab.train.reader` writes it."""
        encoder = OnnxEmbedder(folder, threads=embedder_threads())
        ranker = CallRanker.load(folder / "calls", reads=True)
        return cls(encoder, ToolClassifier.load(folder / "tools.npz"), ranker)


def default_reader() -> RequestReader | None:
    """The installed reader, loaded once; None without `contextune-reader`, or with one of another version."""
    with _LOADING:
        return load_reader()


@cache
def load_reader() -> RequestReader | None:
    """`default_reader` for one thread."""
    if not reader_installed():
        return None
    try:
        return RequestReader.load(model_folder(MODEL))
    except ContextuneError as error:  # of another version than contextune: plans do without it
        warnings.warn(f"the reader is not used: {error} (contextune doctor says what to do)", stacklevel=2)
        return None
