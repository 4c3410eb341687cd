"""Tool retrieval on public benchmarks: ToolBench (filtered as in the paper), ToolLens and MetaTool."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from contextune.embed import CachedEmbedder, Embedder, default_embedder
from contextune.evaluate.metrics import Run
from contextune.evaluate.results import ResultTable, evaluate_runs
from contextune.tools import ToolRetriever
from contextune.tools.index import MemoryVectorCache
from contextune.types import Progress
from contextune_lab.public_data.toolset import LabelledRequest, Toolset, read_toolset

METRICS = ("recall@3", "recall@5", "recall@11", "map@11", "mmrr@11", "ndcg@5", "comp@5")
TESTS: Mapping[str, tuple[str, str]] = {
    "ToolBench filter, in-domain": ("toolbench/filter", "id_test"),
    "ToolBench filter, out-of-domain": ("toolbench/filter", "ood"),
    "ToolLens": ("toollens", "test"),
    "MetaTool": ("metatool", "test"),
}
"""Per benchmark: the folder of its toolset and its test split."""
_DEPTH = 100


def public_tables(
    folder: Path, untuned: Embedder | None, *, progress: Progress | None = None
) -> dict[str, ResultTable]:
    """One table per benchmark: BM25, untuned and tuned embedder, hybrid and the learned ranker."""
    toolsets = {
        name: read_toolset(folder / name) for name in dict.fromkeys(name for name, _ in TESTS.values())
    }
    rows: dict[str, Mapping[str, ToolRetriever]] = {}
    for done, (name, toolset) in enumerate(toolsets.items(), 1):
        rows[name] = _retrievers(toolset, untuned)
        if progress:
            progress(done, len(toolsets) + len(TESTS))
    tables: dict[str, ResultTable] = {}
    for done, (title, (name, split)) in enumerate(TESTS.items(), 1):
        queries, keys = toolsets[name].split(split), _keys(toolsets[name])
        runs = {
            row: {
                query_id: [keys[tool] for tool in ranked]
                for query_id, ranked in rank_queries(retriever, queries).items()
            }
            for row, retriever in rows[name].items()
        }
        tables[title] = evaluate_runs(runs, _qrels(toolsets[name], queries), METRICS, baseline=list(runs)[-1])
        if progress:
            progress(len(toolsets) + done, len(toolsets) + len(TESTS))
    return tables


def rank_queries(retriever: ToolRetriever, queries: Sequence[LabelledRequest]) -> Run:
    """Rank the tools for every query; queries are embedded first, as batches are faster."""
    retriever.embedder.embed([query.text for query in queries])
    return {query.id: [hit.tool.id for hit in retriever.search(query.text, _DEPTH)] for query in queries}


def _retrievers(toolset: Toolset, untuned: Embedder | None) -> Mapping[str, ToolRetriever]:
    vectors, embedder = MemoryVectorCache(), CachedEmbedder(default_embedder())
    retrievers = {
        title: ToolRetriever(toolset.tools, embedder, method=method, vector_cache=vectors)
        for title, method in (
            ("BM25T", "bm25"),
            ("tuned embedder", "semantic"),
            ("hybrid, RRF", "hybrid"),
            ("learned", "learned"),
        )
    }
    if untuned is None:
        return retrievers
    baseline = ToolRetriever(toolset.tools, untuned, method="semantic")
    return {"BM25T": retrievers.pop("BM25T"), "Semantic search, untuned": baseline, **retrievers}


def _keys(toolset: Toolset) -> dict[str, str]:
    """The data's own tool ids: names may contain blanks, which TREC files cannot."""
    return {tool.id: key for tool, key in zip(toolset.tools, toolset.ids, strict=True)}


def _qrels(toolset: Toolset, queries: Sequence[LabelledRequest]) -> dict[str, dict[str, int]]:
    return {query.id: {toolset.ids[place]: 1 for place in query.relevant} for query in queries}
