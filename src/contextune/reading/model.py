"""`ReadingModel`: the bundled cross-encoder, run by onnxruntime in int8."""

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from threading import Lock
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from contextune._internal.assets import model_folder
from contextune._internal.caches import CachedFunction
from contextune._internal.cpu_time import map_in_threads
from contextune._internal.onnx_runtime import available_cores, open_session
from contextune._internal.wordpiece import WordPieceTokenizer
from contextune.errors import EmbedderError

Floats = NDArray[np.float32]

FOLDER_VARIABLE = "CONTEXTUNE_READING_MODEL"
"""Names a folder with another reading model, such as one that has not seen what it is measured on."""
_CLS, _SEP = 101, 102
_ARGUMENT, _VALUE, _OMITTED, _SPAN = 2, 3, 4, 5
"""Unused word pieces that mark arguments, values, "not given" and "in the words of the request"."""
_LIMITS = {"item": (110, 150), "tool": (190, 70)}
"""Most tokens of a request, and of the item or tool beside it."""
_KEPT_SCORES = 2_048
"""Pairs whose scores are kept: searching for items, for tools, and planning read the same ones."""
_CALL_REQUEST, _CALL_TOOL, _CALL_ARGUMENT, _CALL_VALUE, _CALL = 150, 48, 24, 16, 512
_PAIR_SCALE, _SPAN_SCALE = 16.0, 19.6
_LOADING = Lock()
OMITTED, SPAN = 0, 1
"""Columns of `CallReading.scores` before those of the values: not given, and a span of the request."""


@dataclass(frozen=True)
class ArgumentInput:
    """An argument as the model reads it: its text, and the numbers of the values that its type admits."""

    text: str
    values: Sequence[int]


CallInput = tuple[str, Sequence[ArgumentInput], Sequence[str]]
"""The text of a tool, its arguments, and their candidate values."""


@dataclass(frozen=True, slots=True)
class ReadSpan:
    """A span of a text as characters, with the score of its ends."""

    start: int
    end: int
    score: float


@dataclass(frozen=True, eq=False)
class CallReading:
    """What the model reads in a request beside a tool with its arguments and their candidate values."""

    fit: float
    """Log odds that the tool serves the request."""
    scores: Floats
    """A row per argument: not given, a span of the request, then the values; minus infinity if unfit."""
    spans: Sequence[Sequence[ReadSpan]]
    """For each argument, the likeliest spans of the request's text, best first."""

    @cached_property
    def probabilities(self) -> Floats:
        """The scores of each argument as probabilities."""
        shifted = np.exp(self.scores - self.scores.max(1, keepdims=True))
        return (shifted / shifted.sum(1, keepdims=True)).astype(np.float32)


class ReadingModel:
    """Scores items, tools and values beside a request. Thread-safe.

    Texts are run one by one, so that a score does not depend on the texts beside it, by a thread each.
    """

    def __init__(self, folder: Path, *, threads: int = 0) -> None:
        """`threads=0` uses one thread per core."""
        try:
            self.about = cast(
                "dict[str, Any]", json.loads((folder / "reading.json").read_text(encoding="utf-8"))
            )
            settings = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
            self._tokenizer = WordPieceTokenizer(settings, _CALL)
            with np.load(folder / "heads.npz") as heads:
                self._heads = {name: np.asarray(heads[name], np.float32) for name in heads.files}
            self._session = open_session(folder / "model.onnx")
        except Exception as error:  # each library has its own exceptions for a missing or damaged file
            raise EmbedderError(
                f"cannot load the reading model in {str(folder)!r}: {error}; reinstall contextune"
            ) from error
        self._scores = CachedFunction(self._score_pair, _KEPT_SCORES)
        self._pool = ThreadPoolExecutor(threads or _threads(), thread_name_prefix="contextune-reading")

    def score_items(self, request: str, items: Sequence[str]) -> Floats:
        """Log odds that the request needs each item."""
        return self._score("item", request, items)

    def score_tools(self, request: str, tools: Sequence[str]) -> Floats:
        """Scores of tools for a request with its items; those of one request compare with each other."""
        return self._score("tool", request, tools)

    def read_calls(self, request: str, calls: Sequence[CallInput]) -> list[CallReading]:
        """Read a request beside calls."""

        def read(call: CallInput) -> CallReading:
            return self._read_call(request, *call)

        return map_in_threads(self._pool, read, calls)

    def _score(self, head: str, request: str, texts: Sequence[str]) -> Floats:
        if not texts:
            return np.empty(0, np.float32)
        score = partial(self._scores, head, tuple(self._tokens(request, _LIMITS[head][0])))
        return np.array(map_in_threads(self._pool, score, texts), np.float32)

    def _score_pair(self, head: str, first: tuple[int, ...], text: str) -> float:
        """The score of a text beside the tokens of a request."""
        ids = self._tokens(text, _LIMITS[head][1])
        hidden = self._run([_CLS, *first, _SEP, *ids, _SEP], len(first) + 2)
        return float(hidden[0] @ self._heads[f"{head}.weight"][0]) + float(self._heads[f"{head}.bias"][0])

    def _read_call(
        self, request: str, tool: str, arguments: Sequence[ArgumentInput], values: Sequence[str]
    ) -> CallReading:
        located, places = self._tokenizer.located(request)
        words = located[:_CALL_REQUEST]
        ids = [_CLS, *words, _SEP]
        segment = len(ids)
        ids += self._tokens(tool, _CALL_TOOL)
        argument_places: list[int] = []
        for argument in arguments:
            argument_places.append(len(ids))
            ids += [_ARGUMENT, *self._tokens(argument.text, _CALL_ARGUMENT)]
        ids.append(_SEP)
        value_places = [len(ids), len(ids) + 1]
        ids += [_OMITTED, _SPAN]
        for value in values:
            tokens = self._tokens(value, _CALL_VALUE)
            if len(ids) + len(tokens) + 2 > _CALL:
                break
            value_places.append(len(ids))
            ids += [_VALUE, *tokens]
        ids = [*ids, _SEP][:_CALL]
        hidden = self._run(ids, segment)
        fit = float(hidden[0] @ self._heads["fit.weight"][0]) + float(self._heads["fit.bias"][0])
        scores = np.full((len(arguments), len(values) + 2), -np.inf, np.float32)
        if not arguments:
            return CallReading(fit, scores, ())
        last = len(ids) - 1
        rows = hidden[[min(place, last) for place in argument_places]]
        columns = hidden[[min(place, last) for place in value_places]]
        pairs = self._linear("arg", rows) @ self._linear("val", columns).T / _PAIR_SCALE
        for number, argument in enumerate(arguments):
            allowed = [0, 1, *(value + 2 for value in argument.values if value + 2 < len(value_places))]
            scores[number, allowed] = pairs[number, allowed]
        body = hidden[1 : 1 + len(words)]
        starts, ends = (self._linear(name, rows) @ body.T / _SPAN_SCALE for name in ("start", "end"))
        spans = [_best_spans(start, end, places) for start, end in zip(starts, ends, strict=True)]
        return CallReading(fit, scores, spans)

    def _tokens(self, text: str, limit: int) -> list[int]:
        return self._tokenizer.pieces(text)[:limit]

    def _linear(self, name: str, rows: Floats) -> Floats:
        return rows @ self._heads[f"{name}.weight"].T + self._heads[f"{name}.bias"]

    def _run(self, ids: list[int], segment: int) -> Floats:
        tokens = np.array([ids], np.int64)
        segments = np.array([[int(place >= segment) for place in range(len(ids))]], np.int64)
        inputs = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "segments": segments}
        return self._session.run(["hidden"], inputs)[0][0]


_MAX_SPAN, _SPANS = 60, 8
"""Most tokens of a span, and most spans of an argument."""


def _best_spans(starts: Floats, ends: Floats, offsets: Sequence[tuple[int, int]]) -> list[ReadSpan]:
    """The likeliest spans of tokens, as characters."""
    if not len(starts):
        return []
    found: dict[tuple[int, int], float] = {}
    likely: list[int] = np.argsort(-starts)[:8].tolist()
    for start in likely:
        stop = min(len(ends), start + _MAX_SPAN)
        for end in (start + np.argsort(-ends[start:stop])[:3]).tolist():
            found[offsets[start][0], offsets[end][1]] = float(starts[start] + ends[end])
    best = sorted(found, key=lambda place: -found[place])[:_SPANS]
    return [ReadSpan(start, end, found[start, end]) for start, end in best]


def _threads() -> int:
    configured = os.environ.get("CONTEXTUNE_THREADS", "")
    return int(configured) if configured.isdecimal() and int(configured) else available_cores()


def default_reading_model() -> ReadingModel:
    """The bundled reading model, loaded once per process."""
    with _LOADING:
        return _load(os.environ.get(FOLDER_VARIABLE, ""))


@lru_cache(maxsize=2)
def _load(folder: str) -> ReadingModel:
    return ReadingModel(Path(folder) if folder else model_folder("reading"))
