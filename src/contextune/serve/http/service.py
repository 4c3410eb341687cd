"""Application logic behind the routes: one method per route, with the authenticated user and the body."""

import logging
import os
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from time import perf_counter

from contextune._internal.postgres_url import is_postgres
from contextune.answers import extract_answer
from contextune.context import needed_items
from contextune.context.current_ranker import CurrentRanker
from contextune.context.ranker import default_ranker
from contextune.embed import OnnxEmbedder, default_embedder
from contextune.embed.onnx import THREADS_VARIABLE
from contextune.errors import ContextuneError, UnknownUserError
from contextune.plan import Policy
from contextune.plan.plan_json import plan_to_json
from contextune.serve.http import inspector, requests, responses
from contextune.serve.http.errors import from_library_error, invalid_request
from contextune.serve.http.observability import ServiceMetrics, Tracer, log_event
from contextune.serve.http.settings import ServiceSettings
from contextune.store import Quota, ServiceStore, open_store
from contextune.tools import ToolRetriever, bundled_toolbox
from contextune.tools.large.open import open_tools
from contextune.tuner import Tuner
from contextune.types import Item, Progress, ToolHit, count_unread_times
from contextune.types.state_json import reply_to_json, state_to_json

# What a client can have got wrong, as `field: problem; remedy`. Messages must not quote the value.
_FIELDS = "invalid time or place; write times as 2024-05-16T19:00 and the place as text"
_PLACE = "place: unknown; use a name from GET /v1/me, or [latitude, longitude]"
_TOOL = "tool: unknown or ambiguous; use an id from POST /v1/tools"
_TOOLS = f"tools: {_TOOL.removeprefix('tool: ')}; or {_PLACE}"
_USES = "uses: unknown item or invalid time; PUT /v1/items first"
_FEEDBACK = f"used, rejected: need existing items, each in one list only, or a tool; {_TOOL}; {_PLACE}"

_OTHER_CONNECTIONS = 2
"""Connections besides those of the worker threads: for the warm-up and the health check."""


def _open_store(settings: ServiceSettings, quota: Quota) -> ServiceStore:
    """The store of a process, with a connection for each thread; no call waits longer than a request may."""
    if not is_postgres(settings.store):
        return open_store(settings.store, quota=quota)
    from contextune.store.postgres import PostgresStore

    connections = settings.threads + _OTHER_CONNECTIONS
    timeout = settings.limits.max_wait
    return PostgresStore(str(settings.store), timeout=timeout, quota=quota, max_connections=connections)


def _report_ranker(error: ContextuneError | None) -> None:
    """Log that another version of the ranker is used, or cannot be used."""
    if error:
        log_event("ranker not changed", level=logging.ERROR, error=error, reason=str(error))
    else:
        log_event("ranker changed")


class Service:
    """Store, tuner and tool catalogue of one process; thread-safe."""

    def __init__(
        self, settings: ServiceSettings, metrics: ServiceMetrics, tracer: Tracer, progress: Progress
    ) -> None:
        """`progress` is called between chunks of items that are embedded, in the thread that does it."""
        self._metrics, self._tracer, self._limits = metrics, tracer, settings.limits
        # requests already run in parallel; threads inside the embedder would compete with each other
        embedder = default_embedder() if os.environ.get(THREADS_VARIABLE) else OnnxEmbedder(threads=1)
        self._opened = ExitStack()
        limits = settings.limits
        if settings.catalog:
            self._tools = open_tools(
                self._opened,
                settings.catalog,
                embedder,
                timeout=limits.max_wait,
                max_connections=settings.threads,
            )
        else:
            self._tools = ToolRetriever(bundled_toolbox(), embedder)
        quota = Quota(limits.items, limits.uses, limits.item_bytes, limits.total_bytes, limits.feedback_bytes)
        self._store = _open_store(settings, quota)
        policy = Policy.parse(settings.policy)
        # loaded now, not during the first request
        ranker = CurrentRanker(settings.ranker, _report_ranker) if settings.ranker else default_ranker()
        self._tuner = Tuner(
            self._store,
            embedder=embedder,
            ranker=ranker,
            tools=self._tools,
            policy=policy,
            progress=progress,
            wait=settings.wait,
        )

    @property
    def store(self) -> ServiceStore:
        """The store of the users."""
        return self._store

    def drop(self, user: str, *, before: int | None = None) -> None:
        """Drop a user from memory; with `before`, only an index older than that revision of the items."""
        self._tuner.drop(user, before=before)

    def close(self) -> None:
        """Close store and catalogue."""
        self._store.close()
        self._opened.close()

    def check_reachable(self) -> None:
        """Raise if a store in PostgreSQL is known to be unreachable; asks nothing, so it needs no thread."""
        check = getattr(self._store, "check_reachable", None)
        if check:
            with self._stage("check"):
                check()

    def check(self) -> None:
        """Raise if the store is not readable."""
        with self._stage("check"), suppress(UnknownUserError):
            self._store.revision(" nobody")  # any query will do

    def prepare(self, user: str) -> None:
        """Embed new items and build the user's index."""
        with self._stage("prepare"):
            self._tuner.prepare(user)

    def context(self, user: str, body: requests.ContextBody) -> responses.ContextReply:
        """Items that a request needs, and the people that it means."""
        with self._stage("context", _PLACE):
            request = body.to_request(user)
            hits = needed_items(self._tuner.context(request, body.k))
            return {
                "context": responses.context_reply(hits, self._limits.reply_bytes, why=body.why),
                "people": responses.people_reply(self._tuner.people(request, hits)),
                "words_only": hits.words_only,
            }

    def tools(self, user: str, body: requests.ToolsBody) -> responses.ToolsReply:
        """Tools that can serve a request."""
        with self._stage("tools", _PLACE):
            matches = self._tuner.tools(body.to_request(user), body.k, context=None if body.context else [])
            return {
                "tools": responses.tools_reply(matches.hits, why=body.why),
                "fits": None if matches.fits is None else float(matches.fits),
            }

    def plan(self, user: str, body: requests.PlanBody) -> responses.PlansReply:
        """The call to make."""
        with self._stage("plan", _TOOLS):
            request = body.to_request(user)
            if body.tools:
                hits = [ToolHit(self._tools.catalog.tool(name), 1.0) for name in body.tools]
                plan = self._tuner.plan(request, hits)
                return {"plan": plan_to_json(plan) if plan else None, "reply": None, "state": None}
            answer = self._tuner.answer(request)
            return {
                "plan": plan_to_json(answer.plan) if answer.plan else None,
                "reply": reply_to_json(answer.reply),
                "state": state_to_json(answer.state),
            }

    def ask(self, user: str, body: requests.AskBody) -> responses.AnswerReply:
        """Context, tools and plan."""
        with self._stage("ask", _PLACE):
            request = body.to_request(user)
            answer = self._tuner.answer(request, body.k, max_tools=body.tools)
            steps = self._tuner.steps(request, body.k, max_tools=body.tools, answer=answer)
            for name, seconds in answer.seconds.items():
                self._metrics.record_stage(f"ask.{name}", seconds)
            several = steps is not None and len(steps) > 1
            extracted = None if several else extract_answer(answer, self._store)
            return responses.answer_reply(
                answer, steps, self._limits.reply_bytes, why=body.why, extracted=extracted
            )

    def inspect(self, user: str, body: requests.InspectBody) -> inspector.InspectReply:
        """The answer in detail, for the inspector page."""
        with self._stage("inspect", _PLACE):
            request = body.to_request(user)
            tuner = self._tuner.with_method(body.method)
            return inspector.inspect(
                tuner, request, body.k, body.tools, self._limits.reply_bytes, self._tools.catalog.tool
            )

    def feedback(self, user: str, body: requests.FeedbackBody) -> None:
        """Store feedback on a request."""
        with self._stage("feedback", _FEEDBACK):
            self._tuner.feedback(body.to_request(user), body.used, body.rejected, tool=body.tool, ok=body.ok)

    def me(self, user: str) -> responses.UserReply:
        """Profile, places, contacts and time zone of the user."""
        with self._stage("me"):
            return responses.user_reply(self._store.user(user))

    def preparation(self, user: str) -> responses.PreparationReply:
        """How many of the user's items have vectors."""
        with self._stage("preparation"):
            preparation = self._tuner.preparation(user)
            return {"ready": preparation.ready, "total": preparation.total}

    def put_me(self, user: str, body: requests.UserBody) -> None:
        """Create or replace the user."""
        with self._stage("put_me", "profile, places, contacts: contain a value that cannot be stored"):
            self._store.put_user(body.to_user(user))

    def forget(self, user: str) -> None:
        """Delete the user and all their data."""
        with self._stage("forget"):
            self._tuner.forget(user)

    def items(self, user: str, app: str | None, start: int, limit: int) -> responses.ItemsReply:
        """A page of the user's items."""
        with self._stage("items"):
            page = self._store.items_page(
                user, app=app, start=start, limit=limit, max_bytes=self._limits.reply_bytes
            )
            return {
                "items": [responses.item_reply(item) for item in page.entries],
                "total": page.total,
                "next": page.next,
            }

    def put_items(self, user: str, body: requests.ItemsBody) -> responses.PutItemsReply:
        """Add or replace items, all or none; tells which of their times cannot be read."""
        items: list[Item] = []
        for number, item_body in enumerate(body.items):
            try:
                items.append(item_body.to_item())
            except ContextuneError:
                raise invalid_request([f"items[{number}].fields: {_FIELDS}"]) from None
        with self._stage("put_items", "items: one contains a value that cannot be stored"):
            count = self._store.put_items(user, items)
        return {
            "count": count,
            "unread_times": [
                {"app": unread.app, "field": unread.field, "count": unread.count}
                for unread in count_unread_times(items)
            ],
        }

    def delete_items(self, user: str, body: requests.IdsBody) -> responses.CountReply:
        """Delete items."""
        with self._stage("delete_items"):
            return {"count": self._store.delete_items(user, body.ids)}

    def uses(self, user: str, start: int, limit: int) -> responses.UsageEventsReply:
        """A page of the user's uses."""
        with self._stage("uses"):
            page = self._store.uses_page(user, start=start, limit=limit)
            return {
                "uses": [responses.use_reply(use) for use in page.entries],
                "total": page.total,
                "next": page.next,
            }

    def put_uses(self, user: str, body: requests.UsageEventsBody) -> responses.CountReply:
        """Add uses, all or none; returns the number of new ones."""
        with self._stage("put_uses", _USES):
            uses = [use.to_usage_event() for use in body.uses]
            return {"count": self._store.put_uses(user, uses)}

    @contextmanager
    def _stage(self, name: str, where: str = "") -> Generator[None]:
        """Time a stage, and map the library's exceptions to errors without personal data."""
        start = perf_counter()
        try:
            with self._tracer.stage(name):
                yield
        except ContextuneError as error:
            raise from_library_error(error, where) from error
        finally:
            self._metrics.record_stage(name, perf_counter() - start)
