"""Tuner: request → context → tools → plan → answer."""

import asyncio
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

from contextune._internal.caches import UserCache
from contextune._internal.caches import forget as forget_cached
from contextune.context import DEFAULT_METHOD, ContextRanker, ContextRetriever, Preparation, needed_items
from contextune.context.build_scene import resolve_place
from contextune.context.ranker import RankerSource
from contextune.context.retriever import ToolSearchInputs
from contextune.corrected_calls import without_rejected, without_wrong_calls, wrong_tools
from contextune.embed import Embedder, default_embedder
from contextune.errors import ContextuneError, InvalidDataError, InvalidRequestError, PlanError
from contextune.plan import (
    READING_POLICY,
    CascadePlanner,
    LanguagePlanner,
    Planner,
    PlanningInput,
    ReadingPlanner,
    Steps,
)
from contextune.plan.complete_request import complete_request
from contextune.plan.language_model.cascade import configured_planner, light_planner, with_light_planner
from contextune.plan.multi_step.split import split_request, tool_verbs
from contextune.plan.multi_step.step_planner import CarryItems, plan_steps
from contextune.plan.people import find_people
from contextune.plan.policy import Policy, Readings, read_request
from contextune.plan.policy.doubts import doubt_readings
from contextune.plan.policy.personal_values import guard_readings
from contextune.plan.reading_planner import READ_TOOLS
from contextune.plan.spelling import private_words
from contextune.plan.turns.reading import TurnReading, next_state, read_turn
from contextune.plan.turns.replies import may_reply
from contextune.search import tokenize
from contextune.store import Store, open_store
from contextune.tools import (
    QueryGenerator,
    ToolFilter,
    ToolMatches,
    ToolQueries,
    ToolRetriever,
    bundled_toolbox,
    search_all,
)
from contextune.tools.index import ToolIndex
from contextune.tools.past_calls import confirmed_tools, load_past_calls
from contextune.tools.profiles.effects import function_words
from contextune.tools.query import PastCalls, QueryContext
from contextune.tools.reading import read_request_tools, reorder
from contextune.tools.retriever import check_min_fit
from contextune.types import (
    Answer,
    Contact,
    ContextHits,
    Feedback,
    ItemHit,
    Plan,
    Progress,
    Request,
    Tool,
    ToolHit,
    Turn,
    TurnState,
    UsageEvent,
)

_TURNS = 6
"""Turns of a conversation that are read to find what a reply is to."""


class Tuner:
    """Answers requests over the data in a store: context, tools and the call to make.

    Safe to share between threads. Nothing leaves this machine, unless you pass an embedder or a language
    model that calls a server. The methods `acontext`, `atools` and `aanswer` run in a worker thread.
    """

    def __init__(
        self,
        store: Store,
        *,
        embedder: Embedder | None = None,
        method: str = DEFAULT_METHOD,
        ranker: ContextRanker | RankerSource | None = None,
        tools: Iterable[Tool] | ToolRetriever | None = None,
        querygen: QueryGenerator | None = None,
        planner: Planner | Literal["light", "language", "cascade"] | None = None,
        policy: Policy | None = None,
        min_fit: float | None = None,
        progress: Progress | None = None,
        wait: bool = True,
    ) -> None:
        """Create a tuner over a store.

        Args:
            store: the users' items, usage events, contacts and vectors.
            embedder: text to vectors; the bundled model by default.
            method: how to rank context: reading (default; learned below 100 items), learned, situated,
                hybrid, semantic or bm25.
            ranker: replaces the bundled ranking model; or a function, which is called at each request.
            tools: the tools that can be called, or a retriever over them.
            querygen: has a language model write the search queries for tools.
            planner: replaces the default planner, which needs no language model; or, over the configured
                model, "language" to ask it for every call, "cascade" to ask it where the light plan is in
                doubt.
            policy: decides which calls are made, confirmed, asked about or refused.
            min_fit: refuse a request if no tool fits with at least this probability, and no other; without
                it, the policy decides. `contextune eval plan` prints values for your requests.
            progress: called while items are embedded for the first time.
            wait: whether the first request waits until all items are embedded; else it is answered by words,
                and `preparation` says how far embedding has come.
        """
        if querygen and tools is None:
            raise InvalidRequestError("querygen needs tools: pass tools=… as well")
        self.store = store
        context_embedder = embedder or default_embedder()
        self._retriever = ContextRetriever(
            store, context_embedder, method=method, ranker=ranker, progress=progress, wait=wait
        )
        if tools is None or isinstance(tools, ToolRetriever):
            self._tools = tools
        else:  # shares the embedder, so that a request is embedded once
            self._tools = ToolRetriever(tools, self._retriever.embedder)
        self._querygen = querygen
        self._tool_filter: ToolFilter | None = None
        if isinstance(planner, str):
            planner = configured_planner(planner, progress=progress)
        default = ReadingPlanner()
        self._light = light_planner(with_light_planner(planner or default, default, Policy()))
        """Plans without a language model."""
        self._policy = policy or (READING_POLICY if isinstance(self._light, ReadingPlanner) else Policy())
        self._planner = with_light_planner(planner or default, default, self._policy)
        self._min_fit = check_min_fit(min_fit)

    @property
    def embedder(self) -> Embedder:
        """The embedder of items and requests; retrievers that share it embed a request once."""
        return self._retriever.embedder

    @classmethod
    def from_files(
        cls,
        paths: Iterable[str | Path],
        *,
        user: str = "me",
        store: Store | str | Path | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> "Tuner":
        """Import files, folders and archives (mail, calendars, notes, …) and create a tuner over them.

        Args:
            paths: what to import; `~` is expanded. `InvalidDataError` is raised if nothing could be.
            user: whose data it is; pass the same to `Request`.
            store: a store or the path of its file; a temporary store by default, deleted with the process.
            progress: called with bytes read while importing.
            options: all other arguments of `Tuner`.

        Raises `InvalidDataError` if no file could be imported, and warns of files that need an extra.
        """
        from contextune.importers import import_into

        if store is None or isinstance(store, str | Path):
            store = open_store(store)
        files = [Path(path).expanduser() for path in paths]
        report = import_into(store, user, files, progress=progress)
        if not report.items and not report.contacts:
            reasons = "; ".join(reason.why for reason in report.skipped) or "no file of a known format"
            raise InvalidDataError(f"nothing was imported from {', '.join(map(str, files))}: {reasons}")
        for missing in report.missing_extras:
            warnings.warn(missing, stacklevel=2)
        return cls(store, **options)

    def with_method(self, method: str) -> "Tuner":
        """The same tuner with another `method` to rank context; both share store, indexes and caches."""
        other = copy(self)
        other._retriever = self._retriever.with_method(method)
        return other

    def with_tools(self, tools: ToolRetriever | None, tool_filter: ToolFilter | None = None) -> "Tuner":
        """The same tuner with other tools; with None, with those of its own that a filter accepts."""
        other = copy(self)
        other._tools, other._tool_filter = tools or self._tools, tool_filter or self._tool_filter
        return other

    def prepare(self, user: str) -> None:
        """Embed new items and build the user's index now instead of at the first request."""
        self._retriever.prepare(user)

    def preparation(self, user: str) -> Preparation:
        """How many of the user's items have been embedded."""
        return self._retriever.preparation(user)

    def record(self, user: str, *events: UsageEvent) -> None:
        """Record that the user opened, played or called items; the next request takes it into account."""
        self.store.put_uses(user, events)

    def feedback(
        self,
        request: Request,
        used: Sequence[str] = (),
        rejected: Sequence[str] = (),
        *,
        tool: str | Tool | None = None,
        ok: bool = True,
    ) -> None:
        """Record which items (by id) were right or wrong for a request, and whether the tool was right.

        Used items count as usage events, and the tool counts for similar requests. A name must be one of this
        tuner's tools; a `Tool` can be any. Feedback is stored and can be trained on
        (`contextune train ranker --from-store`).
        """
        if isinstance(tool, Tool):
            tool = tool.id
        elif tool is not None and self._tools is not None:
            tool = self._tools.catalog.tool(tool).id
        stored = {item.id for item in self.store.items(request.user, [*used, *rejected])}
        if unknown := {*used, *rejected} - stored:
            raise InvalidRequestError(f"user {request.user!r} has no item {min(unknown)!r}")
        self.store.put_feedback(request.user, Feedback(request, tuple(used), tuple(rejected), tool, ok))
        place = resolve_place(request, self.store.user(request.user))
        self.record(request.user, *(UsageEvent(item, request.time, place) for item in used))

    def forget(self, user: str) -> None:
        """Erase a user from the store, from all caches of this process, and from caches of language models.

        That includes caches on disk. Raises `UnknownUserError`, after that, if the store has no such user.
        """
        try:
            self.store.forget(user)
        finally:
            self.drop(user)

    def drop(self, user: str, *, before: int | None = None) -> None:
        """Drop a user from all caches; with `before`, only an index older than that revision of the items."""
        self._retriever.forget(user, before=before)
        if before is None:
            for part in (self._querygen, self._planner):
                if isinstance(part, UserCache):
                    part.forget(user)
            forget_cached(user)

    def context(self, request: Request, k: int | None = 10) -> ContextHits:
        """The `k` items the request most likely needs, best first; all visible items with `k=None`."""
        request, turn = self._read_turn(request)
        return self._context(self._complete(request), k, turn)

    def people(self, request: Request, context: Sequence[ItemHit] = ()) -> list[Contact]:
        """The contacts that the request means, best first, then those of the first items of `context`."""
        request = self._complete(request)
        return find_people(PlanningInput(request, self._retriever.user(request.user), context))

    def signals(self, request: Request, k: int = 10) -> dict[str, Mapping[str, float]]:
        """How much each of `signals.FAMILIES` contributed to an item of `context`; empty unless learned."""
        return self._retriever.signals(self._complete(request), k)

    def tools(
        self,
        request: Request,
        k: int = 5,
        *,
        context: Sequence[ItemHit] | None = None,
        always: Sequence[str] = (),
        filter: ToolFilter | None = None,  # noqa: A002
        retriever: ToolRetriever | None = None,
        read: bool = True,
    ) -> ToolMatches:
        """The tools that can serve the request, best first, and the probability that any of them does.

        `context` is retrieved unless passed; an empty list is none. Tools in `always` are always included.
        `retriever` has other tools to search than this tuner's. The first tools are read beside the request
        and its items, unless `read` is false, some are pinned, or a filter hides some.
        """
        tools = retriever or self._tools
        if tools is None:
            raise InvalidRequestError("this tuner has no tools: pass Tuner(store, tools=…)")
        request = self._complete(request)
        hits = self.context(request, QueryContext.MAX_ITEMS) if context is None else context
        queries = self._queries(request)
        inputs = self._tool_search_inputs(request, hits)
        if not read or k < 1 or always or filter or not isinstance(self._light, ReadingPlanner):
            return self._search_tools(tools, request, queries, k, hits, inputs, always, filter)
        depth = max(k, READ_TOOLS)
        matches = self._search_tools(tools, request, queries, depth, hits, inputs)
        matches = self._read_tools(tools, request, matches, hits, inputs)
        return replace(matches, hits=matches.hits[:k])

    def plan(
        self, request: Request, tools: Sequence[ToolHit], *, context: Sequence[ItemHit] | None = None
    ) -> Plan | None:
        """The call to make with one of the tools; each argument names its sources.

        `context` is retrieved unless passed; pass an empty list to plan without.
        """
        hits = self.context(request) if context is None else context
        planning_input = self._planning_input(self._complete(request), hits)
        readings = read_request(self._planner, planning_input, tools)
        return self._decide(readings, tools, planning_input, request.text)

    def answer(self, request: Request, k: int | None = 10, *, max_tools: int = 5) -> Answer:
        """The best `k` items, the best `max_tools` tools, and the call to make."""
        start = perf_counter()
        asked = request
        if request.history or request.state:
            request = self._in_conversation(request)
        before = request.state
        request, turn = self._read_turn(request)
        if turn and turn.reply:
            return self._reply(asked, before, turn)
        request = self._complete(request)
        context = self._context(request, k, turn)
        seconds = {"context": perf_counter() - start}
        if self._tools is None:
            people = tuple(self.people(request, needed_items(context)))
            state = next_state(before, request.text, None, context, turn)
            return Answer(
                asked,
                tuple(context),
                seconds=seconds,
                words_only=context.words_only,
                people=people,
                state=state,
            )
        start = perf_counter()
        queries = self._queries(request)
        if self._querygen:
            seconds["queries"] = perf_counter() - start
            start = perf_counter()
        # an invalid number is passed on, to be refused
        searched = max(max_tools, self._searched_tools()) if max_tools > 0 else max_tools
        inputs = self._tool_search_inputs(request, context)
        matches = self._search_tools(self._tools, request, queries, searched, context, inputs)
        if isinstance(self._light, ReadingPlanner):
            matches = self._read_tools(self._tools, request, matches, context, inputs)
        seconds["tools"] = perf_counter() - start
        start = perf_counter()
        planning_input = self._planning_input(request, context, inputs)
        readings = read_request(self._planner, planning_input, matches.hits, matches.fits)
        if self._min_fit is not None and matches.fits is not None:
            readings = replace(readings, refused=matches.none_fits)
        unknown_words = self._not_known(matches.unknown_words, planning_input)
        readings = replace(readings, unknown_words=unknown_words)
        plan = self._decide(readings, matches.hits, planning_input, asked.text)
        seconds["plan"] = perf_counter() - start
        return Answer(
            asked,
            tuple(context),
            matches.first(max_tools, keep=plan.tool if plan else None),
            plan,
            seconds=seconds,
            fits=matches.fits,
            queries=queries.generated,
            words_only=context.words_only,
            unknown_words=unknown_words,
            people=tuple(self.people(request, needed_items(context))),
            state=next_state(before, request.text, plan, context, turn),
        )

    def steps(
        self, request: Request, k: int | None = 10, *, max_tools: int = 5, answer: Answer | None = None
    ) -> Steps | None:
        """The calls to make in order; a single one if the request asks for one thing.

        A request is split where both parts are instructions that a tool can serve. A value that comes from
        the result of an earlier step is a `Pointer`. Pass `answer` to reuse an answer to the request.
        """
        if self._tools is None:
            raise InvalidRequestError("this tuner has no tools: pass Tuner(store, tools=…)")
        answer = answer or self.answer(request, k, max_tools=max_tools)
        if answer.reply:
            return Steps((answer.plan,), (request.text,)) if answer.plan else None
        if self._min_fit is not None and answer.plan and answer.plan.decision == "none":
            return Steps((answer.plan,), (request.text,))
        request = replace(self._complete(request), state=None)
        names = [hit.item.title for hit in answer.context]
        tools = list(self._small_catalog()) or [hit.tool for hit in answer.tools]
        parts = split_request(request.text, verbs=tool_verbs(tools), names=names)

        def retrieve(part: Request, carry_items: CarryItems) -> tuple[PlanningInput, ToolMatches]:
            context = carry_items(self.context(part, k))
            matches = self.tools(part, max(max_tools, self._searched_tools()), context=context)
            return self._planning_input(part, context), matches

        find_tool = self._tools.catalog.tool
        if len(parts) > 1:
            steps = plan_steps(request, parts, retrieve, self._planner, self._policy, find_tool)
            if steps is not None:
                return steps
        return Steps((answer.plan,), (request.text,)) if answer.plan else None

    async def acontext(self, request: Request, k: int | None = 10) -> ContextHits:
        """`context` in a worker thread."""
        return await asyncio.to_thread(self.context, request, k)

    async def atools(self, request: Request, k: int = 5, **options: Any) -> ToolMatches:
        """`tools` in a worker thread."""
        return await asyncio.to_thread(self.tools, request, k, **options)

    async def aanswer(self, request: Request, k: int | None = 10, *, max_tools: int = 5) -> Answer:
        """`answer` in a worker thread."""
        return await asyncio.to_thread(self.answer, request, k, max_tools=max_tools)

    def _in_conversation(self, request: Request) -> Request:
        """The request with what earlier turns have left, and with a history of at least the last request.

        Without a state, the user's last turn is planned again if the request may be a reply to it.
        """
        state, history = request.state, request.history[-_TURNS:]
        if state is None and history and may_reply(request.text, history):
            last = max((n for n, turn in enumerate(history) if turn.speaker == "user"), default=None)
            if last is not None and history[last].text.strip():
                earlier = replace(request, text=history[last].text, history=history[:last])
                state = self.answer(earlier).state
        if state is not None and state.text and not request.history:
            request = replace(request, history=(Turn("user", state.text),))
        return replace(request, state=state)

    def _read_turn(self, request: Request) -> tuple[Request, TurnReading | None]:
        """The request to plan, and what it says to the turns before it."""
        if request.state is None:
            return request, None
        user = self._retriever.user(request.user)
        turn = read_turn(
            request,
            user,
            lambda ids: self._retriever.visible_items(request, ids),
            self._find_tool,
            tool_verbs([*bundled_toolbox(), *self._small_catalog()]),
        )
        return replace(request, text=turn.text if turn and turn.text else request.text, state=None), turn

    def _find_tool(self, name: str) -> Tool | None:
        """A tool that may be used, by its id; None if there is none."""
        try:
            tool = self._tools.catalog.tool(name) if self._tools else None
        except ContextuneError:
            return None
        return tool if tool and (self._tool_filter is None or self._tool_filter(tool)) else None

    def _small_catalog(self) -> Iterable[Tool]:
        """The tools, unless they are very many: nearly every word begins the name of some tool then."""
        return self._tools.catalog if self._tools and isinstance(self._tools.index, ToolIndex) else ()

    def _reply(self, asked: Request, before: TurnState | None, turn: TurnReading) -> Answer:
        """The answer to a reply: the call that it leads to, with the items that its values are from."""
        plan = turn.plan
        sources = [
            source.item for each in (plan.arguments.values() if plan else ()) for source in each.sources
        ]
        items = self._retriever.visible_items(asked, list(dict.fromkeys(item for item in sources if item)))
        tool = self._find_tool(plan.tool) if plan else None
        return Answer(
            asked,
            tuple(ItemHit(item, 1.0, ("the call takes a value from it",), 1.0) for item in items),
            (ToolHit(tool, 1.0),) if tool else (),
            plan,
            reply=turn.reply,
            state=next_state(before, "", plan, (), turn),
        )

    def _context(self, request: Request, k: int | None, turn: TurnReading | None) -> ContextHits:
        """The items for a request; only the one that was shown before, if that is what it means."""
        hits = self._retriever.rank(request, k)
        referent = turn.referent if turn else None
        if referent is None or referent.item is None:
            return hits
        best = ItemHit(referent.item, hits[0].score if hits else 1.0, (referent.reason,), 1.0)
        return ContextHits([best], words_only=hits.words_only)

    def _complete(self, request: Request) -> Request:
        return complete_request(request, self._retriever.user, self._words_of)

    def _words_of(self, user: str) -> Callable[[str], bool]:
        """Says whether the items of a user or the tools have a word; items are loaded when it is asked."""
        items = cache(lambda: self._retriever.words(user))
        return lambda word: items()(word) or (self._tools is not None and self._tools.knows_word(word))

    def _planning_input(
        self, request: Request, context: Sequence[ItemHit], inputs: ToolSearchInputs | None = None
    ) -> PlanningInput:
        """What planners read; `inputs` are those of the search for tools, if there was one."""
        user = inputs.user if inputs else self._retriever.user(request.user)
        context = without_rejected(context, self._retriever.judgements(request))
        return PlanningInput(request, user, context)

    def _shares_embedder(self, tools: ToolRetriever) -> bool:
        """Whether vectors of tools and items can be compared."""
        return tools.embedder.name == self.embedder.name

    def _searched_tools(self) -> int:
        """How many tools the planner wants to choose from; 0 if it takes what there is."""
        known = ReadingPlanner | LanguagePlanner | CascadePlanner
        return self._planner.searched_tools if isinstance(self._planner, known) else 0  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]

    def _read_tools(
        self,
        tools: ToolRetriever,
        request: Request,
        matches: ToolMatches,
        context: Sequence[ItemHit],
        inputs: ToolSearchInputs,
    ) -> ToolMatches:
        """The matches in the order of the reading model, with tools that the search put far behind."""
        items = [hit.item for hit in context]
        place = resolve_place(request, inputs.user)
        matches = self._with_confirmed(tools, request, matches, inputs)
        read = read_request_tools(
            tools,
            matches,
            request,
            inputs.user,
            place,
            items,
            inputs.vectors if self._shares_embedder(tools) else inputs.vectors[:0],
            item_share=context[0].probability if context else None,
            visible=self._tool_filter,
        )
        return reorder(matches, read)

    def _with_confirmed(
        self, tools: ToolRetriever, request: Request, matches: ToolMatches, inputs: ToolSearchInputs
    ) -> ToolMatches:
        """The matches with the tools first that were right when nearly the same was asked."""
        past = self._past_calls(tools, request, inputs)
        if past is None:
            return matches
        private = private_words(tokenize(request.text), self._words_of(request.user))
        right = tools.catalog.at(confirmed_tools(past, tools.embedder.embed([request.text])[0], private))
        ids = [tool.id for tool in right if not self._tool_filter or self._tool_filter(tool)]
        known = {hit.tool.id: hit for hit in matches.hits}
        best = max((hit.score for hit in matches.hits), default=0.0)
        first = [known.get(tool.id) or ToolHit(tool, best) for tool in right if tool.id in ids]
        rest = [hit for hit in matches.hits if hit.tool.id not in ids]
        return replace(matches, hits=(*first, *rest), named=(*matches.named, *ids))

    def _past_calls(
        self, tools: ToolRetriever, request: Request, inputs: ToolSearchInputs
    ) -> PastCalls | None:
        user = inputs.user
        return load_past_calls(self.store, user.id, tools.index, tools.embedder, request.time, user.zone)

    def _not_known(self, words: Sequence[str], inputs: PlanningInput) -> tuple[str, ...]:
        """Those of the words that no item and no contact has either, that are no times and not grammar."""
        knows = self._retriever.words(inputs.request.user)
        said = {word for phrase in inputs.time_phrases for word in tokenize(phrase.text)} | function_words()
        return tuple(
            word for word in words if not any(token in said or knows(token) for token in tokenize(word))
        )

    def _decide(
        self, readings: Readings, hits: Sequence[ToolHit], inputs: PlanningInput, text: str
    ) -> Plan | None:
        """The best reading with the decision of the policy; planners may name tools by id or name.

        `text` is the request as the user wrote it.
        """
        tools = {hit.tool.name: hit.tool for hit in hits} | {hit.tool.id: hit.tool for hit in hits}

        def find_tool(name: str) -> Tool:
            if name not in tools:
                raise PlanError(f"the planner chose {name!r}, which is not among the tools it was given")
            return tools[name]

        wrong = wrong_tools(inputs.request, self.store.feedback(inputs.request.user))
        readings = without_wrong_calls(readings, wrong)
        guarded = guard_readings(readings, inputs, find_tool, self._policy.trusted)
        return self._policy.decide(doubt_readings(guarded, inputs, find_tool, text), find_tool)

    def _queries(self, request: Request) -> ToolQueries:
        """The search queries for tools: the request and, with a language model, what it writes."""
        if self._querygen is None:
            return ToolQueries(request.text, (), (request.text,))
        self.store.user(request.user)  # raises for an unknown user before the model is called
        return self._querygen.queries(request.text, request.user)

    def _tool_search_inputs(self, request: Request, context: Sequence[ItemHit]) -> ToolSearchInputs:
        ids = [hit.item.id for hit in context[: QueryContext.MAX_ITEMS]]
        return self._retriever.tool_search_inputs(request, ids)

    def _search_tools(
        self,
        tools: ToolRetriever,
        request: Request,
        queries: ToolQueries,
        k: int,
        context: Sequence[ItemHit],
        inputs: ToolSearchInputs,
        always: Sequence[str] = (),
        filter: ToolFilter | None = None,  # noqa: A002
    ) -> ToolMatches:
        hits = context[: QueryContext.MAX_ITEMS]
        matches = search_all(
            tools,
            queries,
            k,
            context=QueryContext.from_hits(hits, inputs.vectors)
            if hits and self._shares_embedder(tools)
            else hits,
            past_calls=self._past_calls(tools, request, inputs),
            app_probabilities=inputs.apps,
            always=always,
            filter=filter or self._tool_filter,
        )
        return matches if self._min_fit is None else replace(matches, min_fit=self._min_fit)
