"""Requests for training the call ranker: context and tools as models found them that have not seen the user.

Besides the personas' requests, there are requests that no tool serves: those whose tools and similar ones
were removed from the catalogue, and authored ones to tools that do not exist.
"""

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from contextune.context import ContextRetriever
from contextune.datasets import (
    Persona,
    PlainRequest,
    Query,
    everyday_requests,
    load_persona,
    plain_requests,
)
from contextune.embed import Embedder, Matrix
from contextune.plan.calls.planner import SEARCHED_TOOLS
from contextune.plan.judge import ExpectedCall
from contextune.plan.planning_input import PlanningInput, RequestVector
from contextune.store import SQLiteStore
from contextune.tools import Catalog, bundled_toolbox
from contextune.tools.index import ToolIndex
from contextune.tools.methods import ToolSearch, learned
from contextune.tools.query import QueryContext, ToolQuery
from contextune.tools.ranker import ToolRanker
from contextune.types import ItemHit, Progress, Request, ToolHit
from contextune_lab.train.embedder.data import FOLDS
from contextune_lab.train.embedder.fold_vectors import FoldVectors
from contextune_lab.train.rankers.arguments.examples import EVERYDAY, PlannedRequest, planned_request
from contextune_lab.train.rankers.tools.examples import ToolExample

FULL, REMOVED, PLAIN = "full", "removed", "plain"
_SIMILAR = 0.6
"""Cosine similarity above which a tool could replace a removed one, so it is removed too."""
_REMOVED_SHARE = 6
"""Of one in this many requests there is a copy without its tools."""
_HOSTS = 3
"""Personas per fold whose data the authored requests are asked over."""
_CONTEXT = 10
_MORE = "more_"
"""Prefix of the parts of fold vectors that belong to the additional training requests."""


@dataclass(frozen=True, eq=False)
class CallRequest:
    """A request, the tools found for it, and the right call."""

    name: str
    group: str
    """The persona."""
    fold: int
    kind: str
    source: str
    """`FULL`, `REMOVED`, `PLAIN` or `EVERYDAY`."""
    measured: bool
    inputs: PlanningInput
    tools: Sequence[ToolHit]
    fits: float
    tool: str | None
    """The name of the right tool; None if no tool of the catalogue serves the request."""
    expected: ExpectedCall | None = None
    """None if the right arguments are unknown."""


class ExtendedFolds(FoldVectors):
    """Fold vectors in which the additional training requests are among the queries of each persona.

    Personas keep their own queries first. Without vectors of the additional requests in the file, there are
    only the personas' own.
    """

    _base: FoldVectors
    _requests: Mapping[str, Sequence[Query]]
    _per_fold: int | None

    def __init__(
        self,
        base: FoldVectors,
        requests: Mapping[str, Sequence[Query]],
        *,
        per_fold: int | None = None,
    ) -> None:
        """`per_fold` limits the number of personas of each fold, to try things out."""
        super().__init__(base.personas, base.training_only, base.file)
        for name, value in (("_base", base), ("_requests", requests), ("_per_fold", per_fold)):
            object.__setattr__(self, name, value)  # the base class is frozen

    @property
    def all_personas(self) -> list[Persona]:
        """All personas, with the additional requests among their queries."""
        return [persona for persona, _ in self._extended]

    @cached_property
    def _extended(self) -> list[tuple[Persona, dict[str, Matrix]]]:
        extended: list[tuple[Persona, dict[str, Matrix]]] = []
        taken: Counter[int] = Counter()
        for persona, parts in self._base:
            fold = self.fold[persona.id]
            taken[fold] += 1
            if self._per_fold is not None and taken[fold] > self._per_fold:
                continue
            own = {name: rows for name, rows in parts.items() if not name.startswith(_MORE)}
            more = self._requests.get(persona.id, ())
            if f"{_MORE}bare" in parts and len(parts[f"{_MORE}bare"]) == len(more):
                persona = replace(persona, queries=(*persona.queries, *more))
                joined = {name: rows for name, rows in own.items() if f"{_MORE}{name}" in parts}
                own |= {name: np.vstack([rows, parts[f"{_MORE}{name}"]]) for name, rows in joined.items()}
            extended.append((persona, own))
        return extended

    def __iter__(self) -> Iterator[tuple[Persona, dict[str, Matrix]]]:
        """Each persona with its part of every matrix, own queries before additional ones."""
        return iter(self._extended)


def persona_requests(
    planned: Sequence[PlannedRequest],
    examples: Sequence[ToolExample],
    rankers: Mapping[int, ToolRanker],
    embedder: str,
    *,
    progress: Progress | None = None,
) -> Iterator[CallRequest]:
    """The personas' requests with the tools found by the ranker of their fold, some also without their tools.

    `embedder` is the name under which the tool classifier knows the vectors.
    """
    by_name = {example.name: example for example in examples}
    for number, request in enumerate(planned, 1):
        example = by_name.get(request.name)
        if example is not None:
            ranker = rankers[request.fold]
            yield _searched(request, example, ranker, embedder, np.ones(len(example.index.catalog), bool))
            if crc32(request.name.encode()) % _REMOVED_SHARE == 0:
                left = _without_tools(example, with_app=crc32(request.group.encode()) % 2 == 0)
                yield _searched(request, example, ranker, embedder, left, removed=True)
        if progress:
            progress(number, len(planned))


def _searched(
    request: PlannedRequest,
    example: ToolExample,
    ranker: ToolRanker,
    embedder: str,
    visible: NDArray[np.bool_],
    *,
    removed: bool = False,
) -> CallRequest:
    hits, fits = find_tools(example.index, example.query, ranker, visible)
    inputs = replace(
        request.planning_input,
        app_probabilities=example.query.app_probabilities,
        needs_context=ranker.abstention.needs_context(example.query.vector),
        vector=RequestVector(example.query.vector, embedder),
    )
    return CallRequest(
        request.name,
        request.group,
        request.fold,
        request.kind,
        REMOVED if removed else FULL,
        request.measured,
        inputs,
        hits,
        fits,
        None if removed else request.expected.tool,
        None if removed else request.expected,
    )


def find_tools(
    index: ToolIndex, query: ToolQuery, ranker: ToolRanker, visible: NDArray[np.bool_]
) -> tuple[list[ToolHit], float]:
    """The tools for a request and the probability that any fits, as at run time."""
    ranking = learned(ToolSearch(index, query, visible, SEARCHED_TOOLS, lambda: ranker))
    hits = [ToolHit(index.catalog[position], score) for position, score in ranking.scored[:SEARCHED_TOOLS]]
    return hits, 0.0 if ranking.fits is None else ranking.fits


def _without_tools(example: ToolExample, *, with_app: bool) -> NDArray[np.bool_]:
    """The catalogue without the graded tools, those like the right one and, if asked, their application."""
    index = example.index
    best = max(example.grades.values())
    wanted = [place for place, grade in example.grades.items() if grade == best]
    gone = (index.vectors @ index.vectors[wanted].T).max(1) > _SIMILAR
    gone[list(example.grades)] = True
    if with_app:
        gone |= np.isin(index.app, index.app[wanted])
    return ~gone


def authored_requests(
    personas: Sequence[Persona],
    folds: Mapping[str, int],
    rankers: Mapping[int, ToolRanker],
    embedder: Embedder,
    *,
    progress: Progress | None = None,
) -> Iterator[CallRequest]:
    """The authored requests asked over personas' data; most are for tools that do not exist.

    No embedder was trained on them, so the bundled one is used throughout. Those with a tool are there so
    that the embedder alone does not tell requests that are served from others.
    """
    index = ToolIndex.build(Catalog(bundled_toolbox()), embedder)
    requests = plain_requests()
    everything = np.ones(len(index.catalog), bool)
    hosts = {
        fold: [persona for persona in personas if folds[persona.id] == fold][:_HOSTS] for fold in range(FOLDS)
    }
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "hosts.db") as store:
        for persona in (persona for chosen in hosts.values() for persona in chosen):
            load_persona(store, persona)
        retriever = ContextRetriever(store, embedder)
        for number, plain in enumerate(requests, 1):
            fold = number % FOLDS
            if fold in rankers and hosts[fold]:
                host = hosts[fold][number // FOLDS % len(hosts[fold])]
                yield _hosted(
                    plain, number, host, fold, retriever, index, rankers[fold], embedder, everything
                )
            if progress:
                progress(number, len(requests))


@dataclass(frozen=True, eq=False)
class EverydayRequest:
    """An everyday request with the context that the bundled models find."""

    planned: PlannedRequest
    """Its expected call has no tool if none serves it."""
    query: ToolQuery

    @property
    def served(self) -> bool:
        """Whether a bundled tool serves it."""
        return bool(self.planned.expected.tool)


def retrieve_everyday(
    personas: Sequence[Persona],
    folds: Mapping[str, int],
    embedder: Embedder,
    *,
    progress: Progress | None = None,
) -> Iterator[EverydayRequest]:
    """The everyday requests over their personas' data.

    No model was trained on these requests, but the bundled ones have seen the personas' items: no fold
    vectors exist for them.
    """
    requests = everyday_requests()
    asked = [persona for persona in personas if persona.id in requests]
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "personas.db") as store:
        for persona in asked:
            load_persona(store, persona)
        retriever = ContextRetriever(store, embedder)
        for number, persona in enumerate(asked, 1):
            for query in requests[persona.id]:
                request = persona.request(query)
                context = retriever.rank(request, _CONTEXT)
                planned = planned_request(
                    persona, query, context, folds[persona.id], measured=False, additional=True
                )
                tool_query = _tool_query(request, context, retriever, embedder)
                yield EverydayRequest(replace(planned, kind=EVERYDAY), tool_query)
            if progress:
                progress(number, len(asked))


def everyday_call_requests(
    requests: Sequence[EverydayRequest], rankers: Mapping[int, ToolRanker], embedder: Embedder
) -> Iterator[CallRequest]:
    """The everyday requests with the tools found by the ranker of their persona's fold."""
    index = ToolIndex.build(Catalog(bundled_toolbox()), embedder)
    everything = np.ones(len(index.catalog), bool)
    for request in requests:
        planned, query = request.planned, request.query
        ranker = rankers[planned.fold]
        hits, fits = find_tools(index, query, ranker, everything)
        expected = planned.expected if request.served else None
        yield CallRequest(
            planned.name,
            planned.group,
            planned.fold,
            planned.kind,
            EVERYDAY,
            False,
            replace(
                planned.planning_input,
                app_probabilities=query.app_probabilities,
                needs_context=ranker.abstention.needs_context(query.vector),
                vector=RequestVector(query.vector, embedder.name),
            ),
            hits,
            fits,
            expected.tool if expected else None,
            expected,
        )


def _tool_query(
    request: Request, context: Sequence[ItemHit], retriever: ContextRetriever, embedder: Embedder
) -> ToolQuery:
    """The tool query of a request, as at run time."""
    top = context[: QueryContext.MAX_ITEMS]
    found = retriever.tool_search_inputs(request, [hit.item.id for hit in top])
    items = QueryContext.from_hits(top, found.vectors)
    return ToolQuery(request.text, embedder.embed([request.text])[0], items, app_probabilities=found.apps)


def _hosted(
    plain: PlainRequest,
    number: int,
    host: Persona,
    fold: int,
    retriever: ContextRetriever,
    index: ToolIndex,
    ranker: ToolRanker,
    embedder: Embedder,
    visible: NDArray[np.bool_],
) -> CallRequest:
    request = replace(host.request(host.queries[number % len(host.queries)]), text=plain.text)
    context = retriever.rank(request, _CONTEXT)
    query = _tool_query(request, context, retriever, embedder)
    hits, fits = find_tools(index, query, ranker, visible)
    inputs = PlanningInput(
        request,
        host.user,
        context,
        app_probabilities=query.app_probabilities,
        needs_context=ranker.abstention.needs_context(query.vector),
        vector=RequestVector(query.vector, embedder.name),
    )
    kind = "implicit" if plain.implicit else "explicit"
    return CallRequest(f"plain/{number}", host.id, fold, kind, PLAIN, False, inputs, hits, fits, plain.api)
