"""Trains the ranker of tools, and what says that none fits.

The ranker learns from personas' requests with and without their context, and from requests to
public catalogues. What says no learns from the same requests, each once with its tools and once
with the whole application or server taken away, and from authored requests that no tool of the
bundled toolbox serves. All scores it learns from are by rankers that have not seen the request.
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune.context import ContextRetriever
from contextune.datasets import bundled_personas, load_persona, plain_requests
from contextune.embed import Embedder, Matrix
from contextune.lab.train.embedder.data import FOLDS
from contextune.lab.train.rankers.tool_examples import RIGHT, ToolExample, without_context
from contextune.rank import CandidateGroup, LogisticRegression, Ranker, RankerSettings
from contextune.store import SQLiteStore
from contextune.tools import Catalog, bundled_toolbox
from contextune.tools.abstain import INPUTS, Abstain, context_inputs, inputs
from contextune.tools.features import NAMES
from contextune.tools.index import ToolIndex
from contextune.tools.query import QueryContext, ToolQuery
from contextune.tools.ranker import ToolRanker
from contextune.types import Progress

Floats = NDArray[np.float64]
SETTINGS = RankerSettings(rounds=200, seeds=1, rate=0.05, leaves=12)
_TWIN = 0.6
"""A tool this like one that was taken away may serve in its stead, and is taken away too."""
_HOSTS = 12
_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)


@dataclass(frozen=True, eq=False)
class FeaturedExample:
    """An example with its candidates and their features."""

    example: ToolExample
    places: NDArray[np.intp]
    group: CandidateGroup

    @classmethod
    def of(cls, example: ToolExample) -> "FeaturedExample":
        """Work them out."""
        places = example.places()
        return cls(example, places, example.group_of(places))

    def less(self) -> "FeaturedExample":
        """The same request with no tool left that serves it: its applications are gone, and their like."""
        index, wanted = self.example.index, [p for p, grade in self.example.grades.items() if grade > 1]
        gone = np.isin(index.app[self.places], index.app[wanted]) & (
            np.array(index.apps)[index.app[self.places]] != ""
        )
        like = (index.vectors[self.places] @ index.vectors[wanted].T).max(1) > _TWIN
        graded = np.isin(self.places, list(self.example.grades))
        bare = replace(self.example, grades={})
        kept = self.places[~(gone | like | graded)]
        return FeaturedExample(bare, kept, bare.group_of(kept))


def shown(examples: Sequence[ToolExample], *, progress: Progress | None = None) -> list[FeaturedExample]:
    """Examples with their features."""
    found: list[FeaturedExample] = []
    for number, example in enumerate(examples, 1):
        found.append(FeaturedExample.of(example))
        if progress and number % 50 == 0:
            progress(number, len(examples))
    return found


def fit(examples: Sequence[FeaturedExample], *, progress: Progress | None = None) -> Ranker:
    """A ranker of these examples."""
    groups = [one.group for one in examples if one.group.grades.any() and not one.group.grades.all()]
    return Ranker.fit(groups, NAMES, SETTINGS, progress=progress)


def by_fold(examples: Sequence[FeaturedExample], *, progress: Progress | None = None) -> dict[int, Ranker]:
    """For each fold a ranker that has not seen it."""
    folds = sorted({one.example.fold for one in examples})
    found: dict[int, Ranker] = {}
    for number, fold in enumerate(folds, 1):
        found[fold] = fit([one for one in examples if one.example.fold != fold])
        if progress:
            progress(number, len(folds))
    return found


@dataclass(frozen=True, eq=False)
class AbstentionData:
    """What the probability that a tool fits is learnt from: inputs, whether one fits, fold and source."""

    rows: Floats
    fits: NDArray[np.bool_]
    fold: NDArray[np.int64]
    source: tuple[str, ...]

    @classmethod
    def of(
        cls, examples: Sequence[FeaturedExample], rankers: Mapping[int, Ranker], embedder: Embedder
    ) -> "AbstentionData":
        """Every example as it is and with its tools taken away, and the authored requests."""
        cases: list[tuple[FeaturedExample, bool]] = []
        for one in examples:
            cases += [(one, True), (one.less(), False)]
        cases += [(one, bool(one.example.grades)) for one in _plain(embedder)]
        rows = [
            inputs(one.group.matrix, rankers[one.example.fold].score(one.group.matrix)) for one, _ in cases
        ]
        return cls(
            np.stack(rows),
            np.array([fits for _, fits in cases]),
            np.array([one.example.fold for one, _ in cases], np.int64),
            tuple(
                one.example.group if one.example.kind == one.example.group else "personas" for one, _ in cases
            ),
        )

    def model(self, but: int | None = None) -> LogisticRegression:
        """Learnt from all folds, or from all but one."""
        kept = self.fold != but
        return LogisticRegression.fit(self.rows[kept], self.fits[kept], INPUTS)

    def unseen(self) -> Floats:
        """The probability of each case by a model that has not seen its fold."""
        found = np.zeros(len(self.rows))
        for fold in np.unique(self.fold):
            mine = self.fold == fold
            found[mine] = self.model(int(fold)).probability(self.rows[mine])
        return found


def _plain(embedder: Embedder) -> list[FeaturedExample]:
    """The authored requests, alone and with whatever context somebody's data has for them."""
    toolbox = Catalog(bundled_toolbox())
    index = ToolIndex.build(toolbox, embedder)
    place = {tool.name: number for number, tool in enumerate(toolbox)}
    requests = plain_requests()
    vectors = embedder.embed([request.text for request in requests])
    wishes = [ToolQuery(request.text, vector) for request, vector in zip(requests, vectors, strict=True)]
    found: list[FeaturedExample] = []
    for number, wish in enumerate([*wishes, *_placed(wishes, embedder)]):
        request = requests[number % len(requests)]
        grades = {place[request.api]: RIGHT} if request.api else {}
        fold = number % len(requests) % FOLDS
        found.append(
            FeaturedExample.of(ToolExample(f"plain-{number}", "plain", fold, "plain", index, wish, grades))
        )
    return found


def _placed(wishes: Sequence[ToolQuery], embedder: Embedder) -> list[ToolQuery]:
    """The same requests among the data of some personas, whose it is not."""
    found: list[ToolQuery] = []
    personas = bundled_personas()[:_HOSTS]
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "hosts.db") as store:
        for persona in personas:
            load_persona(store, persona)
        retriever = ContextRetriever(store, embedder)
        for number, wish in enumerate(wishes):
            host = personas[number % len(personas)]
            query = host.queries[number % len(host.queries)]
            request = replace(host.request(query), text=wish.text)
            hits = retriever.rank(request, QueryContext.MOST)
            around = retriever.around(request, [hit.item.id for hit in hits])
            scores = [hit.score for hit in hits]
            context = QueryContext.of([hit.item for hit in hits], scores, around.vectors)
            found.append(replace(wish, context=context, apps=around.apps))
    return found


def context_model(implicit: Matrix, embedder: Embedder, *, but: int | None = None) -> LogisticRegression:
    """Tells requests that leave things out from those that say all.

    `implicit` are vectors of personas' requests by embedders that have not seen them; authored
    requests of both sorts are added, without one part in five if that is to be judged on.
    """
    plain = plain_requests()
    kept = [request for number, request in enumerate(plain) if but is None or number % FOLDS != but]
    vectors = np.vstack([implicit, embedder.embed([request.text for request in kept])])
    labels = np.array([True] * len(implicit) + [request.implicit for request in kept])
    return LogisticRegression.fit(vectors, labels, context_inputs(vectors.shape[1]), ridge=3e-2)


def train(
    people: Sequence[ToolExample],
    public: Sequence[ToolExample],
    embedder: Embedder,
    about: Mapping[str, Any],
    *,
    progress: Progress | None = None,
) -> ToolRanker:
    """The ranker that ships, from all examples."""
    examples = shown([*people, *map(without_context, people), *public])
    rankers = by_fold(examples, progress=progress)
    doubts = AbstentionData.of(examples, rankers, embedder)
    chance = doubts.unseen()[~doubts.fits]
    thresholds = {str(share): float(np.quantile(chance, 1 - share)) for share in _SHARES}
    implicit = np.stack([example.wish.vector for example in people])
    abstain = Abstain(doubts.model(), context_model(implicit, embedder), thresholds)
    return ToolRanker(fit(examples), abstain, about)
