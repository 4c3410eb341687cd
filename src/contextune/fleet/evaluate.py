"""Evaluate rankers on the feedback of users, as of the time of each request."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contextune.context.index_cache import UserIndexCache
from contextune.context.ranker import ContextRanker
from contextune.errors import InvalidDataError
from contextune.evaluate.metrics import JudgedRanking, parse_metric
from contextune.evaluate.stats import Interval, bootstrap
from contextune.fleet.feedback import MAX_REQUESTS, feedback_scenes
from contextune.fleet.opening import WorkerSettings
from contextune.fleet.parts import Handler

METRICS = ("recall@3", "recall@10", "ndcg@10", "mrr")
_DEPTH = 10


@dataclass(frozen=True)
class EvaluateFeedback:
    """Ranks the items for each request of a user that has feedback, by several rankers."""

    settings: WorkerSettings
    rankers: Mapping[str, ContextRanker]

    def open(self) -> Handler:
        """Open the store and load the embedder."""
        store, embedder = self.settings.open_store(), self.settings.embedder()
        indexes, rankers = UserIndexCache(store, embedder), self.rankers
        # candidates and features do not depend on the ranker, but on its classifier of requests
        first = next(iter(rankers.values()))

        def handle(payload: Any) -> bytes:
            user = payload["user"]
            rows: dict[str, list[list[float]]] = {name: [] for name in rankers}
            scenes = feedback_scenes(store, indexes, embedder, first, user, limit=MAX_REQUESTS, depth=_DEPTH)
            for _, feedback, scene, _ in scenes:
                relevant = dict.fromkeys(feedback.used, 1)
                ids = [item.id for item in scene.items]
                order: list[int]
                for name, ranker in rankers.items():
                    order = ranker.rank(scene).order.tolist()
                    ranking = [ids[number] for number in order]
                    judged = JudgedRanking.from_run({"request": ranking}, {"request": relevant})
                    rows[name].append([float(parse_metric(metric)(judged)[0]) for metric in METRICS])
            indexes.forget(user)
            return json.dumps(rows).encode()

        return handle


@dataclass(frozen=True, slots=True)
class FeedbackScores:
    """Means over all requests, by ranker and metric; intervals are bootstrapped over users."""

    users: int
    requests: int
    intervals: Mapping[str, Mapping[str, Interval]]

    def means(self, ranker: str) -> dict[str, float]:
        """The mean of each metric for one ranker."""
        return {metric: interval.mean for metric, interval in self.intervals[ranker].items()}


def feedback_scores(contents: Iterable[bytes], rankers: Sequence[str]) -> FeedbackScores:
    """Combine the results of `EvaluateFeedback`, one per user."""
    groups: list[str] = []
    values: dict[str, list[list[float]]] = {name: [] for name in rankers}
    for number, content in enumerate(contents):
        rows: dict[str, list[list[float]]] = json.loads(content)
        groups += [str(number)] * len(rows[rankers[0]])
        for name in rankers:
            values[name] += rows[name]
    if not groups:
        raise InvalidDataError("no request with used items: record some with Tuner.feedback")
    intervals = {
        name: {
            metric: bootstrap([row[column] for row in rows], groups=groups)
            for column, metric in enumerate(METRICS)
        }
        for name, rows in values.items()
    }
    return FeedbackScores(len(set(groups)), len(groups), intervals)
