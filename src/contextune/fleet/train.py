"""Train one ranker on the feedback of many users, and evaluate it on users held out."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from contextune.context.ranker import ContextRanker
from contextune.context.signals import FEATURE_NAMES
from contextune.errors import RankerError
from contextune.fleet.checkpoint import Checkpoint
from contextune.fleet.evaluate import EvaluateFeedback, FeedbackScores, feedback_scores
from contextune.fleet.feedback import (
    FeedbackFeatures,
    feedback_parts,
    groups_from_bytes,
    users_with_feedback,
)
from contextune.fleet.opening import WorkerSettings
from contextune.fleet.parts import Execute, run_locally, run_parts
from contextune.fleet.weights import MAX_SHARE, request_weights, split_users
from contextune.rank import CandidateGroup, Ranker, RankerSettings
from contextune.types import Progress

CONTINUE_SETTINGS = RankerSettings(rounds=60, rate=0.05, seeds=1, leaves=20, smallest_leaf=5)
"""A few more rounds with small leaves, as there is little feedback."""
BEFORE, AFTER = "before", "after"
ShowProgress = Callable[[str], AbstractContextManager[Progress]]
"""Shows the progress of a step of this title."""


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
