"""ToolQuery: a request as tool retrieval sees it, with its context items and the user's past calls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from contextune.embed import Matrix
from contextune.search import tokenize
from contextune.tools.tool_text import Span, name_spans
from contextune.types import Item, ItemHit

Floats = NDArray[np.float64]
_WHOLE_IN_PART = 0.5
"""Weight of the whole request's vector in the vector of one of its parts."""


@dataclass(frozen=True, eq=False)
class QueryContext:
    """The items a request refers to, best first, each with a weight."""

    items: Sequence[Item]
    weights: Floats
    """One per item; they add up to 1."""
    vectors: Matrix
    MAX_ITEMS: ClassVar[int] = 5

    @classmethod
    def build(cls, items: Sequence[Item], scores: Sequence[float], vectors: Matrix) -> "QueryContext":
        """Keep the first items and weight them by score and by rank."""
        top_scores = np.asarray(scores[: cls.MAX_ITEMS], np.float64)
        above_lowest = top_scores - top_scores.min() + 1e-9 if len(top_scores) else top_scores
        by_score = above_lowest / above_lowest.sum() if len(top_scores) else top_scores
        # half by rank, since scores of different rankings have different scales
        by_rank = 0.5 ** np.arange(len(top_scores))
        weights = 0.5 * by_score + 0.5 * by_rank / max(by_rank.sum(), 1e-9)
        return cls(items[: cls.MAX_ITEMS], weights, vectors[: cls.MAX_ITEMS])

    @classmethod
    def from_hits(cls, hits: Sequence[ItemHit], vectors: Matrix) -> "QueryContext":
        """The items of the first hits; `vectors` has a row for each hit."""
        return cls.build([hit.item for hit in hits], [hit.score for hit in hits], vectors)

    @property
    def apps(self) -> Mapping[str, float]:
        """The total weight of each application's items."""
        weights: dict[str, float] = {}
        for item, weight in zip(self.items, self.weights.tolist(), strict=True):
            weights[item.app] = weights.get(item.app, 0.0) + weight
        return weights


@dataclass(frozen=True, eq=False)
class PastCalls:
    """The user's earlier requests and the tools called for them, one row each."""

    tool: NDArray[np.int64]
    """Positions in the catalogue."""
    vectors: Matrix
    """Embeddings of the request texts."""
    age: Floats
    """In days."""
    ok: NDArray[np.bool_]
    """Whether the tool was right."""
    texts: Sequence[str] = ()
    """The request texts, if they are known."""

    def __len__(self) -> int:
        """The number of calls."""
        return len(self.tool)


@dataclass(frozen=True, eq=False)
class ToolQuery:
    """One request to find tools for."""

    text: str
    vector: Matrix
    context: QueryContext | None = None
    past_calls: PastCalls | None = None
    app_probabilities: Mapping[str, float] = field(default_factory=dict[str, float])
    """Probability that the request concerns each application, from its text alone."""
    needs_context: float = 1.0
    """Probability that the text alone does not say what is meant."""
    parts: "Sequence[ToolQuery]" = ()
    """What a long request asks for one after another (`split_subqueries`); none if it asks for one thing."""

    def with_parts(self, texts: Sequence[str], vectors: Matrix) -> "ToolQuery":
        """The same query with its parts, one text and one vector each.

        The whole request is added to each part's vector: a part by itself may not say what it is about.
        """
        mixed = vectors + _WHOLE_IN_PART * self.vector
        mixed /= np.linalg.norm(mixed, axis=1, keepdims=True) + 1e-9
        parts = [ToolQuery(text, row) for text, row in zip(texts, mixed.astype(np.float32), strict=True)]
        return replace(self, parts=parts)

    @cached_property
    def tokens(self) -> Sequence[str]:
        """The tokens of the text."""
        return tokenize(self.text)

    @cached_property
    def spans(self) -> frozenset[Span]:
        """Every run of tokens that could be a tool's name."""
        return name_spans(self.text)

    @cached_property
    def context_vector(self) -> Matrix:
        """The vector of the text plus the weighted vectors of its context items."""
        if self.context is None or not len(self.context.items):
            return self.vector
        both = self.vector + self.context.weights.astype(np.float32) @ self.context.vectors
        return (both / (np.linalg.norm(both) + 1e-9)).astype(np.float32)
