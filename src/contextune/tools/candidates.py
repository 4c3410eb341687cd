"""Which tools of a catalogue are worth a close look: whatever any plain signal puts near the top."""

import numpy as np
from numpy.typing import NDArray

from contextune.search import similarities, top
from contextune.tools.index import ToolIndex
from contextune.tools.query import ToolQuery

NEAR = 48
"""How many are taken by likeness of meaning, and half as many by words."""
_OF_APP = 12
_FEW = 80
"""A catalogue no larger than this is looked at whole."""


def candidates(
    index: ToolIndex, wish: ToolQuery, visible: NDArray[np.bool_] | None = None, *, depth: int = NEAR
) -> NDArray[np.intp]:
    """Their places in the catalogue, in its order."""
    if len(index.catalog) <= _FEW:
        places = np.arange(len(index.catalog))
        return places if visible is None else places[visible]
    depth = max(depth, NEAR)
    lexical = index.fields["all"].scores(wish.words)
    chosen = [
        index.nearest(wish.vector, depth, visible),
        top(lexical, depth // 2, visible=visible),
        np.array(index.named(wish.spans), np.intp),
    ]
    examples = index.by_example(wish.vector)
    if examples is not None:
        seen = examples > -1
        chosen.append(top(examples, depth // 2, visible=seen if visible is None else seen & visible))
    if wish.context is not None and len(wish.context.items):
        chosen.append(index.nearest(wish.in_context, depth // 2, visible))
        apps = [number for number, app in enumerate(index.apps) if app in wish.context.apps]
        mine = np.isin(index.app, apps)
        own = np.flatnonzero(mine if visible is None else mine & visible)
        chosen.append(own[top(similarities(wish.in_context, index.vectors[own]), _OF_APP)])
    if wish.past is not None:
        chosen.append(np.unique(wish.past.tool[wish.past.ok]).astype(np.intp))
    places = np.unique(np.concatenate(chosen))
    return places if visible is None else places[visible[places]]
