"""The bundled models run once per text in a test process: many tests ask the same requests of the same data.

What a model gives for a text depends on that text alone, which tests/embed and tests/reading prove. They use
the fixture `models_run_each_time`, as do tests of what is kept in memory.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from contextune.embed import Matrix, OnnxEmbedder
from contextune.reading.model import CallInput, CallReading, Floats, ReadingModel

_MOST = 50_000
"""Most results that are kept of each method of a model, such as 75 MB of vectors."""
_METHODS = {
    (model, method): getattr(model, method)
    for model, method in (
        (OnnxEmbedder, "embed"),
        (ReadingModel, "score_items"),
        (ReadingModel, "score_tools"),
        (ReadingModel, "read_calls"),
    )
}


@contextmanager
def models_run_once_per_text() -> Generator[None]:
    """Answer what a model was asked before with its first answer."""
    memo: dict[object, dict[Any, Any]] = {}

    def ask(model: object, inputs: Mapping[Any, Any], run: Callable[[list[Any]], Any]) -> dict[Any, Any]:
        results = memo.setdefault(model, {})
        known = {key: results[key] for key in inputs if key in results}
        missing = [key for key in inputs if key not in known]
        fresh = dict(zip(missing, run([inputs[key] for key in missing]) if missing else (), strict=True))
        if len(results) < _MOST:
            results.update(fresh)
        return known | fresh

    def embed(self: OnnxEmbedder, texts: Sequence[str]) -> Matrix:
        def run(missing: list[str]) -> list[Matrix]:
            return [row.copy() for row in method(self, missing)]

        method = _METHODS[OnnxEmbedder, "embed"]
        # the name has the checksum of the model: a service opens another embedder with the same
        vectors = ask(self.name, {text: text for text in texts}, run)
        return np.stack([vectors[text] for text in texts]) if texts else method(self, texts)

    def read_calls(self: ReadingModel, request: str, calls: Sequence[CallInput]) -> list[CallReading]:
        keys = [
            (request, tool, tuple((each.text, *each.values) for each in arguments), tuple(values))
            for tool, arguments, values in calls
        ]

        def run(missing: list[CallInput]) -> list[CallReading]:
            readings: list[CallReading] = _METHODS[ReadingModel, "read_calls"](self, request, missing)
            for reading in readings:
                reading.scores.flags.writeable = False
            return readings

        readings = ask(self, dict(zip(keys, calls, strict=True)), run)
        return [readings[key] for key in keys]

    def score(name: str) -> Callable[..., Floats]:
        def scores(self: ReadingModel, request: str, texts: Sequence[str]) -> Floats:
            def run(missing: list[str]) -> list[float]:
                return _METHODS[ReadingModel, name](self, request, missing).tolist()

            found = ask(self, {(name, request, text): text for text in texts}, run)
            return np.fromiter((found[name, request, text] for text in texts), np.float32, len(texts))

        return scores

    with (
        patch.object(OnnxEmbedder, "embed", embed),
        patch.object(ReadingModel, "read_calls", read_calls),
        patch.object(ReadingModel, "score_items", score("score_items")),
        patch.object(ReadingModel, "score_tools", score("score_tools")),
    ):
        yield


@contextmanager
def models_run_each_time() -> Generator[None]:
    """The models as they are, inside `models_run_once_per_text`."""
    with ExitStack() as stack:
        for (model, name), method in _METHODS.items():
            stack.enter_context(patch.object(model, name, method))
        yield
