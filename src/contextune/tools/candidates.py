"""Candidate selection: the tools that any cheap signal ranks near the top."""

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from contextune.embed import Matrix
from contextune.tools.query import ToolQuery
from contextune.tools.tool_text import Span

DEPTH = 48
"""Candidates by semantic similarity; half as many by BM25, by examples and by context."""
_PART_DEPTH = 16
"""Candidates by semantic similarity for each part of a long request; half as many by BM25."""
_PER_CONTEXT_APP = 12
Positions = NDArray[np.intp]
Mask = NDArray[np.bool_]


class CandidateSource(Protocol):
    """The searches that candidates come from: a `ToolIndex`, or an index on disk or in a database."""

    def all_positions(self) -> Positions | None:
        """Every position, if there are so few tools that each is a candidate for every request."""
        ...

    def nearest(self, vector: Matrix, k: int, visible: Mask | None = None) -> Positions:
        """Positions of the tools most similar to a vector."""
        ...

    def best_by_words(self, tokens: Sequence[str], k: int, visible: Mask | None = None) -> Positions:
        """Positions of the tools that score best by BM25T."""
        ...

    def best_by_examples(self, vector: Matrix, k: int, visible: Mask | None = None) -> Positions:
        """Positions of the tools with the nearest examples."""
        ...

    def nearest_of_apps(
        self, vector: Matrix, apps: Collection[str], k: int, visible: Mask | None = None
    ) -> Positions:
        """Positions of the tools of some applications that are most similar to a vector."""
        ...

    def find_named(self, spans: Iterable[Span]) -> Sequence[int]:
        """Positions of the tools whose name is one of these spans."""
        ...


def select_candidates(
    index: CandidateSource, query: ToolQuery, visible: Mask | None = None, depth: int = DEPTH
) -> Positions:
    """The candidates' positions in the catalogue, ascending."""
    positions = index.all_positions()
    if positions is not None:
        return positions if visible is None else positions[visible]
    parts = [
        index.nearest(query.vector, depth, visible),
        index.best_by_words(query.tokens, depth // 2, visible),
        np.array(index.find_named(query.spans), np.intp),
        index.best_by_examples(query.vector, depth // 2, visible),
    ]
    for part in query.parts:
        parts.append(index.nearest(part.vector, _PART_DEPTH, visible))
        parts.append(index.best_by_words(part.tokens, _PART_DEPTH // 2, visible))
    if query.context is not None and len(query.context.items):
        parts.append(index.nearest(query.context_vector, depth // 2, visible))
        apps = query.context.apps
        parts.append(index.nearest_of_apps(query.context_vector, apps, _PER_CONTEXT_APP, visible))
    if query.past_calls is not None:
        parts.append(np.unique(query.past_calls.tool[query.past_calls.ok]).astype(np.intp))
    positions = np.unique(np.concatenate(parts))
    return positions if visible is None else positions[visible[positions]]
