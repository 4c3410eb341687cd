"""Feedback kept in a store, as examples to go on learning from."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from contextune.context.build_scene import build_scene
from contextune.context.index import UserIndexCache
from contextune.context.ranker import ContextRanker
from contextune.context.signals import NAMES
from contextune.embed import Embedder
from contextune.errors import RankerError
from contextune.lab.train.rankers.context import SECOND, FeaturedExamples
from contextune.lab.train.rankers.context_examples import ContextExample
from contextune.rank import Ranker, RankerSettings
from contextune.store import Store
from contextune.types import Progress

_USED = 2
CONTINUED = replace(SECOND, rounds=60, smallest_leaf=5)
"""A few more rounds on top of what was learnt before; leaves may be small, since feedback is little."""


def from_store(
    store: Store,
    embedder: Embedder,
    ranker: ContextRanker,
    *,
    users: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> list[ContextExample]:
    """Every request that feedback was given on, as it was at its time: nothing later is seen."""
    chosen = store.users() if users is None else list(users)
    indexes = UserIndexCache(store, embedder)
    found: list[ContextExample] = []
    for done, user in enumerate(chosen, 1):
        for number, told in enumerate(store.feedback(user)):
            known = indexes.of(user)
            if not told.used or not known.index.visible(told.request.time).any():
                continue
            scene = build_scene(told.request, known, embedder, ranker, len(told.used))
            grades = np.array([_USED * (item.id in told.used) for item in scene.items], np.int64)
            found.append(
                ContextExample(f"{user}/{number}", user, 0, "feedback", scene, grades, len(told.used))
            )
        if progress:
            progress(done, len(chosen))
    return found


def go_on(
    ranker: ContextRanker,
    examples: Sequence[ContextExample],
    settings: RankerSettings = CONTINUED,
    *,
    progress: Progress | None = None,
) -> ContextRanker:
    """The ranker after its second pass has learnt from more examples; all the rest stays as it is."""
    data = FeaturedExamples.of(examples)
    strengths = [ranker.first.score(matrix) for matrix in data.matrices]
    groups = data.linked(strengths).groups
    if not groups:
        raise RankerError("the store holds no feedback to learn from: record some with Tuner.feedback")
    like_before = replace(settings, seeds=len(ranker.second.models))
    learnt = Ranker.fit(groups, NAMES, like_before, before=ranker.second, progress=progress)
    return replace(ranker, second=learnt, about={**ranker.about, "feedback": len(groups)})
