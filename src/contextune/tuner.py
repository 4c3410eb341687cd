"""The way of a request, from top to bottom: utterance → context → tools → plan → answer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter

from contextune._internal.caches import ForgetsUsers
from contextune._internal.caches import forget as forget_words
from contextune.context import DEFAULT, ContextRanker, ContextRetriever
from contextune.context.build_scene import named_place
from contextune.embed import Embedder, default_embedder
from contextune.errors import InvalidRequestError, PlanError
from contextune.plan import Planner, PlanningInput, PointerPlanner, Steps, check_steps
from contextune.plan.multi_step.anaphora import NOTHING, anaphora
from contextune.plan.multi_step.link import (
    PlannedStep,
    carry_items,
    fill_addressee,
    link_arguments,
    prefer_capable_tool,
)
from contextune.plan.multi_step.split import split_request, verbs_of
from contextune.store import Store
from contextune.tools import QueryGenerator, ToolFilter, ToolMatches, ToolQueries, ToolRetriever, search_all
from contextune.tools.past_calls import past_of
from contextune.tools.query import QueryContext
from contextune.types import (
    Answer,
    Feedback,
    ItemHit,
    Plan,
    Progress,
    Request,
    Tool,
    ToolHit,
    Turn,
    UsageEvent,
)

SERVED = 0.45
"""A part of a request is one of its own where it is at least this probable that a tool serves it."""


class Tuner:
    """Completes requests over the data in a store.

    Safe to share between threads. Everything happens on this machine unless the
    embedder or the language model given is one that asks a server.
    """

    def __init__(
        self,
        store: Store,
        *,
        embedder: Embedder | None = None,
        method: str = DEFAULT,
        ranker: ContextRanker | None = None,
        tools: Iterable[Tool] | ToolRetriever | None = None,
        querygen: QueryGenerator | None = None,
        planner: Planner | None = None,
        progress: Progress | None = None,
    ) -> None:
        """`method` names a way to rank context; `ranker` stands in for the learned one in the package.

        `tools` is what can be called: a catalogue, or a retriever over one; with `querygen` a language model
        writes what they are searched for with. `planner` stands in for the one that needs no language model.
        `progress` hears of items embedded for the first time.
        """
        if querygen and tools is None:
            raise InvalidRequestError("querygen searches for tools, and there are none: pass tools=… as well")
        self.store = store
        chosen = embedder or default_embedder()
        self._retriever = ContextRetriever(store, chosen, method=method, ranker=ranker, progress=progress)
        if tools is None or isinstance(tools, ToolRetriever):
            self._tools = tools
        else:  # what is said is embedded once for both
            self._tools = ToolRetriever(tools, self._retriever.embedder)
        self._querygen = querygen
        self._planner = planner or PointerPlanner()
        # vectors of another embedder cannot be compared with those of the items
        self._shared = self._tools is not None and self._tools.embedder.name == chosen.name

    def prepare(self, user: str) -> None:
        """Embed what is new and build the user's index now, not at their first request."""
        self._retriever.prepare(user)

    def record(self, user: str, *uses: UsageEvent) -> None:
        """Tell of uses: the user played, opened or called something. The next request knows."""
        self.store.put_uses(user, uses)

    def feedback(
        self,
        request: Request,
        used: Sequence[str] = (),
        rejected: Sequence[str] = (),
        *,
        tool: str | None = None,
        ok: bool = True,
    ) -> None:
        """Tell which items, by id, a request did hang on, and which not; and how the tool called did.

        It is kept to train on (`contextune train ranker --from-store`), what was used counts as used, and
        the next request like this one knows which tool was right.
        """
        if tool is not None and self._tools is not None:
            tool = self._tools.catalog.tool(tool).id
        known = {item.id for item in self.store.items(request.user, [*used, *rejected])}
        if unknown := {*used, *rejected} - known:
            raise InvalidRequestError(f"user {request.user!r} has no item {min(unknown)!r}")
        self.store.put_feedback(request.user, Feedback(request, tuple(used), tuple(rejected), tool, ok))
        place = named_place(request, self.store.user(request.user))
        self.record(request.user, *(UsageEvent(item, request.time, place) for item in used))

    def forget(self, user: str) -> None:
        """Erase the user from the store and from the memory of this process, down to what they said last.

        Also what language models answered them, in memory and in folders, wherever it is remembered: by a
        `QueryGenerator`, a `ChainOfThought`, a `CachedChat`. Somebody the store does not know is an error,
        and forgotten all the same: another process may have erased them there.
        """
        try:
            self.store.forget(user)
        finally:
            self._retriever.forget(user)
            for part in (self._querygen, self._planner):
                if isinstance(part, ForgetsUsers):
                    part.forget(user)
            forget_words(user)

    def context(self, request: Request, k: int | None = 10) -> list[ItemHit]:
        """The items the request hangs on, best first: the best `k`, or with None all it may see."""
        return self._retriever.rank(request, k)

    def signals(self, request: Request, k: int = 10) -> dict[str, Mapping[str, float]]:
        """For what `context` gives, by id, how much each family of signals raised it over what is typical.

        `contextune.context.signals.FAMILIES` describes them. Empty for methods that are not learned.
        """
        return self._retriever.signals(request, k)

    def tools(
        self,
        request: Request,
        k: int = 5,
        *,
        context: Sequence[ItemHit] | None = None,
        always: Sequence[str] = (),
        only: ToolFilter | None = None,
    ) -> ToolMatches:
        """The tools that can serve the request, best first, and how probable it is that any does.

        `context` is found first where it is not given; pass an empty list to do without. `always` names
        tools offered in any case.
        """
        if self._tools is None:
            raise InvalidRequestError("there are no tools to choose from: pass Tuner(store, tools=…)")
        hits = self.context(request, QueryContext.MOST) if context is None else context
        return self._search_tools(self._tools, request, self._queries(request), k, hits, always, only)

    def plan(
        self, request: Request, tools: Sequence[ToolHit], *, context: Sequence[ItemHit] | None = None
    ) -> Plan | None:
        """The call to make with the first of the tools, each argument pointing at where it comes from.

        `context` is found first where it is not given; pass an empty list to do without.
        """
        hits = self.context(request) if context is None else context
        return self._planner.plan(PlanningInput(request, self.store.user(request.user), hits), tools)

    def answer(self, request: Request, k: int | None = 10, *, max_tools: int = 5) -> Answer:
        """All there is to say: the best `k` items, the best `max_tools` tools, and the call to make."""
        start = perf_counter()
        context = self.context(request, k)
        seconds = {"context": perf_counter() - start}
        if self._tools is None:
            return Answer(request, context=tuple(context), seconds=seconds)
        start = perf_counter()
        queries = self._queries(request)
        if self._querygen:
            seconds["queries"] = perf_counter() - start
            start = perf_counter()
        found = self._search_tools(self._tools, request, queries, max_tools, context)
        seconds["tools"] = perf_counter() - start
        start = perf_counter()
        situation = PlanningInput(request, self._retriever.user(request.user), context)
        plan = self._planner.plan(situation, found.hits, found.fits)
        seconds["plan"] = perf_counter() - start
        return Answer(
            request,
            tuple(context),
            found.hits,
            plan,
            seconds=seconds,
            fits=found.fits,
            queries=queries.generated,
        )

    def steps(
        self, request: Request, k: int | None = 10, *, max_tools: int = 5, answer: Answer | None = None
    ) -> Steps | None:
        """The calls to make one after the other; one, as in `answer`, where the request asks for one thing.

        A request divides where both sides are orders of their own and a tool serves each. What a later
        step takes from an earlier one that has not run yet is a `Pointer` at its result. `answer` is the
        answer to the request, where there is one already.
        """
        if self._tools is None:
            raise InvalidRequestError("there are no tools to choose from: pass Tuner(store, tools=…)")
        answer = answer or self.answer(request, k, max_tools=max_tools)
        names = [hit.item.title for hit in answer.context]
        parts = split_request(request.text, verbs=verbs_of(self._tools.catalog), names=names)
        planned = self._divided(self._tools, request, parts, k, max_tools) if len(parts) > 1 else None
        if planned is not None:
            return planned
        return Steps((answer.plan,), (request.text,)) if answer.plan else None

    def _divided(
        self, tools: ToolRetriever, request: Request, parts: Sequence[str], k: int | None, most: int
    ) -> Steps | None:
        """A step for each part, or None where one of them is no request that a tool serves."""
        user = self._retriever.user(request.user)
        planned: list[PlannedStep] = []
        for place, part in enumerate(parts):
            before = (Turn("user", one) for one in parts[:place])
            asked = replace(request, text=part, history=(*request.history, *before))
            back = anaphora(part) if planned else NOTHING
            context = carry_items(self.context(asked, k), planned, back)
            found = self.tools(asked, most, context=context)
            if found.fits is not None and found.fits < SERVED:
                return None
            hits = prefer_capable_tool(found.hits, part, planned, back)
            situation = PlanningInput(asked, user, context)
            plan = self._planner.plan(situation, hits, found.fits)
            if plan is None:
                return None
            tool = tools.catalog.tool(plan.tool)
            plan = link_arguments(
                fill_addressee(plan, tool, situation), tool, back, planned, situation.people
            )
            if any((plan.tool, plan.args) == (one.plan.tool, one.plan.args) for one in planned):
                return None  # "open the mail and read it to me" asks for one thing twice
            planned.append(PlannedStep(plan, tool, situation.items))
        steps = Steps(tuple(one.plan for one in planned), tuple(parts))
        try:
            return check_steps(steps, tools.catalog.tool)
        except PlanError:  # what a schema says of arguments together may rule out what one points back at
            return None

    def _queries(self, request: Request) -> ToolQueries:
        """What to search for tools with: what is said and, where there is a model, what it makes of it."""
        if self._querygen is None:
            return ToolQueries(request.text, (), (request.text,))
        self.store.user(request.user)  # nothing is asked, and nothing remembered, for somebody unknown
        return self._querygen.queries(request.text, request.user)

    def _search_tools(
        self,
        tools: ToolRetriever,
        request: Request,
        queries: ToolQueries,
        k: int,
        context: Sequence[ItemHit],
        always: Sequence[str] = (),
        only: ToolFilter | None = None,
    ) -> ToolMatches:
        hits = context[: QueryContext.MOST]
        around = self._retriever.around(request, [hit.item.id for hit in hits])
        user = self._retriever.user(request.user)
        return search_all(
            tools,
            queries,
            k,
            context=QueryContext.of([hit.item for hit in hits], [hit.score for hit in hits], around.vectors)
            if hits and self._shared
            else hits,
            past=past_of(self.store, user.id, tools.index, tools.embedder, request.time, user.zone),
            apps=around.apps,
            always=always,
            only=only,
        )
