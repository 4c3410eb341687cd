"""Train the tool ranker and the abstention model.

The ranker trains on personas' requests with and without context, and on requests to public catalogues. The
abstention model trains on the same requests, each with its tools and with the whole application or server
removed, and on authored requests that no bundled tool serves. All its scores are out of fold.
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
from contextune.tools.abstain import FIT_INPUTS, AbstentionModel, context_inputs, fit_inputs
from contextune.tools.features import FEATURE_NAMES
from contextune.tools.index import ToolIndex
from contextune.tools.query import QueryContext, ToolQuery
from contextune.tools.ranker import ToolRanker
from contextune.types import Progress

Floats = NDArray[np.float64]
SETTINGS = RankerSettings(rounds=200, seeds=1, rate=0.05, leaves=12)
_SIMILAR = 0.6
"""Cosine similarity above which a tool could replace a removed one, so it is removed too."""
_HOST_PERSONAS = 12
_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)


@dataclass(frozen=True, eq=False)
class FeaturedExample:
    """An example with its candidates and their features."""

    example: ToolExample
    places: NDArray[np.intp]
    group: CandidateGroup

    @classmethod
    def build(cls, example: ToolExample) -> "FeaturedExample":
        """Compute candidates and features."""
        places = example.places()
        return cls(example, places, example.group_of(places))

    def without_relevant_tools(self) -> "FeaturedExample":
        """The same request after removing the tools that serve it, their applications and similar tools."""
        index, wanted = self.example.index, [p for p, grade in self.example.grades.items() if grade > 1]
        same_app = np.isin(index.app[self.places], index.app[wanted]) & (
            np.array(index.apps)[index.app[self.places]] != ""
        )
        similar = (index.vectors[self.places] @ index.vectors[wanted].T).max(1) > _SIMILAR
        graded = np.isin(self.places, list(self.example.grades))
        stripped = replace(self.example, grades={})
        kept = self.places[~(same_app | similar | graded)]
        return FeaturedExample(stripped, kept, stripped.group_of(kept))


def with_features(
    examples: Sequence[ToolExample], *, progress: Progress | None = None
) -> list[FeaturedExample]:
    """Compute the features of all examples."""
    featured: list[FeaturedExample] = []
    for number, example in enumerate(examples, 1):
        featured.append(FeaturedExample.build(example))
        if progress and number % 50 == 0:
            progress(number, len(examples))
    return featured


def fit(examples: Sequence[FeaturedExample], *, progress: Progress | None = None) -> Ranker:
    """Fit a ranker on these examples."""
    groups = [
        featured.group
        for featured in examples
        if featured.group.grades.any() and not featured.group.grades.all()
    ]
    return Ranker.fit(groups, FEATURE_NAMES, SETTINGS, progress=progress)


def fit_by_fold(
    examples: Sequence[FeaturedExample], *, progress: Progress | None = None
) -> dict[int, Ranker]:
    """A ranker per fold, fitted without it."""
    folds = sorted({featured.example.fold for featured in examples})
    rankers: dict[int, Ranker] = {}
    for number, fold in enumerate(folds, 1):
        rankers[fold] = fit([featured for featured in examples if featured.example.fold != fold])
        if progress:
            progress(number, len(folds))
    return rankers


@dataclass(frozen=True, eq=False)
class AbstentionData:
    """Training data of the abstention model: inputs, whether a tool fits, fold and source."""

    rows: Floats
    fits: NDArray[np.bool_]
    fold: NDArray[np.int64]
    source: tuple[str, ...]

    @classmethod
    def build(
        cls, examples: Sequence[FeaturedExample], rankers: Mapping[int, Ranker], embedder: Embedder
    ) -> "AbstentionData":
        """Every example with and without its tools, and the authored requests."""
        cases: list[tuple[FeaturedExample, bool]] = []
        for featured in examples:
            cases += [(featured, True), (featured.without_relevant_tools(), False)]
        cases += [(featured, bool(featured.example.grades)) for featured in _authored_examples(embedder)]
        rows = [
            fit_inputs(featured.group.matrix, rankers[featured.example.fold].score(featured.group.matrix))
            for featured, _ in cases
        ]
        return cls(
            np.stack(rows),
            np.array([fits for _, fits in cases]),
            np.array([featured.example.fold for featured, _ in cases], np.int64),
            tuple(
                featured.example.group if featured.example.kind == featured.example.group else "personas"
                for featured, _ in cases
            ),
        )

    def model(self, excluded_fold: int | None = None) -> LogisticRegression:
        """Fit on all folds, or on all but one."""
        kept = self.fold != excluded_fold
        return LogisticRegression.fit(self.rows[kept], self.fits[kept], FIT_INPUTS)

    def out_of_fold(self) -> Floats:
        """Out-of-fold probabilities of all cases."""
        probabilities = np.zeros(len(self.rows))
        for fold in np.unique(self.fold):
            mask = self.fold == fold
            probabilities[mask] = self.model(int(fold)).probability(self.rows[mask])
        return probabilities


def _authored_examples(embedder: Embedder) -> list[FeaturedExample]:
    """The authored requests, alone and with context from a persona's data."""
    toolbox = Catalog(bundled_toolbox())
    index = ToolIndex.build(toolbox, embedder)
    place = {tool.name: number for number, tool in enumerate(toolbox)}
    requests = plain_requests()
    vectors = embedder.embed([request.text for request in requests])
    tool_queries = [
        ToolQuery(request.text, vector) for request, vector in zip(requests, vectors, strict=True)
    ]
    examples: list[FeaturedExample] = []
    for number, tool_query in enumerate([*tool_queries, *_with_foreign_context(tool_queries, embedder)]):
        request = requests[number % len(requests)]
        grades = {place[request.api]: RIGHT} if request.api else {}
        fold = number % len(requests) % FOLDS
        examples.append(
            FeaturedExample.build(
                ToolExample(f"plain-{number}", "plain", fold, "plain", index, tool_query, grades)
            )
        )
    return examples


def _with_foreign_context(tool_queries: Sequence[ToolQuery], embedder: Embedder) -> list[ToolQuery]:
    """The same requests with context retrieved from unrelated personas."""
    with_context: list[ToolQuery] = []
    personas = bundled_personas()[:_HOST_PERSONAS]
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "hosts.db") as store:
        for persona in personas:
            load_persona(store, persona)
        retriever = ContextRetriever(store, embedder)
        for number, tool_query in enumerate(tool_queries):
            host = personas[number % len(personas)]
            query = host.queries[number % len(host.queries)]
            request = replace(host.request(query), text=tool_query.text)
            hits = retriever.rank(request, QueryContext.MAX_ITEMS)
            inputs = retriever.tool_search_inputs(request, [hit.item.id for hit in hits])
            scores = [hit.score for hit in hits]
            context = QueryContext.build([hit.item for hit in hits], scores, inputs.vectors)
            with_context.append(replace(tool_query, context=context, app_probabilities=inputs.apps))
    return with_context


def context_model(
    implicit: Matrix, embedder: Embedder, *, excluded_fold: int | None = None
) -> LogisticRegression:
    """Fit a classifier of implicit against self-contained requests.

    `implicit` are out-of-fold vectors of the personas' requests; authored requests of both kinds are added,
    without those of `excluded_fold`.
    """
    plain = plain_requests()
    kept = [
        request
        for number, request in enumerate(plain)
        if excluded_fold is None or number % FOLDS != excluded_fold
    ]
    vectors = np.vstack([implicit, embedder.embed([request.text for request in kept])])
    labels = np.array([True] * len(implicit) + [request.implicit for request in kept])
    return LogisticRegression.fit(vectors, labels, context_inputs(vectors.shape[1]), ridge=3e-2)


def train(
    personas: Sequence[ToolExample],
    public: Sequence[ToolExample],
    embedder: Embedder,
    about: Mapping[str, Any],
    *,
    progress: Progress | None = None,
) -> ToolRanker:
    """Train the ranker that ships, on all examples."""
    examples = with_features([*personas, *map(without_context, personas), *public])
    rankers = fit_by_fold(examples, progress=progress)
    data = AbstentionData.build(examples, rankers, embedder)
    probabilities = data.out_of_fold()[~data.fits]
    thresholds = {str(share): float(np.quantile(probabilities, 1 - share)) for share in _SHARES}
    implicit = np.stack([example.query.vector for example in personas])
    abstain = AbstentionModel(data.model(), context_model(implicit, embedder), thresholds)
    return ToolRanker(fit(examples), abstain, about)
