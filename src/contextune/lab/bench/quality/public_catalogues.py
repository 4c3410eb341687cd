"""Public benchmarks of tool retrieval: ToolBench's paper-like filter, ToolLens and MetaTool."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from contextune.embed import CachedEmbedder, Embedder, default_embedder
from contextune.evaluate.metrics import Run
from contextune.evaluate.results import ResultTable, evaluate
from contextune.lab.public_data.toolset import LabelledRequest, Toolset, read_toolset
from contextune.tools import ToolRetriever
from contextune.tools.index import MemoryVectorCache
from contextune.types import Progress

METRICS = ("recall@3", "recall@5", "recall@11", "map", "mmrr@11", "ndcg@5", "comp@5")
TESTS: Mapping[str, tuple[str, str]] = {
    "ToolBench filter, in-domain": ("toolbench/filter", "id_test"),
    "ToolBench filter, out-of-domain": ("toolbench/filter", "ood"),
    "ToolLens": ("toollens", "test"),
    "MetaTool": ("metatool", "test"),
}
"""What is measured: the folder of a toolset and the part of its requests that nothing was trained on."""
_DEPTH = 100


def public_tables(
    folder: Path, untuned: Embedder | None, *, progress: Progress | None = None
) -> dict[str, ResultTable]:
    """By benchmark: words, meaning by the untuned and the tuned embedder, and the learned ranking."""
    toolsets = {
        name: read_toolset(folder / name) for name in dict.fromkeys(name for name, _ in TESTS.values())
    }
    rows: dict[str, Mapping[str, ToolRetriever]] = {}
    for done, (name, toolset) in enumerate(toolsets.items(), 1):
        rows[name] = _retrievers(toolset, untuned)
        if progress:
            progress(done, len(toolsets) + len(TESTS))
    found: dict[str, ResultTable] = {}
    for done, (title, (name, split)) in enumerate(TESTS.items(), 1):
        queries, keys = toolsets[name].split(split), _keys(toolsets[name])
        runs = {
            row: {asked: [keys[tool] for tool in ranked] for asked, ranked in run(retriever, queries).items()}
            for row, retriever in rows[name].items()
        }
        found[title] = evaluate(runs, _judged(toolsets[name], queries), METRICS, baseline=list(runs)[-1])
        if progress:
            progress(len(toolsets) + done, len(toolsets) + len(TESTS))
    return found


def run(retriever: ToolRetriever, queries: Sequence[LabelledRequest]) -> Run:
    """What a retriever ranks for every request; all are embedded first, since in batches that is quicker."""
    retriever.embedder.embed([query.text for query in queries])
    return {query.id: [hit.tool.id for hit in retriever.search(query.text, _DEPTH)] for query in queries}


def _retrievers(toolset: Toolset, untuned: Embedder | None) -> Mapping[str, ToolRetriever]:
    kept, embedder = MemoryVectorCache(), CachedEmbedder(default_embedder())
    tuned = {
        title: ToolRetriever(toolset.tools, embedder, method=method, shelf=kept)
        for title, method in (
            ("BM25T", "bm25"),
            ("tuned embedder", "semantic"),
            ("hybrid, RRF", "hybrid"),
            ("learned", "learned"),
        )
    }
    if untuned is None:
        return tuned
    plain = ToolRetriever(toolset.tools, untuned, method="semantic")
    return {"BM25T": tuned.pop("BM25T"), "Semantic search, untuned": plain, **tuned}


def _keys(toolset: Toolset) -> dict[str, str]:
    """What the data calls each tool: names may hold blanks, which TREC files cannot."""
    return {tool.id: key for tool, key in zip(toolset.tools, toolset.ids, strict=True)}


def _judged(toolset: Toolset, queries: Sequence[LabelledRequest]) -> dict[str, dict[str, int]]:
    return {query.id: {toolset.ids[place]: 1 for place in query.relevant} for query in queries}
