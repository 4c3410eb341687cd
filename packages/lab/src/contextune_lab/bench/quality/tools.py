"""Tool retrieval benchmark: Figure 2 of *Context Tuning for RAG*, 59 APIs with and without context.

Every request of every persona, with an embedder and a ranker that have not seen the persona.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from contextune.embed import Embedder
from contextune.evaluate.metrics import Run
from contextune.evaluate.results import ResultTable, evaluate_runs
from contextune.rank import Ranker
from contextune.search import tokenize
from contextune.tools import Catalog, bundled_toolbox
from contextune.tools.index import ToolIndex
from contextune.tools.query import QueryContext
from contextune.types import Progress
from contextune_lab.train.embedder.fold_vectors import FoldVectors
from contextune_lab.train.rankers.tools.examples import RIGHT, ToolExample, without_context
from contextune_lab.train.rankers.tools.train import FeaturedExample, fit_by_fold, with_features

METRICS = ("recall@1", "recall@3", "recall@5", "recall@10", "mrr")
WITHOUT_CONTEXT, WITH_CONTEXT = "{}, without context", "{}, with the context found"
"""Titles of a method that gets the request alone, or also the retrieved context."""
UNTUNED, TUNED, LEARNED = "Semantic search, untuned", "Tuned embedder", "Learned"
BASELINE = WITHOUT_CONTEXT.format(LEARNED)
"""The row that the others are tested against."""
SHIPPED = WITH_CONTEXT.format(LEARNED)
FIGURE = tuple(
    title.format(method) for method in (UNTUNED, TUNED, LEARNED) for title in (WITHOUT_CONTEXT, WITH_CONTEXT)
)
"""The rows of the figure: the paper's pair, which is an untuned retriever, and ours."""


@dataclass(frozen=True, eq=False)
class ToolRequests:
    """The measured requests in four forms."""

    bare: Sequence[ToolExample]
    retrieved: Sequence[ToolExample]
    """With the context that an out-of-fold ranker retrieved."""
    with_cot: Sequence[ToolExample]
    """With the dataset's chain of thought."""
    oracle: Sequence[ToolExample]
    """With the gold context."""

    @classmethod
    def build(cls, folds: FoldVectors, personas: Sequence[ToolExample]) -> "ToolRequests":
        """Build the four forms of the measured examples."""
        measured = [example for example in personas if example.measured]
        thoughts, golden = _cot_vectors(folds), _oracle_contexts(folds)
        bare = [without_context(example) for example in measured]
        return cls(
            bare,
            measured,
            [replace(e, query=replace(e.query, vector=thoughts[e.name])) for e in bare],
            [replace(e, query=replace(e.query, context=golden[e.name])) for e in measured],
        )


def tool_rows(
    folds: FoldVectors,
    personas: Sequence[ToolExample],
    public: Sequence[ToolExample],
    untuned: Embedder | None,
    *,
    progress: Progress | None = None,
) -> Mapping[str, Run]:
    """Rank the tools for every request with every method."""
    requests = ToolRequests.build(folds, personas)
    rankers = fit_by_fold(
        with_features([*personas, *map(without_context, personas), *public]), progress=progress
    )
    rows = {WITHOUT_CONTEXT.format("BM25T"): _bm25(requests.bare)}
    if untuned is not None:
        rows |= _untuned(requests, untuned)
    return rows | {
        WITHOUT_CONTEXT.format(TUNED): {
            e.name: _ranking(e, e.index.vectors @ e.query.vector) for e in requests.bare
        },
        WITH_CONTEXT.format(TUNED): {
            e.name: _ranking(e, e.index.vectors @ e.query.context_vector) for e in requests.retrieved
        },
        WITHOUT_CONTEXT.format(LEARNED): _learned(requests.bare, rankers),
        WITHOUT_CONTEXT.format(f"{LEARNED}, with CoT"): _learned(requests.with_cot, rankers),
        WITH_CONTEXT.format(LEARNED): _learned(requests.retrieved, rankers),
        f"{LEARNED}, with the right context": _learned(requests.oracle, rankers),
    }


def tool_table(personas: Sequence[ToolExample], rows: Mapping[str, Run], *, by: str = "kind") -> ResultTable:
    """Evaluate the rows against `BASELINE`, overall and by kind of request or by application."""
    measured = [example for example in personas if example.measured]
    apps = {example.name: example.index.catalog[_relevant_place(example)].app for example in measured}
    kinds = {example.name: example.kind for example in measured}
    return evaluate_runs(
        rows,
        {example.name: {example.index.catalog[_relevant_place(example)].name: 1} for example in measured},
        METRICS,
        groups={example.name: example.group for example in measured},
        kinds=kinds if by == "kind" else apps,
        baseline=BASELINE if BASELINE in rows else None,
    )


def _untuned(requests: ToolRequests, embedder: Embedder) -> dict[str, Run]:
    """The paper's own pair: an untuned retriever with and without context."""
    tools = ToolIndex.build(Catalog(bundled_toolbox()), embedder).vectors
    vectors = embedder.embed([e.query.text for e in requests.bare])
    texts = list(
        {item.text: None for e in requests.retrieved if e.query.context for item in e.query.context.items}
    )
    item_vectors = dict(zip(texts, embedder.embed(texts), strict=True))
    bare: dict[str, list[str]] = {}
    with_context: dict[str, list[str]] = {}
    for e, vector in zip(requests.retrieved, vectors, strict=True):
        context = e.query.context
        if context is not None and len(context.items):
            context = replace(context, vectors=np.stack([item_vectors[item.text] for item in context.items]))
        bare[e.name] = _ranking(e, tools @ vector)
        with_context[e.name] = _ranking(
            e, tools @ replace(e.query, vector=vector, context=context).context_vector
        )
    return {WITHOUT_CONTEXT.format(UNTUNED): bare, WITH_CONTEXT.format(UNTUNED): with_context}


def _learned(examples: Sequence[ToolExample], rankers: Mapping[int, Ranker]) -> Run:
    run: dict[str, list[str]] = {}
    for example in examples:
        featured = FeaturedExample.build(example)
        scores = rankers[example.fold].score(featured.group.matrix)
        order = np.argsort(-scores, kind="stable")
        run[example.name] = [example.index.catalog[int(featured.places[n])].name for n in order]
    return run


def _ranking(example: ToolExample, scores: np.ndarray) -> list[str]:
    return [example.index.catalog[int(place)].name for place in np.argsort(-scores, kind="stable")]


def _bm25(examples: Sequence[ToolExample]) -> Run:
    """BM25 over the paper's toolbox, without the example requests added to it."""
    paper = Catalog(replace(tool, examples=()) for tool in bundled_toolbox())
    lexical = ToolIndex.from_vectors(paper, np.zeros((len(paper), 1), np.float32)).fields["all"]
    return {e.name: _ranking(e, lexical.scores(tokenize(e.query.text))) for e in examples}


def _relevant_place(example: ToolExample) -> int:
    return next(place for place, grade in example.grades.items() if grade == RIGHT)


def _cot_vectors(folds: FoldVectors) -> dict[str, np.ndarray]:
    return {
        persona.name(query): parts["augmented"][number]
        for persona, parts in folds
        for number, query in enumerate(persona.queries)
    }


def _oracle_contexts(folds: FoldVectors) -> dict[str, QueryContext]:
    contexts: dict[str, QueryContext] = {}
    for persona, parts in folds:
        position = {item.id: number for number, item in enumerate(persona.items)}
        for query in persona.queries:
            right = sorted((query.gold.relevant or {}).items(), key=lambda pair: -pair[1])
            rows = [position[name] for name, _ in right]
            contexts[persona.name(query)] = QueryContext.build(
                [persona.items[row] for row in rows], [grade for _, grade in right], parts["items"][rows]
            )
    return contexts
