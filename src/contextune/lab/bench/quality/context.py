"""Context retrieval benchmark: Table 2 of *Context Tuning for RAG*, on every query of every persona."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from contextune.context.chain_of_thought import ChainOfThought
from contextune.datasets import Persona, load_persona
from contextune.embed import Embedder
from contextune.errors import InvalidDataError
from contextune.evaluate.metrics import Qrels, Run
from contextune.evaluate.results import ResultTable, evaluate_runs
from contextune.lab.train.embedder.fold_vectors import FoldVectors
from contextune.lab.train.rankers.context import HeldOutRanking
from contextune.store import SQLiteStore
from contextune.tuner import Tuner
from contextune.types import Progress

METRICS = ("recall@3", "recall@5", "recall@10", "ndcg@3", "ndcg@5", "ndcg@10", "mrr")
COT = "cot"
"""Semantic search over the request followed by the dataset's chain of thought."""
RANKER = "LambdaMART-RRF"
TITLES = {
    "bm25": "BM25T",
    "semantic": "Semantic search",
    "hybrid": "Hybrid, RRF",
    COT: "CoT augmentation",
    "situated": "Semantic search, situated",
    "learned": RANKER,
}
"""Row titles by method. The paper has no hybrid row."""

_PAPER = {
    "BM25T": (11.35, 13.47, 14.92, 56.45, 52.33, 50.91),
    "Semantic search": (23.74, 25.38, 26.99, 65.44, 64.31, 64.02),
    "CoT augmentation": (71.77, 85.61, 94.41, 93.67, 91.78, 88.40),
    "Fine-tuned semantic search": (73.48, 88.52, 95.13, 93.81, 94.07, 94.23),
    "Fine-tuned with CoT": (73.55, 88.53, 95.17, 93.92, 94.11, 94.22),
    "LambdaMART-RRF": (81.27, 92.65, 98.77, 96.39, 97.11, 98.24),
}
PAPER = {
    row: {name: value / 100 for name, value in zip(METRICS, values, strict=False)}
    for row, values in _PAPER.items()
}
"""The paper's published values, on its own data and with larger models."""


@dataclass(frozen=True, slots=True)
class QueryJudgements:
    """Relevance judgements of the queries of some personas; query names are `persona/query`."""

    qrels: Qrels
    groups: Mapping[str, str]
    kinds: Mapping[str, str]

    @classmethod
    def from_personas(cls, personas: Sequence[Persona]) -> "QueryJudgements":
        """Collect the gold labels; refuse a query without any, since it would silently score zero."""
        queries = {persona.name(query): (persona, query) for persona in personas for query in persona.queries}
        for name, (_, query) in queries.items():
            if not query.gold.relevant:
                raise InvalidDataError(f"query {name} has no `relevant` items: the benchmark cannot score it")
        return cls(
            qrels={name: query.gold.relevant or {} for name, (_, query) in queries.items()},
            groups={name: persona.id for name, (persona, _) in queries.items()},
            kinds={name: query.gold.kind or "unknown" for name, (_, query) in queries.items()},
        )


def run_methods(
    personas: Sequence[Persona],
    methods: Sequence[str],
    *,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
) -> Mapping[str, Run]:
    """Rank the items for every query with every method; each persona is one user."""
    runs: dict[str, dict[str, list[str]]] = {method: {} for method in methods}
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "bench.db") as store:
        tuners = {m: Tuner(store, embedder=embedder, method="semantic" if m == COT else m) for m in methods}
        for number, persona in enumerate(personas, 1):
            load_persona(store, persona)
            for method, tuner in tuners.items():
                for query in persona.queries:
                    request = persona.request(query)
                    if method == COT:
                        request = replace(request, text=f"{query.text} {query.gold.cot}")
                    hits = tuner.context(request, k=None)
                    runs[method][persona.name(query)] = [hit.item.id for hit in hits]
            if progress:
                progress(number, len(personas))
    return runs


def language_model_cot_row(
    personas: Sequence[Persona],
    embedder: Embedder,
    chain: ChainOfThought,
    *,
    progress: Progress | None = None,
) -> Run:
    """Semantic search with a chain of thought written by a language model, where it writes a usable one."""
    run: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "bench.db") as store:
        tuner = Tuner(store, embedder=embedder, method="semantic")
        for number, persona in enumerate(personas, 1):
            load_persona(store, persona)
            for query in persona.queries:
                hits = tuner.context(chain.augment(persona.request(query)), k=None)
                run[persona.name(query)] = [hit.item.id for hit in hits]
            if progress:
                progress(number, len(personas))
    return run


def context_table(
    personas: Sequence[Persona], rows: Mapping[str, Run], *, metrics: Sequence[str] = METRICS
) -> ResultTable:
    """Evaluate all rows, test each against the last, and add the paper's values."""
    judgements = QueryJudgements.from_personas(personas)
    return evaluate_runs(
        rows,
        judgements.qrels,
        metrics,
        groups=judgements.groups,
        kinds=judgements.kinds,
        baseline=list(rows)[-1],
        reference={
            row: {m: v for m, v in values_by_metric.items() if m in metrics}
            for row, values_by_metric in PAPER.items()
        },
    )


def untuned_rows(
    personas: Sequence[Persona], embedder: Embedder, *, progress: Progress | None = None
) -> Mapping[str, Run]:
    """BM25, semantic search, hybrid search and CoT, with an untuned embedder."""
    methods = ("bm25", "semantic", "hybrid", COT)
    runs = run_methods(personas, methods, embedder=embedder, progress=progress)
    return {TITLES[method]: run for method, run in runs.items()}


def tuned_rows(folds: FoldVectors, held_out: Sequence[HeldOutRanking]) -> Mapping[str, Run]:
    """Rows of the tuned embedder and the ranker; each persona is ranked by models that have not seen it."""
    return {
        "Fine-tuned semantic search": folds.ranked(cot=False),
        "Fine-tuned with CoT": folds.ranked(cot=True),
        "LambdaMART, one pass": {ranking.example.name: ranking.ranked("first") for ranking in held_out},
        "LambdaMART, second hop": {ranking.example.name: ranking.ranked("second") for ranking in held_out},
        RANKER: {ranking.example.name: ranking.ranked() for ranking in held_out},
    }
