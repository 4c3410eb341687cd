"""Feedback of users as ranking examples, each as of the time of its request."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune._internal.array_files import read_arrays
from contextune.context.build_scene import build_scene
from contextune.context.index_cache import UserIndexCache
from contextune.context.ranker import ContextRanker
from contextune.context.signals import Scene, compute_features, recompute_links
from contextune.embed import Embedder
from contextune.fleet.opening import WorkerSettings
from contextune.fleet.parts import Handler, Part
from contextune.rank import CandidateGroup
from contextune.store import ServiceStore, Store
from contextune.types import Feedback

USED_GRADE = 2
MAX_REQUESTS = 200
"""Requests of one user that are read, the newest: more would count little."""


def feedback_scenes(
    store: Store,
    indexes: UserIndexCache,
    embedder: Embedder,
    ranker: ContextRanker,
    user: str,
    *,
    limit: int | None = None,
    depth: int = 0,
) -> Iterator[tuple[int, Feedback, Scene, NDArray[np.int64]]]:
    """Number, feedback, scene and grades of each of a user's requests with used items.

    Items made later are not visible. There are candidates for at least `depth` hits.
    """
    numbered = [(number, entry) for number, entry in enumerate(store.feedback(user)) if entry.used]
    for number, feedback in numbered[-limit:] if limit else numbered:
        state = indexes.get(user)
        if not state.index.visible(feedback.request.time).any():
            continue
        scene = build_scene(feedback.request, state, embedder, ranker, max(depth, len(feedback.used)))
        grades = np.array([USED_GRADE * (item.id in feedback.used) for item in scene.items], np.int64)
        yield number, feedback, scene, grades


def feedback_parts(store: ServiceStore, users: list[str]) -> list[Part]:
    """A part for each user; its key changes with the user's data."""
    parts: list[Part] = []
    for user in users:
        revision, sizes = store.revision(user), store.sizes(user)
        parts.append(Part(f"{user}/{revision.items}/{revision.uses}/{sizes.feedback}", {"user": user}))
    return parts


def users_with_feedback(store: ServiceStore) -> list[str]:
    """The users who have given feedback, sorted."""
    return [user for user in store.users() if store.sizes(user).feedback]


@dataclass(frozen=True)
class FeedbackFeatures:
    """Computes the features of a user's feedback for the second pass of the ranker."""

    settings: WorkerSettings

    def open(self) -> Handler:
        """Open the store and load the models."""
        store, embedder = self.settings.open_store(), self.settings.embedder()
        ranker, indexes = self.settings.ranker_or_default(), UserIndexCache(store, embedder)

        def handle(payload: Any) -> bytes:
            groups: list[CandidateGroup] = []
            scenes = feedback_scenes(store, indexes, embedder, ranker, payload["user"], limit=MAX_REQUESTS)
            for _, _, scene, grades in scenes:
                if grades.any() and not grades.all():
                    features = compute_features(scene)
                    links = recompute_links(scene, features, ranker.first_pass.score(features))
                    groups.append(CandidateGroup(links, grades))
            indexes.forget(payload["user"])
            return groups_to_bytes(groups)

        return handle


def groups_to_bytes(groups: list[CandidateGroup]) -> bytes:
    """Feature matrices and grades, compressed."""
    arrays: dict[str, Any] = {}
    for number, group in enumerate(groups):
        arrays[f"matrix {number}"], arrays[f"grades {number}"] = group.matrix, group.grades
    buffer = io.BytesIO()
    np.savez_compressed(buffer, count=len(groups), **arrays)
    return buffer.getvalue()


def groups_from_bytes(content: bytes) -> list[CandidateGroup]:
    """The inverse of `groups_to_bytes`."""
    arrays = read_arrays(io.BytesIO(content))
    return [
        CandidateGroup(arrays[f"matrix {number}"], arrays[f"grades {number}"])
        for number in range(int(arrays["count"]))
    ]
