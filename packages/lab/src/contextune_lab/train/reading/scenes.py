"""The candidates of each request of a source, as the bundled context ranker ranks them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from contextune.context.build_scene import build_scene
from contextune.context.index import UserState
from contextune.context.index_cache import UserIndexCache
from contextune.context.ranker import RankedScene, default_ranker
from contextune.context.reading import wide_matrix
from contextune.embed import CachedEmbedder, Embedder, default_embedder
from contextune.plan.complete_request import complete_request
from contextune.rank import Ranker
from contextune.types import User
from contextune_lab.train.reading.sources import RequestSource, SourceRequest

DEPTH = 40
"""Candidates are selected as for this many items."""


@dataclass(frozen=True, eq=False)
class RankedRequest:
    """A request with its ranked candidates; `labels.request` is completed from the conversation."""

    labels: SourceRequest
    state: UserState
    ranked: RankedScene

    @property
    def user(self) -> User:
        """The user who asks."""
        return self.state.index.user

    @property
    def grades(self) -> NDArray[np.int64]:
        """The grade of each candidate."""
        return np.array([self.labels.grade(item.id) for item in self.ranked.scene.items], np.int64)

    def order(self, wide: Ranker | None) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Scores of the candidates, and their numbers with the best first; None: the bundled ranking."""
        scores = self.ranked.fused if wide is None else wide.score(wide_matrix(self.ranked))
        return scores, np.argsort(-scores, kind="stable")


def ranked_requests(source: RequestSource, embedder: Embedder | None = None) -> Iterator[RankedRequest]:
    """Every request of a source with its candidates."""
    embedder = CachedEmbedder(embedder or default_embedder())
    state = UserIndexCache(source.store, embedder).get(source.user)
    ranker = default_ranker()
    for labels in source.requests:
        request = complete_request(labels.request, lambda _user: state.index.user)
        scene = build_scene(request, state, embedder, ranker, DEPTH)
        yield RankedRequest(replace(labels, request=request), state, ranker.rank(scene))
