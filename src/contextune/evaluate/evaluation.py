"""How well the tools of somebody's own catalogue are found, on queries of their own."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Protocol

from contextune.embed import CachedEmbedder, Embedder, default_embedder
from contextune.errors import InvalidDataError, InvalidRequestError
from contextune.evaluate.metrics import metric
from contextune.evaluate.queries import LabelledQuery
from contextune.evaluate.results import ALL, ResultTable, evaluate
from contextune.evaluate.stats import Interval, bootstrap
from contextune.evaluate.thresholds import ABSTENTION, Threshold, ThresholdResult
from contextune.tools import Catalog, ToolMatches, ToolRetriever
from contextune.tools.index import MemoryVectorCache, ToolIndex, VectorCache
from contextune.tools.retriever import DEFAULT
from contextune.types import Progress, ToolHit

DEEP = 200
"""How far down a tool that is missing from the top k is looked for, and as far as MRR and MAP look."""
SEVERAL, NOWHERE = "(several)", "(no server)"
_UNSURE = 0.5
"""With a lower probability that any tool fits, the retriever is taken to say that none does."""


@dataclass(frozen=True, slots=True, eq=False)
class EvaluatedQuery:
    """What became of one query."""

    query: LabelledQuery
    found: tuple[ToolHit, ...]
    """The top k, as any caller would get it."""
    beyond: tuple[ToolHit, ...]
    """What follows them, where a wanted tool is not among them."""
    fits: float | None
    seconds: float

    @property
    def ranking(self) -> list[str]:
        """The ids, best first."""
        return [hit.tool.id for hit in (*self.found, *self.beyond)]

    @property
    def ranks(self) -> dict[str, int | None]:
        """The rank of each tool wanted, None beyond `DEEP`."""
        place = {tool: rank for rank, tool in enumerate(self.ranking, 1)}
        return {tool: place.get(tool) for tool in self.query.relevant}

    @property
    def missed(self) -> list[str]:
        """The wanted tools that are not in the top k."""
        there = {hit.tool.id for hit in self.found}
        return [tool for tool in self.query.relevant if tool not in there]

    @property
    def abstained(self) -> bool | None:
        """Whether the retriever says that no tool fits; None if it cannot say."""
        return None if self.fits is None else self.fits < _UNSURE

    @property
    def right(self) -> bool | None:
        """Whether all tools wanted are in the top k, or "none fits" is rightly said; None if not measured."""
        return not self.missed if self.query.relevant else self.abstained


@dataclass(frozen=True, slots=True)
class AbstentionRates:
    """How often "no tool fits" is said: of requests that no tool serves, and of those that one does."""

    rightly: Interval
    wrongly: Interval


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """What was measured; `table` has one row, the method, and the servers as its kinds."""

    method: str
    k: int
    cases: tuple[EvaluatedQuery, ...]
    table: ResultTable
    abstention: AbstentionRates | None

    def interval(self, name: str) -> Interval:
        """A metric over all queries."""
        if name == ABSTENTION:
            if self.abstention is None:
                raise InvalidRequestError(
                    f"{ABSTENTION} was not measured: it needs queries with an empty list of tools, and a "
                    f"method that says how probable it is that a tool fits; {self.method!r} was used"
                )
            return self.abstention.rightly
        return self.table.cell(self.method, name, ALL).interval

    def verdicts(self, bars: Sequence[Threshold]) -> list[ThresholdResult]:
        """Each bar with what was measured."""
        return [ThresholdResult(bar, self.interval(bar.metric)) for bar in bars]

    @property
    def skipped(self) -> int:
        """How many queries no tool serves and the method cannot say so."""
        return sum(case.right is None for case in self.cases)

    @property
    def milliseconds(self) -> float:
        """The median time a query took, embedding included."""
        return median(case.seconds for case in self.cases) * 1000


class SearchesTools(Protocol):
    """Anything that finds tools for a request."""

    def find(self, text: str, k: int = 10) -> ToolMatches:
        """The best `k` tools, best first."""
        ...


class CatalogEvaluator:
    """A catalogue with a way to search it, ready to be measured."""

    def __init__(
        self,
        catalog: Catalog,
        *,
        method: str = DEFAULT,
        embedder: Embedder | None = None,
        retriever: SearchesTools | None = None,
        shelf: VectorCache | None = None,
        progress: Progress | None = None,
    ) -> None:
        """`retriever` is measured in place of Contextune's own, and `method` then is what it is called.

        `shelf` keeps the tools' vectors from one run to the next; `progress` hears of tools embedded.
        """
        if not len(catalog):
            raise InvalidDataError("the catalogue holds no tool: there is nothing to find")
        kept = MemoryVectorCache() if shelf is None else shelf
        self.embedder = CachedEmbedder(embedder or default_embedder())
        self.method = method
        self.retriever = retriever or ToolRetriever(
            catalog, self.embedder, method=method, shelf=kept, progress=progress
        )
        self.index = ToolIndex.build(catalog, self.embedder, shelf=kept, progress=progress)

    def run(
        self,
        queries: Sequence[LabelledQuery],
        *,
        k: int = 10,
        bars: Sequence[Threshold] = (),
        progress: Progress | None = None,
    ) -> Evaluation:
        """Search for every query and measure, overall and by the server of the tools wanted."""
        if k < 1:
            raise InvalidRequestError(f"k must be at least 1, not {k!r}")
        if not any(query.relevant for query in queries):
            raise InvalidDataError("no query names a tool that serves it: there is nothing to measure")
        names = [bar.metric for bar in bars if bar.metric != ABSTENTION]
        deep = max(k, DEEP, *(metric(name).k or 0 for name in names))
        self.retriever.find("warm up", k)  # so that the first query is not the one that loads things
        cases: list[EvaluatedQuery] = []
        for number, query in enumerate(queries, 1):
            cases.append(self._case(query, k, deep))
            if progress:
                progress(number, len(queries))
        judged = [case for case in cases if case.query.relevant]
        table = evaluate(
            {self.method: {case.query.id: case.ranking for case in judged}},
            {case.query.id: dict.fromkeys(case.query.relevant, 1) for case in judged},
            [*default_metrics(k), *names],
            # ten wordings of a wish for one tool say less than wishes for ten tools
            groups={case.query.id: "\n".join(sorted(case.query.relevant)) for case in judged},
            kinds={case.query.id: self._server(case.query) for case in judged},
        )
        return Evaluation(self.method, k, tuple(cases), table, _abstention(cases))

    def _case(self, query: LabelledQuery, k: int, deep: int) -> EvaluatedQuery:
        start = perf_counter()
        answer = self.retriever.find(query.text, k)
        seconds = perf_counter() - start
        there = {hit.tool.id for hit in answer.hits}
        beyond: list[ToolHit] = []
        if not there.issuperset(query.relevant):
            further = self.retriever.find(query.text, deep).hits
            beyond = [hit for hit in further if hit.tool.id not in there][: deep - len(there)]
        return EvaluatedQuery(query, answer.hits, tuple(beyond), answer.fits, seconds)

    def _server(self, query: LabelledQuery) -> str:
        servers = {self.index.catalog.tool(tool).app or NOWHERE for tool in query.relevant}
        name = servers.pop() if len(servers) == 1 else SEVERAL
        return f"{name} (server)" if name == ALL else name


def default_metrics(k: int) -> list[str]:
    """What is always measured."""
    cuts = sorted({cut for cut in (1, 3, 5) if cut < k} | {k})
    return [*(f"recall@{cut}" for cut in cuts), f"comp@{k}", f"ndcg@{k}", "mrr"]


def _abstention(cases: Sequence[EvaluatedQuery]) -> AbstentionRates | None:
    without = [
        float(case.abstained) for case in cases if not case.query.relevant and case.abstained is not None
    ]
    served = [float(case.abstained) for case in cases if case.query.relevant and case.abstained is not None]
    return AbstentionRates(bootstrap(without), bootstrap(served)) if without and served else None
