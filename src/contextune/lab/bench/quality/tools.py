"""Figure 2 of *Context Tuning for RAG*: finding the right one of 59 APIs with and without context.

Every request of every persona, by an embedder and a ranker that have not seen the persona.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from contextune.embed import Embedder
from contextune.evaluate.metrics import Run
from contextune.evaluate.results import ResultTable, evaluate
from contextune.lab.train.embedder.fold_vectors import FoldVectors
from contextune.lab.train.rankers.tool_examples import RIGHT, ToolExample, without_context
from contextune.lab.train.rankers.tools import FeaturedExample, by_fold, shown
from contextune.rank import Ranker
from contextune.search import tokenize
from contextune.tools import Catalog, bundled_toolbox
from contextune.tools.index import ToolIndex
from contextune.tools.query import QueryContext
from contextune.types import Progress

METRICS = ("recall@1", "recall@3", "recall@5", "recall@10", "mrr")
WITH_CONTEXT = "learned, with the context found"
UNTUNED = "Semantic search, untuned"


@dataclass(frozen=True, eq=False)
class ToolRequests:
    """The requests that are measured, in four forms."""

    alone: Sequence[ToolExample]
    found: Sequence[ToolExample]
    """With the items a ranker found that had not seen the persona."""
    thought: Sequence[ToolExample]
    """With the CoT of the data."""
    oracle: Sequence[ToolExample]
    """With the items they were written about."""

    @classmethod
    def of(cls, folds: FoldVectors, people: Sequence[ToolExample]) -> "ToolRequests":
        """From all examples, those that may be measured on."""
        measured = [example for example in people if example.measured]
        thoughts, golden = _thoughts(folds), _golden(folds)
        alone = [without_context(example) for example in measured]
        return cls(
            alone,
            measured,
            [replace(e, wish=replace(e.wish, vector=thoughts[e.name])) for e in alone],
            [replace(e, wish=replace(e.wish, context=golden[e.name])) for e in measured],
        )


def tool_rows(
    folds: FoldVectors,
    people: Sequence[ToolExample],
    public: Sequence[ToolExample],
    untuned: Embedder | None,
    *,
    progress: Progress | None = None,
) -> Mapping[str, Run]:
    """What each way ranks for every request."""
    asked = ToolRequests.of(folds, people)
    rankers = by_fold(shown([*people, *map(without_context, people), *public]), progress=progress)
    rows = {"BM25T": _by_words(asked.alone)}
    if untuned is not None:
        rows |= _untuned(asked, untuned)
    return rows | {
        "tuned embedder": {e.name: _ordered(e, e.index.vectors @ e.wish.vector) for e in asked.alone},
        "tuned embedder, with the context found": {
            e.name: _ordered(e, e.index.vectors @ e.wish.in_context) for e in asked.found
        },
        "learned": _learned(asked.alone, rankers),
        "learned, with CoT": _learned(asked.thought, rankers),
        "learned, with the right context": _learned(asked.oracle, rankers),
        WITH_CONTEXT: _learned(asked.found, rankers),
    }


def tool_table(people: Sequence[ToolExample], rows: Mapping[str, Run], *, by: str = "kind") -> ResultTable:
    """Every row tested against the last, overall and by kind of request or by application."""
    measured = [example for example in people if example.measured]
    apps = {example.name: example.index.catalog[_right(example)].app for example in measured}
    kinds = {example.name: example.kind for example in measured}
    return evaluate(
        rows,
        {example.name: {example.index.catalog[_right(example)].name: 1} for example in measured},
        METRICS,
        groups={example.name: example.group for example in measured},
        kinds=kinds if by == "kind" else apps,
        baseline="learned" if "learned" in rows else None,
    )


def _untuned(asked: ToolRequests, embedder: Embedder) -> dict[str, Run]:
    """The paper's own pair: one retriever that nothing was tuned for, with context and without."""
    tools = ToolIndex.build(Catalog(bundled_toolbox()), embedder).vectors
    vectors = embedder.embed([e.wish.text for e in asked.alone])
    texts = list({item.text: None for e in asked.found if e.wish.context for item in e.wish.context.items})
    known = dict(zip(texts, embedder.embed(texts), strict=True))
    alone: dict[str, list[str]] = {}
    found: dict[str, list[str]] = {}
    for e, vector in zip(asked.found, vectors, strict=True):
        context = e.wish.context
        if context is not None and len(context.items):
            context = replace(context, vectors=np.stack([known[item.text] for item in context.items]))
        alone[e.name] = _ordered(e, tools @ vector)
        found[e.name] = _ordered(e, tools @ replace(e.wish, vector=vector, context=context).in_context)
    return {UNTUNED: alone, f"{UNTUNED}, with the context found": found}


def _learned(examples: Sequence[ToolExample], rankers: Mapping[int, Ranker]) -> Run:
    run: dict[str, list[str]] = {}
    for example in examples:
        one = FeaturedExample.of(example)
        scores = rankers[example.fold].score(one.group.matrix)
        order = np.argsort(-scores, kind="stable")
        run[example.name] = [example.index.catalog[int(one.places[n])].name for n in order]
    return run


def _ordered(example: ToolExample, scores: np.ndarray) -> list[str]:
    return [example.index.catalog[int(place)].name for place in np.argsort(-scores, kind="stable")]


def _by_words(examples: Sequence[ToolExample]) -> Run:
    """Over the paper's toolbox as it is: how people ask for an API is no part of it."""
    paper = Catalog(replace(tool, examples=()) for tool in bundled_toolbox())
    lexical = ToolIndex.of(paper, np.zeros((len(paper), 1), np.float32)).fields["all"]
    return {e.name: _ordered(e, lexical.scores(tokenize(e.wish.text))) for e in examples}


def _right(example: ToolExample) -> int:
    return next(place for place, grade in example.grades.items() if grade == RIGHT)


def _thoughts(folds: FoldVectors) -> dict[str, np.ndarray]:
    return {
        persona.name(query): parts["augmented"][number]
        for persona, parts in folds
        for number, query in enumerate(persona.queries)
    }


def _golden(folds: FoldVectors) -> dict[str, QueryContext]:
    found: dict[str, QueryContext] = {}
    for persona, parts in folds:
        position = {item.id: number for number, item in enumerate(persona.items)}
        for query in persona.queries:
            right = sorted((query.gold.relevant or {}).items(), key=lambda pair: -pair[1])
            rows = [position[name] for name, _ in right]
            found[persona.name(query)] = QueryContext.of(
                [persona.items[row] for row in rows], [grade for _, grade in right], parts["items"][rows]
            )
    return found
