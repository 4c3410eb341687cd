"""Continue training the context ranker on a store's feedback."""

from collections.abc import Sequence

from contextune.context.index_cache import UserIndexCache
from contextune.context.ranker import ContextRanker
from contextune.embed import Embedder
from contextune.fleet.feedback import feedback_scenes
from contextune.fleet.train import CONTINUE_SETTINGS, continue_ranker
from contextune.rank import RankerSettings
from contextune.store import Store
from contextune.types import Progress
from contextune_lab.train.rankers.context.examples import ContextExample
from contextune_lab.train.rankers.context.train import FeaturedExamples


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
        for number, feedback, scene, grades in feedback_scenes(store, indexes, embedder, ranker, user):
            name, relevant = f"{user}/{number}", len(feedback.used)
            examples.append(ContextExample(name, user, 0, "feedback", scene, grades, relevant))
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
    return continue_ranker(ranker, data.with_links(first_scores).groups, settings, progress=progress)
