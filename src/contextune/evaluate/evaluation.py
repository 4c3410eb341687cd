"""CatalogEvaluator: measure tool retrieval on your own catalogue and labelled queries."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Protocol

from contextune.embed import CachedEmbedder, Embedder, default_embedder
from contextune.errors import InvalidDataError, InvalidRequestError
from contextune.evaluate.metrics import parse_metric
from contextune.evaluate.queries import LabelledQuery
from contextune.evaluate.results import ALL, ResultTable, evaluate_runs
from contextune.evaluate.stats import Interval, bootstrap
from contextune.evaluate.thresholds import (
    ABSTENTION,
    ACCEPTANCE,
    FitThreshold,
    Threshold,
    ThresholdResult,
    fit_thresholds,
)
from contextune.tools import MIN_FIT, Catalog, ToolMatches, ToolRetriever
from contextune.tools.index import MemoryVectorCache, ToolIndex, VectorCache
from contextune.tools.methods import DEFAULT_METHOD
from contextune.types import Progress, ToolHit

SEARCH_DEPTH = 200
"""How far down a relevant tool outside the top k is searched for; also the depth of MRR and MAP."""
MULTIPLE_SERVERS, NO_SERVER = "(several)", "(no server)"


@dataclass(frozen=True, slots=True, eq=False)
class EvaluatedQuery:
    """The result of one query."""

    query: LabelledQuery
    hits: tuple[ToolHit, ...]
    """The top k."""
    further_hits: tuple[ToolHit, ...]
    """The following hits, if a relevant tool is not in the top k."""
    fits: float | None
    """1 if the query names a tool: it is not refused then."""
    seconds: float
    min_fit: float = MIN_FIT
    """With a lower `fits`, the retriever abstains."""

    @property
    def ranking(self) -> list[str]:
        """Tool ids, best first."""
        return [hit.tool.id for hit in (*self.hits, *self.further_hits)]

    @property
    def ranks(self) -> dict[str, int | None]:
        """The rank of each relevant tool, None beyond `SEARCH_DEPTH`."""
        ranks = {tool: rank for rank, tool in enumerate(self.ranking, 1)}
        return {tool: ranks.get(tool) for tool in self.query.relevant}

    @property
    def missed(self) -> list[str]:
        """The relevant tools that are not in the top k."""
        top = {hit.tool.id for hit in self.hits}
        return [tool for tool in self.query.relevant if tool not in top]

    @property
    def abstained(self) -> bool | None:
        """Whether the retriever says that no tool fits; None if its method does not say."""
        return None if self.fits is None else self.fits < self.min_fit

    @property
    def correct(self) -> bool | None:
        """Whether all relevant tools are in the top k, or without any, it abstained; None if not measured."""
        return not self.missed if self.query.relevant else self.abstained


@dataclass(frozen=True, slots=True)
class AbstentionRates:
    """How often the retriever says that no tool fits."""

    correct: Interval
    """Of the queries that no tool serves."""
    incorrect: Interval
    """Of the queries that a tool serves."""


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """The results of all queries. `table` has one row, the method; its kinds are the servers."""

    method: str
    k: int
    cases: tuple[EvaluatedQuery, ...]
    table: ResultTable
    abstention: AbstentionRates | None
    thresholds: tuple[FitThreshold, ...] = ()
    """The values of `min_fit` for few false refusals; none if the method does not say whether a tool fits."""

    def interval(self, name: str) -> Interval:
        """A metric's mean and interval over all queries."""
        if name == ABSTENTION:
            if self.abstention is None:
                raise InvalidRequestError(
                    f"{ABSTENTION} was not measured: it needs queries without relevant tools, and a method "
                    f"that estimates whether a tool fits, which {self.method!r} does not"
                )
            return self.abstention.correct
        if name == ACCEPTANCE:
            refused = [case.abstained for case in self.cases if case.query.relevant]
            accepted = [float(not abstained) for abstained in refused if abstained is not None]
            if not accepted:
                raise InvalidRequestError(
                    f"{ACCEPTANCE} was not measured: {self.method!r} does not estimate whether a tool fits"
                )
            return bootstrap(accepted)
        return self.table.cell(self.method, name, ALL).interval

    def check(self, thresholds: Sequence[Threshold]) -> list[ThresholdResult]:
        """Compare the measured values with thresholds."""
        return [ThresholdResult(threshold, self.interval(threshold.metric)) for threshold in thresholds]

    @property
    def skipped(self) -> int:
        """Number of queries that no tool serves, if the method cannot abstain."""
        return sum(case.correct is None for case in self.cases)

    @property
    def milliseconds(self) -> float:
        """The median time of a query, including its embedding."""
        return median(case.seconds for case in self.cases) * 1000


class ToolSearcher(Protocol):
    """Anything that finds tools for a query."""

    def find(self, text: str, k: int = 10) -> ToolMatches:
        """The best `k` tools, best first."""
        ...


class CatalogEvaluator:
    """Measures how well a retriever finds the tools of a catalogue."""

    def __init__(
        self,
        catalog: Catalog,
        *,
        method: str = DEFAULT_METHOD,
        embedder: Embedder | None = None,
        retriever: ToolSearcher | None = None,
        bounded: bool = False,
        min_fit: float | None = None,
        vector_cache: VectorCache | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Build the retriever.

        `retriever` replaces Contextune's own, with `method` as its name; else `bounded` and `min_fit` are its
        options. `vector_cache` keeps the tools'
        vectors between runs; `progress` is called with the number of tools embedded so far.
        """
        if not len(catalog):
            raise InvalidDataError("the catalogue is empty: add tools first")
        cache = MemoryVectorCache() if vector_cache is None else vector_cache
        self.embedder = CachedEmbedder(embedder or default_embedder())
        self.method = method
        self.retriever = retriever or ToolRetriever(
            catalog,
            self.embedder,
            method=method,
            bounded=bounded,
            min_fit=min_fit,
            vector_cache=cache,
            progress=progress,
        )
        self.index = ToolIndex.build(catalog, self.embedder, vector_cache=cache, progress=progress)

    def run(
        self,
        queries: Sequence[LabelledQuery],
        *,
        k: int = 10,
        thresholds: Sequence[Threshold] = (),
        progress: Progress | None = None,
    ) -> Evaluation:
        """Run every query and compute the metrics, overall and by the server of the relevant tools."""
        if k < 1:
            raise InvalidRequestError(f"k must be at least 1, not {k!r}")
        if not any(query.relevant for query in queries):
            raise InvalidDataError("no query has a relevant tool: there is nothing to measure")
        names = [
            threshold.metric for threshold in thresholds if threshold.metric not in (ABSTENTION, ACCEPTANCE)
        ]
        depth = max(k, SEARCH_DEPTH, *(parse_metric(name).k or 0 for name in names))
        self.retriever.find("warm up", k)  # load models before the first timed query
        cases: list[EvaluatedQuery] = []
        for number, query in enumerate(queries, 1):
            cases.append(self._run_query(query, k, depth))
            if progress:
                progress(number, len(queries))
        judged = [case for case in cases if case.query.relevant]
        table = evaluate_runs(
            {self.method: {case.query.id: case.ranking for case in judged}},
            {case.query.id: dict.fromkeys(case.query.relevant, 1) for case in judged},
            [*default_metrics(k), *names],
            # queries for the same tools are not independent
            groups={case.query.id: "\n".join(sorted(case.query.relevant)) for case in judged},
            kinds={case.query.id: self._server(case.query) for case in judged},
        )
        return Evaluation(self.method, k, tuple(cases), table, _abstention(cases), _fit_thresholds(cases))

    def _run_query(self, query: LabelledQuery, k: int, depth: int) -> EvaluatedQuery:
        start = perf_counter()
        matches = self.retriever.find(query.text, k)
        seconds = perf_counter() - start
        top = {hit.tool.id for hit in matches.hits}
        further: list[ToolHit] = []
        if not top.issuperset(query.relevant):
            deep = self.retriever.find(query.text, depth).hits
            further = [hit for hit in deep if hit.tool.id not in top][: depth - len(top)]
        fits = 1.0 if matches.named and matches.fits is not None else matches.fits
        return EvaluatedQuery(query, matches.hits, tuple(further), fits, seconds, matches.min_fit)

    def _server(self, query: LabelledQuery) -> str:
        servers = {self.index.catalog.tool(tool).app or NO_SERVER for tool in query.relevant}
        name = servers.pop() if len(servers) == 1 else MULTIPLE_SERVERS
        return f"{name} (server)" if name == ALL else name


def default_metrics(k: int) -> list[str]:
    """The metrics of every evaluation."""
    cutoffs = sorted({cutoff for cutoff in (1, 3, 5) if cutoff < k} | {k})
    return [*(f"recall@{cutoff}" for cutoff in cutoffs), f"comp@{k}", f"ndcg@{k}", "mrr"]


def _abstention(cases: Sequence[EvaluatedQuery]) -> AbstentionRates | None:
    unserved = [
        float(case.abstained) for case in cases if not case.query.relevant and case.abstained is not None
    ]
    served = [float(case.abstained) for case in cases if case.query.relevant and case.abstained is not None]
    return AbstentionRates(bootstrap(unserved), bootstrap(served)) if unserved and served else None


def _fit_thresholds(cases: Sequence[EvaluatedQuery]) -> tuple[FitThreshold, ...]:
    served = [case.fits for case in cases if case.query.relevant and case.fits is not None]
    unserved = [case.fits for case in cases if not case.query.relevant and case.fits is not None]
    return tuple(fit_thresholds(served, unserved)) if served else ()
