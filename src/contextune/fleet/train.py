"""Train one ranker on the feedback of many users, and evaluate it on users held out.

Requests are weighted, so that no user dominates.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

from contextune.context.index_cache import UserIndexCache
from contextune.context.ranker import ContextRanker
from contextune.context.signals import FEATURE_NAMES
from contextune.errors import InvalidDataError, RankerError
from contextune.evaluate.metrics import JudgedRanking, parse_metric
from contextune.evaluate.stats import Interval, bootstrap
from contextune.fleet.checkpoint import Checkpoint
from contextune.fleet.feedback import (
    MAX_REQUESTS,
    FeedbackFeatures,
    feedback_parts,
    feedback_scenes,
    groups_from_bytes,
    users_with_feedback,
)
from contextune.fleet.opening import WorkerSettings
from contextune.fleet.parts import Execute, Handler, run_locally, run_parts
from contextune.rank import CandidateGroup, Ranker, RankerSettings
from contextune.types import Progress

METRICS = ("recall@3", "recall@10", "ndcg@10", "mrr")
_DEPTH = 10
CONTINUE_SETTINGS = RankerSettings(rounds=60, rate=0.05, seeds=1, leaves=20, smallest_leaf=5)
"""A few more rounds with small leaves, as there is little feedback."""
BEFORE, AFTER = "before", "after"
ShowProgress = Callable[[str], AbstractContextManager[Progress]]
"""Shows the progress of a step of this title."""
MAX_SHARE = 0.05
"""The largest share of one user in the total weight, as far as there are enough users."""
HELD_OUT_SHARE = 0.2


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


@dataclass(frozen=True, slots=True)
class FleetTraining:
    """A ranker trained on a fleet's feedback, and what it is worth."""

    ranker: ContextRanker
    users: int
    requests: int
    largest_share: float
    """The largest share of one user in the total weight."""
    scores: FeedbackScores
    """On users held out, `BEFORE` and `AFTER`."""

    @property
    def improves(self) -> bool:
        """Whether it is at least as good as the ranker before, on users held out."""
        before, after = (sum(self.scores.means(name).values()) for name in (BEFORE, AFTER))
        return after >= before

    def to_json(self) -> dict[str, Any]:
        """The facts for the card of a model version."""
        return {
            "users": self.users,
            "requests": self.requests,
            "largest share of a user": round(self.largest_share, 4),
            "users held out": self.scores.users,
            "requests held out": self.scores.requests,
            "scores": {name: self.scores.means(name) for name in (BEFORE, AFTER)},
        }


def continue_ranker(
    ranker: ContextRanker,
    groups: list[CandidateGroup],
    settings: RankerSettings = CONTINUE_SETTINGS,
    *,
    about: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> ContextRanker:
    """Continue the second pass on more examples; everything else stays as it is."""
    if not groups:
        raise RankerError("no feedback to train on: record some with Tuner.feedback")
    settings = replace(settings, seeds=len(ranker.second_pass.models))
    second = Ranker.fit(groups, FEATURE_NAMES, settings, before=ranker.second_pass, progress=progress)
    metadata = {**ranker.metadata, "feedback": len(groups), **(about or {})}
    return replace(ranker, second_pass=second, metadata=metadata)


def train_fleet(
    settings: WorkerSettings,
    checkpoint: Checkpoint,
    *,
    show: ShowProgress,
    compared_with: ContextRanker | None = None,
    max_share: float = MAX_SHARE,
    execute: Execute = run_locally,
) -> FleetTraining:
    """Continue the ranker of `settings` on the feedback of all users but those held out.

    `compared_with` is the ranker in use, by default that of `settings`. Training always starts from the
    ranker of `settings`, never from an earlier result: users held out have had no part in it.
    """
    with settings.open_store() as store:
        users = users_with_feedback(store)
        training_users, held_out = split_users(users)
        if not training_users or not held_out:
            raise RankerError(
                f"feedback of {len(users)} users: at least two are needed, one to train on and one held out"
            )
        training_parts = feedback_parts(store, training_users)
        held_out_parts = feedback_parts(store, held_out)
    with show("Features") as update:
        report = run_parts(
            FeedbackFeatures(settings), training_parts, checkpoint, execute=execute, progress=update
        )
    if not report.complete:
        raise RankerError(f"{report.errors.total():,} of {report.parts:,} users could not be read; try again")
    groups_by_user = {
        user: groups_from_bytes(content)
        for user, content in zip(
            training_users, checkpoint.contents(part.key for part in training_parts), strict=True
        )
    }
    counts = {user: len(groups) for user, groups in groups_by_user.items()}
    weights = request_weights(counts, max_share)
    groups = [
        replace(group, weight=weights[user]) for user, groups in groups_by_user.items() for group in groups
    ]
    base = settings.ranker_or_default()
    with show("Training") as update:
        trained = continue_ranker(base, groups, about={"users": len(weights)}, progress=update)
    with show("Users held out") as update:
        rankers = {BEFORE: compared_with or base, AFTER: trained}
        with Checkpoint() as results:
            work = EvaluateFeedback(settings, rankers)
            run_parts(work, held_out_parts, results, execute=execute, progress=update)
            scores = feedback_scores(results.contents(part.key for part in held_out_parts), tuple(rankers))
    user_weights = {user: weights[user] * counts[user] for user in weights}
    share = max(user_weights.values()) / sum(user_weights.values())
    return FleetTraining(trained, len(weights), len(groups), share, scores)


def request_weights(counts: Mapping[str, int], max_share: float = MAX_SHARE) -> dict[str, float]:
    """The weight of each of a user's requests, from the number of requests of each user.

    Requests weigh 1, unless their user has more than the bound; then they share the bound. It is the
    largest one with which no user has more than `max_share` of the total. With fewer users than
    `1 / max_share`, all users weigh the same.
    """
    if not 0 < max_share <= 1:
        raise ValueError(f"max_share={max_share!r}: a share is above 0 and at most 1")
    positive = {user: count for user, count in counts.items() if count > 0}
    bound = _largest_bound(sorted(positive.values()), max_share)
    return {user: min(1.0, bound / count) for user, count in positive.items()}


def _largest_bound(counts: Sequence[int], max_share: float) -> float:
    """The largest b with b <= max_share * sum(min(count, b)); at least the smallest count.

    With the counts in ascending order, the sum for a b between count k - 1 and count k is the sum of the
    first k counts and b for each of the others.
    """
    if not counts:
        return 0.0
    total, best, below = 0, float(counts[0]), 0
    for number, count in enumerate(counts):
        above = len(counts) - number
        if max_share * above >= 1:  # however large b: there are enough users above
            bound = float(count)
        else:
            bound = min(float(count), max_share * total / (1 - max_share * above))
        if bound >= below:  # else it is no solution between the two counts
            best = max(best, bound)
        total, below = total + count, count
    return best


def split_users(users: Sequence[str]) -> tuple[list[str], list[str]]:
    """Users to train on and users held out, at least one of each if there are two.

    The same users are held out in every run, as a digest of the id decides.
    """
    held_out = [user for user in users if _position(user) < HELD_OUT_SHARE]
    if len(users) > 1:
        ordered = sorted(users, key=_position)
        if not held_out:
            held_out = ordered[:1]
        elif len(held_out) == len(users):
            held_out = ordered[:-1]
    chosen = set(held_out)
    return [user for user in users if user not in chosen], held_out


def _position(user: str) -> float:
    digest = blake2b(user.encode("utf-8", "surrogatepass"), digest_size=8, person=b"held out").digest()
    return int.from_bytes(digest) / 2**64
