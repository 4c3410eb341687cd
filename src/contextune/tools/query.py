"""A request as the search for tools sees it: what is said, what it hangs on, what was done before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from contextune.embed import Matrix
from contextune.search import tokenize
from contextune.tools.tool_text import Span, spans
from contextune.types import Item

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class QueryContext:
    """The items a request hangs on, best first, with how much each of them counts."""

    items: Sequence[Item]
    shares: Floats
    """Adding up to one."""
    vectors: Matrix
    MOST: ClassVar[int] = 5
    """How many are looked at."""

    @classmethod
    def of(cls, items: Sequence[Item], scores: Sequence[float], vectors: Matrix) -> "QueryContext":
        """The best few; what is ahead by much counts for much more."""
        best = np.asarray(scores[: cls.MOST], np.float64)
        spread = best - best.min() + 1e-9 if len(best) else best
        shares = spread / spread.sum() if len(best) else best
        # half by place, since scores of different rankings are of different sizes
        place = 0.5 ** np.arange(len(best))
        mixed = 0.5 * shares + 0.5 * place / max(place.sum(), 1e-9)
        return cls(items[: cls.MOST], mixed, vectors[: cls.MOST])

    @property
    def apps(self) -> Mapping[str, float]:
        """How much each application counts."""
        found: dict[str, float] = {}
        for item, share in zip(self.items, self.shares.tolist(), strict=True):
            found[item.app] = found.get(item.app, 0.0) + share
        return found


@dataclass(frozen=True, eq=False)
class PastCalls:
    """Earlier requests and the tools that were used for them, a row each."""

    tool: NDArray[np.int64]
    """Places in the catalogue."""
    vectors: Matrix
    """Of what was said."""
    age: Floats
    """Days ago."""
    ok: NDArray[np.bool_]
    """Whether the tool was right."""

    def __len__(self) -> int:
        """How many there are."""
        return len(self.tool)


@dataclass(frozen=True, eq=False)
class ToolQuery:
    """One request."""

    text: str
    vector: Matrix
    context: QueryContext | None = None
    past: PastCalls | None = None
    apps: Mapping[str, float] = field(default_factory=dict[str, float])
    """How probable it is, by the words alone, that the request has to do with each application."""
    needs_context: float = 1.0
    """How probable it is that the words alone do not say what is meant."""

    @cached_property
    def words(self) -> Sequence[str]:
        """What is said, word by word."""
        return tokenize(self.text)

    @cached_property
    def spans(self) -> frozenset[Span]:
        """Whatever in it could be the name of a tool."""
        return spans(self.text)

    @cached_property
    def in_context(self) -> Matrix:
        """What is said, with the items it hangs on."""
        if self.context is None or not len(self.context.items):
            return self.vector
        both = self.vector + self.context.shares.astype(np.float32) @ self.context.vectors
        return (both / (np.linalg.norm(both) + 1e-9)).astype(np.float32)
