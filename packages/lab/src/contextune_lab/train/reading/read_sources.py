"""Read the requests of a source with the reading model, stage by stage: items, tools, calls.

Each stage takes the rankers of the stage before, which must not have seen the source.
"""

# arrays and tensors of untyped libraries
# pyright: basic, reportArgumentType=false, reportDeprecated=false

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from contextune.context.build_scene import resolve_place
from contextune.context.reading import READ_ITEMS, close_matrix, read_scores
from contextune.context.retriever import ContextRetriever
from contextune.embed import CachedEmbedder, default_embedder
from contextune.evaluate.outcomes import Judge, JudgedCall
from contextune.plan import PlanningInput
from contextune.plan.complete_request import complete_request
from contextune.plan.reading_planner import READ_TOOLS, ReadingPlanner
from contextune.rank import Ranker
from contextune.reading.model import ReadingModel
from contextune.tools import ToolMatches, ToolRetriever
from contextune.tools.query import QueryContext
from contextune.tools.reading import ReadTools, ToolReadingRankers, read_request_tools, reorder
from contextune.tuner import Tuner
from contextune.types import Item, ItemHit
from contextune_lab.train.reading.rows_values import ValueRow, value_rows
from contextune_lab.train.reading.scenes import ranked_requests
from contextune_lab.train.reading.sources import RequestSource, SourceRequest

_SEARCHED_TOOLS = max(20, READ_TOOLS)
Matrix = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class ReadItemRow:
    """The items of a request that were read: features and grades, in the order of the first ranker."""

    id: str
    items: Sequence[str]
    matrix: Matrix
    grades: NDArray[np.int64]
    needed: int
    """Number of items that the request needs."""


@dataclass(frozen=True, eq=False)
class ReadToolRow:
    """The tools of a request that were read, and those that serve it."""

    id: str
    matches: ToolMatches
    read: ReadTools
    right: frozenset[str]

    @property
    def grades(self) -> NDArray[np.int64]:
        """1 for each tool that serves."""
        return np.array([int(hit.tool.id in self.right) for hit in self.read.hits], np.int64)


@dataclass(frozen=True, eq=False)
class ReadCallRow:
    """The calls of a request that were filled, and whether each is right."""

    id: str
    features: Matrix
    right: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ItemRankers:
    """The ranker of items that were read, and the one that says whether an item is needed."""

    close: Ranker
    needed: Ranker

    def hits(self, row: ReadItemRow, items: Mapping[str, Item]) -> list[ItemHit]:
        """The items of a row in their order, as the tuner would return them."""
        order = np.argsort(-self.close.score(row.matrix), kind="stable").tolist()
        shares = self.needed.score(row.matrix)
        found = ((items[row.items[number]], float(shares[number])) for number in order)
        return [ItemHit(item, -float(rank), (), share) for rank, (item, share) in enumerate(found)]


def read_source_items(source: RequestSource, wide: Ranker, model: ReadingModel) -> Iterator[ReadItemRow]:
    """Read the best items of each request."""
    for ranked in ranked_requests(source):
        scores, order = ranked.order(wide)
        best = order[:READ_ITEMS]
        request, scene = ranked.labels.request, ranked.ranked
        read = read_scores(request, ranked.state, scene, best.tolist(), model)
        yield ReadItemRow(
            ranked.labels.id,
            [scene.scene.items[number].id for number in best.tolist()],
            close_matrix(request, scene, scores, best, read),
            ranked.grades[best],
            len(ranked.labels.needs),
        )


class SourceReader:
    """Reads tools and calls for the requests of a source, with the items that rankers chose."""

    def __init__(self, source: RequestSource, rankers: ItemRankers, model: ReadingModel) -> None:
        self._source, self._rankers, self._model = source, rankers, model
        self._embedder = embedder = CachedEmbedder(default_embedder())
        self._searched = ToolRetriever(source.tools, embedder)
        self._tuner = Tuner(source.store, tools=self._searched, embedder=embedder)
        self._retriever = ContextRetriever(source.store, embedder)
        self._items = {item.id: item for item in source.store.items(source.user)}
        self._by_id = {request.id: request for request in source.requests}

    def tools(self, rows: Sequence[ReadItemRow]) -> Iterator[ReadToolRow]:
        """Read the likely tools of each request."""
        for row in rows:
            labels = self._by_id[row.id]
            hits = self._rankers.hits(row, self._items)
            request = complete_request(labels.request, self._retriever.user)
            matches = self._tuner.tools(labels.request, _SEARCHED_TOOLS, context=hits, read=False)
            ids = [hit.item.id for hit in hits[: QueryContext.MAX_ITEMS]]
            inputs = self._retriever.tool_search_inputs(request, ids)
            place = resolve_place(request, inputs.user)
            items = [hit.item for hit in hits]
            read = read_request_tools(
                self._searched,
                matches,
                request,
                inputs.user,
                place,
                items,
                inputs.vectors,
                self._model,
                item_share=hits[0].probability if hits else None,
            )
            yield ReadToolRow(row.id, matches, read, labels.tools)

    def values(self, rows: Sequence[ReadItemRow]) -> Iterator[ValueRow]:
        """The options of the arguments of right calls."""
        by_id = {tool.id: tool for tool in self._source.tools}
        for row in rows:
            labels = self._by_id[row.id]
            inputs = self._inputs(labels, self._rankers.hits(row, self._items))
            yield from value_rows(labels, inputs, by_id, self._model, self._judge, self._embedder)

    def calls(
        self,
        rows: Sequence[ReadItemRow],
        tools: Sequence[ReadToolRow],
        rankers: ToolReadingRankers,
        values: Ranker,
    ) -> Iterator[ReadCallRow]:
        """Fill the calls of the likeliest tools of each request; `values` chooses the arguments."""
        planner = ReadingPlanner(model=self._model, values=values, embedder=self._embedder)
        for row, read in zip(rows, tools, strict=True):
            labels = self._by_id[row.id]
            matches = reorder(read.matches, read.read, rankers)
            inputs = self._inputs(labels, self._rankers.hits(row, self._items))
            calls, features = planner.read(inputs, matches.hits, matches.fits)
            plans = [(call.plan(0.5), call.missing) for call in calls]
            right = [
                not missing and is_right(labels, self._judge, JudgedCall.of(plan)) for plan, missing in plans
            ]
            yield ReadCallRow(row.id, features, np.array(right, np.int64))

    @cached_property
    def _judge(self) -> Judge:
        user = self._retriever.user(self._source.user)
        return Judge.of_contacts({tool.id: tool.parameters for tool in self._source.tools}, user.contacts)

    def _inputs(self, labels: SourceRequest, hits: Sequence[ItemHit]) -> PlanningInput:
        request = complete_request(labels.request, self._retriever.user)
        return PlanningInput(request, self._retriever.user(self._source.user), hits)


def is_right(labels: SourceRequest, judge: Judge, call: JudgedCall) -> bool:
    """Whether a call is one of the right ones."""
    return any(judge.same_call(expected, call, labels.free) for expected in labels.calls)
