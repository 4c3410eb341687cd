"""Candidate selection: the tools that any cheap signal ranks near the top."""

import numpy as np
from numpy.typing import NDArray

from contextune.search import similarities, top
from contextune.tools.index import ToolIndex
from contextune.tools.query import ToolQuery

_DEPTH = 48
"""Candidates by semantic similarity; half as many by BM25, by examples and by context."""
_PART_DEPTH = 16
"""Candidates by semantic similarity for each part of a long request; half as many by BM25."""
_PER_CONTEXT_APP = 12
_SCORE_ALL_UP_TO = 80
"""In a catalogue of at most this size, every tool is a candidate."""


def select_candidates(
    index: ToolIndex,
    query: ToolQuery,
    visible: NDArray[np.bool_] | None = None,
) -> NDArray[np.intp]:
    """The candidates' positions in the catalogue, ascending."""
    if len(index.catalog) <= _SCORE_ALL_UP_TO:
        positions = np.arange(len(index.catalog))
        return positions if visible is None else positions[visible]
    lexical = index.fields["all"].scores(query.tokens)
    parts = [
        index.nearest(query.vector, _DEPTH, visible),
        top(lexical, _DEPTH // 2, visible=visible),
        np.array(index.find_named(query.spans), np.intp),
    ]
    for part in query.parts:
        parts.append(index.nearest(part.vector, _PART_DEPTH, visible))
        parts.append(top(index.fields["all"].scores(part.tokens), _PART_DEPTH // 2, visible=visible))
    examples = index.example_similarities(query.vector)
    if examples is not None:
        has_example = examples > -1
        parts.append(
            top(examples, _DEPTH // 2, visible=has_example if visible is None else has_example & visible)
        )
    if query.context is not None and len(query.context.items):
        parts.append(index.nearest(query.context_vector, _DEPTH // 2, visible))
        apps = [number for number, app in enumerate(index.apps) if app in query.context.apps]
        in_apps = np.isin(index.app, apps)
        app_tools = np.flatnonzero(in_apps if visible is None else in_apps & visible)
        nearest = top(similarities(query.context_vector, index.vectors[app_tools]), _PER_CONTEXT_APP)
        parts.append(app_tools[nearest])
    if query.past_calls is not None:
        parts.append(np.unique(query.past_calls.tool[query.past_calls.ok]).astype(np.intp))
    positions = np.unique(np.concatenate(parts))
    return positions if visible is None else positions[visible[positions]]
