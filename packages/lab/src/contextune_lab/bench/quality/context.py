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
from contextune.store import SQLiteStore
from contextune.tuner import Tuner
from contextune.types import Progress
from contextune_lab.bench.large_model import COT_FILE, large_model_cot
from contextune_lab.bench.quality.same_inputs import same_input_rows
from contextune_lab.train.embedder.fold_vectors import FoldVectors
from contextune_lab.train.rankers.context.train import HeldOutRanking

METRICS = ("recall@3", "recall@5", "recall@10", "ndcg@3", "ndcg@5", "ndcg@10", "mrr")
COT, LARGE_MODEL_COT = "cot", "large-model-cot"
"""Semantic search over the request followed by a chain of thought: the dataset's, or a large model's."""
COTS = (COT, LARGE_MODEL_COT)
RANKER = "LambdaMART-RRF"
TITLES = {
    "bm25": "BM25T",
    "semantic": "Semantic search",
    "hybrid": "Hybrid, RRF",
    COT: "CoT augmentation",
    LARGE_MODEL_COT: "CoT by a large model",
    "situated": "Semantic search, situated",
    "learned": RANKER,
    "reading": f"{RANKER}, reading",
}
"""Row titles by method. The paper has no hybrid row."""
SAME_INPUTS = "{}, same inputs"
"""Title of an untuned method on the inputs of the tuned rows: enriched item texts, request and moment."""

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
    thoughts = {method: _thoughts(personas, method) for method in methods if method in COTS}
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "bench.db") as store:
        tuners = {m: Tuner(store, embedder=embedder, method="semantic" if m in COTS else m) for m in methods}
        for number, persona in enumerate(personas, 1):
            load_persona(store, persona)
            for method, tuner in tuners.items():
                for query in persona.queries:
                    request = persona.request(query)
                    if method in thoughts:
                        thought = thoughts[method][persona.name(query)]
                        request = replace(request, text=f"{query.text} {thought}")
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
    personas: Sequence[Persona],
    rows: Mapping[str, Run],
    *,
    metrics: Sequence[str] = METRICS,
    published: bool = True,
) -> ResultTable:
    """Evaluate all rows, test each against the ranker or else the last.

    `published` adds the paper's values, which are on about as many items per user as the personas have.
    """
    judgements = QueryJudgements.from_personas(personas)
    return evaluate_runs(
        rows,
        judgements.qrels,
        metrics,
        groups=judgements.groups,
        kinds=judgements.kinds,
        baseline=RANKER if RANKER in rows else list(rows)[-1],
        reference={
            row: {m: v for m, v in values_by_metric.items() if m in metrics}
            for row, values_by_metric in (PAPER.items() if published else ())
        },
    )


def untuned_rows(
    personas: Sequence[Persona], embedder: Embedder, *, progress: Progress | None = None
) -> Mapping[str, Run]:
    """BM25, semantic search, hybrid search and CoT with an untuned embedder, each on two inputs.

    First on the items' plain texts and the bare request, then on what the tuned rows read.
    """
    cots = COTS if COT_FILE.exists() else (COT,)  # recorded runs are in no wheel
    methods = ("bm25", "semantic", "hybrid", *cots)
    runs = run_methods(personas, methods, embedder=embedder, progress=_half(progress, 0))
    thoughts = {TITLES[method]: _thoughts(personas, method) for method in cots}
    same = same_input_rows(personas, embedder, thoughts, progress=_half(progress, 1))
    rows: dict[str, Run] = {}
    for method in methods:
        title = TITLES[method]
        rows |= {title: runs[method], SAME_INPUTS.format(title): same[title]}
    return rows


def _thoughts(personas: Sequence[Persona], method: str) -> Mapping[str, str]:
    """The chains of thought of a method, by request name."""
    if method == LARGE_MODEL_COT:
        return large_model_cot()
    return {persona.name(query): query.gold.cot or "" for persona in personas for query in persona.queries}


def _half(progress: Progress | None, number: int) -> Progress | None:
    if progress is None:
        return None
    report = progress
    return lambda done, total: report(number * total + done, 2 * total)


def tuned_rows(folds: FoldVectors, held_out: Sequence[HeldOutRanking]) -> Mapping[str, Run]:
    """Rows of the tuned embedder and the ranker; each persona is ranked by models that have not seen it."""
    return {
        "Fine-tuned semantic search": folds.ranked(cot=False),
        "Fine-tuned with CoT": folds.ranked(cot=True),
        "LambdaMART, one pass": {ranking.example.name: ranking.ranked("first") for ranking in held_out},
        "LambdaMART, second hop": {ranking.example.name: ranking.ranked("second") for ranking in held_out},
        RANKER: {ranking.example.name: ranking.ranked() for ranking in held_out},
    }
