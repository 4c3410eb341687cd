"""Training data of the abstention model: requests that a tool serves, and requests that no tool serves.

Four kinds of negatives, each with its own row in the benchmark: the tools that serve the request are removed
with all tools that could replace them; with all tools of their servers too; alone, so that near twins are
left; and requests to other catalogues.
Scores come from rankers that have not seen the catalogue, and a model is tested on catalogues that it has not
been trained on, as a user's catalogue is one that nobody has seen.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contextune.context import ContextRetriever
from contextune.datasets import bundled_personas, load_persona, plain_requests
from contextune.embed import Embedder
from contextune.rank import LogisticRegression, Ranker
from contextune.store import SQLiteStore
from contextune.tools import Catalog, bundled_toolbox
from contextune.tools.abstain import FIT_INPUTS, fit_inputs
from contextune.tools.index import ToolIndex
from contextune.tools.query import QueryContext, ToolQuery
from contextune_lab.train.embedder.data import FOLDS
from contextune_lab.train.rankers.tools.examples import RIGHT, ToolExample
from contextune_lab.train.rankers.tools.featured_examples import FeaturedExample

Floats = NDArray[np.float64]
SERVED, AUTHORED = "served", "authored"
NO_TOOL, NO_SERVER, OTHER_CATALOGUE, TWINS_LEFT = (
    "tools removed",
    "servers removed",
    "other catalogue",
    "twins left",
)
CASES = (SERVED, NO_TOOL, NO_SERVER, OTHER_CATALOGUE, TWINS_LEFT, AUTHORED)
"""Of `TWINS_LEFT`, many are served by another tool: they keep the model modest, and are measured apart."""
_RIDGE = 5e-2
_HOST_PERSONAS = 12
_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)


@dataclass(frozen=True, eq=False)
class AbstentionData:
    """Inputs of the abstention model, one row per case."""

    rows: Floats
    fits: NDArray[np.bool_]
    """Whether a tool serves the request."""
    holdout: tuple[str, ...]
    """What is left out to test on the case."""
    source: tuple[str, ...]
    case: tuple[str, ...]
    """One of `CASES`."""

    @classmethod
    def build(
        cls,
        examples: Sequence[FeaturedExample],
        rankers: Mapping[str, Ranker],
        embedder: Embedder,
        *,
        seed: int = 0,
    ) -> "AbstentionData":
        """Every example with and without its tools, foreign requests, and the authored requests."""
        rng = np.random.default_rng(seed)
        others = _requests_by_space(examples)
        cases: list[tuple[FeaturedExample, bool, str]] = []
        for featured in examples:
            cases += ((variant, case == SERVED, case) for variant, case in _variants(featured, others, rng))
        cases += (
            (featured, bool(featured.example.grades), AUTHORED) for featured in _authored_examples(embedder)
        )
        rows = [fit_inputs(featured.group.matrix, _score(rankers, featured)) for featured, _, _ in cases]
        return cls(
            np.stack(rows),
            np.array([fits for _, fits, _ in cases]),
            tuple(featured.example.holdout for featured, _, _ in cases),
            tuple(featured.example.source for featured, _, _ in cases),
            tuple(case for _, _, case in cases),
        )

    def model(self, left_out: str | None = None) -> LogisticRegression:
        """Fit to all cases, or to all but those of one holdout."""
        kept = np.array(self.holdout) != left_out
        return LogisticRegression.fit(
            self.rows[kept], self.fits[kept], FIT_INPUTS, ridge=_RIDGE, weights=self.weights(kept)[kept]
        )

    def held_out(self) -> Floats:
        """Probabilities of all cases, each from a model that has not seen its catalogue or persona."""
        probabilities = np.zeros(len(self.rows))
        holdouts = np.array(self.holdout)
        for left_out in sorted(set(self.holdout)):
            mask = holdouts == left_out
            probabilities[mask] = self.model(left_out).probability(self.rows[mask])
        return probabilities

    def weights(self, kept: NDArray[np.bool_]) -> Floats:
        """The same total for every source, half of it for served requests, the rest by kind of negative."""
        weights = np.zeros(len(self.rows))
        sources, cases = np.array(self.source), np.array(self.case)
        for source in set(self.source):
            of_source = kept & (sources == source)
            negatives = sorted({str(case) for case in cases[of_source & ~self.fits]})
            parts = [of_source & self.fits]
            parts += [of_source & ~self.fits & (cases == case) for case in negatives]
            for mask in parts:
                if mask.any():
                    weights[mask] = (1.0 if mask is parts[0] else 1 / len(negatives)) / mask.sum()
        return weights

    def thresholds(self) -> dict[str, float]:
        """Per false-positive rate, the lowest `fits` at which a tool is offered, on catalogues not seen."""
        negative = ~self.fits & (np.array(self.case) != TWINS_LEFT)
        probabilities, weights = self.held_out()[negative], self.weights(negative)[negative]
        order = np.argsort(probabilities)
        below = np.cumsum(weights[order]) / weights.sum()
        return {str(share): float(np.interp(1 - share, below, probabilities[order])) for share in _SHARES}


def _score(rankers: Mapping[str, Ranker], featured: FeaturedExample) -> Floats:
    """Scores of the ranker that has not seen the example; any has not seen an authored request."""
    ranker = rankers.get(featured.example.holdout) or next(iter(rankers.values()))
    return ranker.score(featured.group.matrix)


def _variants(
    featured: FeaturedExample,
    others: Mapping[tuple[str, int], Sequence[FeaturedExample]],
    rng: np.random.Generator,
) -> Iterator[tuple[FeaturedExample, str]]:
    """An example as it is, and with a catalogue that does not serve it."""
    yield featured, SERVED
    yield featured.without_relevant_tools(servers=False), NO_TOOL
    yield featured.without_relevant_tools(), NO_SERVER
    yield featured.without_relevant_tools(servers=False, twins=False), TWINS_LEFT
    example = featured.example
    foreign = [other for other in others.get(_space(example), ()) if other.example.family != example.family]
    if foreign and example.source != "personas":
        yield featured.with_request_of(foreign[int(rng.integers(len(foreign)))]), OTHER_CATALOGUE


def _requests_by_space(
    examples: Sequence[FeaturedExample],
) -> dict[tuple[str, int], list[FeaturedExample]]:
    """Public requests by embedder, as vectors of different ones are not comparable.

    Personas are left out: requests to public catalogues may well concern mail or music.
    """
    by_space: dict[tuple[str, int], list[FeaturedExample]] = {}
    for featured in examples:
        if featured.example.source != "personas":
            by_space.setdefault(_space(featured.example), []).append(featured)
    return by_space


def _space(example: ToolExample) -> tuple[str, int]:
    return (example.embedder, example.fold if example.embedder == "fold" else 0)


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
            context = QueryContext.from_hits(hits, inputs.vectors)
            with_context.append(replace(tool_query, context=context, app_probabilities=inputs.apps))
    return with_context
