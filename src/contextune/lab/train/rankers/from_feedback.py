"""Continue training the context ranker on a store's feedback."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from contextune.context.build_scene import build_scene
from contextune.context.index import UserIndexCache
from contextune.context.ranker import ContextRanker
from contextune.context.signals import FEATURE_NAMES
from contextune.embed import Embedder
from contextune.errors import RankerError
from contextune.lab.train.rankers.context import SECOND_PASS, FeaturedExamples
from contextune.lab.train.rankers.context_examples import ContextExample
from contextune.rank import Ranker, RankerSettings
from contextune.store import Store
from contextune.types import Progress

_USED = 2
CONTINUE_SETTINGS = replace(SECOND_PASS, rounds=60, smallest_leaf=5)
"""A few more rounds with small leaves, as there is little feedback."""


def feedback_examples(
    store: Store,
    embedder: Embedder,
    ranker: ContextRanker,
    *,
    users: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> list[ContextExample]:
    """One example per request with feedback, as of its time: later items are invisible."""
    chosen = store.users() if users is None else list(users)
    indexes = UserIndexCache(store, embedder)
    examples: list[ContextExample] = []
    for done, user in enumerate(chosen, 1):
        for number, feedback in enumerate(store.feedback(user)):
            user_index = indexes.get(user)
            if not feedback.used or not user_index.index.visible(feedback.request.time).any():
                continue
            scene = build_scene(feedback.request, user_index, embedder, ranker, len(feedback.used))
            grades = np.array([_USED * (item.id in feedback.used) for item in scene.items], np.int64)
            examples.append(
                ContextExample(f"{user}/{number}", user, 0, "feedback", scene, grades, len(feedback.used))
            )
        if progress:
            progress(done, len(chosen))
    return examples


def continue_training(
    ranker: ContextRanker,
    examples: Sequence[ContextExample],
    settings: RankerSettings = CONTINUE_SETTINGS,
    *,
    progress: Progress | None = None,
) -> ContextRanker:
    """Continue the second pass on more examples; everything else stays as it is."""
    data = FeaturedExamples.build(examples)
    first_scores = [ranker.first_pass.score(matrix) for matrix in data.matrices]
    groups = data.with_links(first_scores).groups
    if not groups:
        raise RankerError("no feedback in the store: record some with Tuner.feedback")
    settings_as_before = replace(settings, seeds=len(ranker.second_pass.models))
    second = Ranker.fit(
        groups, FEATURE_NAMES, settings_as_before, before=ranker.second_pass, progress=progress
    )
    return replace(ranker, second_pass=second, metadata={**ranker.metadata, "feedback": len(groups)})
