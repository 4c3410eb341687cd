"""What the service does for a user, told by forms: each call names the user whose token was shown, once."""

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from time import perf_counter

from contextune.context.ranker import default_ranker
from contextune.embed import OnnxEmbedder, default_embedder
from contextune.embed.onnx import THREADS
from contextune.errors import ContextuneError, InvalidDataError, UnknownUserError
from contextune.serve.http import inspector, requests, responses
from contextune.serve.http.errors import invalid, refusal_of
from contextune.serve.http.metrics import ServiceMetrics
from contextune.serve.http.settings import ServiceSettings
from contextune.serve.http.tracing import Tracer
from contextune.store import SQLiteStore
from contextune.tools import ToolRetriever, bundled_toolbox
from contextune.tools.catalog_file import CatalogFile
from contextune.tuner import Tuner
from contextune.types import Item, ToolHit

_FIELDS = "a time cannot be read, or the place is no text; write times as 2024-05-16T19:00"
_PLACE = "place: is none of your places; GET /v1/me names them, or give latitude and longitude"
_TOOL = "tool: is none of the catalogue, or the name of several; give an id that /v1/tools gave"
_TOOLS = f"tools: {_TOOL.removeprefix('tool: ')}; or {_PLACE}"
_USES = "uses: one is of an item that you do not have, or of no time; PUT /v1/items first"
_FEEDBACK = f"used, rejected: name items that you have, each in one of them, or a tool; {_TOOL}; {_PLACE}"


class Service:
    """A store, a tuner over it and a catalogue of tools, for many threads."""

    def __init__(self, settings: ServiceSettings, metrics: ServiceMetrics, spans: Tracer) -> None:
        self._metrics, self._spans, self._limits = metrics, spans, settings.limits
        # each request has a thread of ours already; more inside of it would only be in each other's way
        embedder = default_embedder() if os.environ.get(THREADS) else OnnxEmbedder(threads=1)
        self._shelf = CatalogFile(settings.catalog) if settings.catalog else None
        catalog = self._shelf.catalog() if self._shelf else bundled_toolbox()
        if not catalog:
            raise InvalidDataError(
                f"the catalogue {str(settings.catalog)!r} is empty: contextune tools add …"
            )
        self._tools = ToolRetriever(catalog, embedder, shelf=self._shelf)
        self._store = SQLiteStore(settings.store)
        self._tuner = Tuner(self._store, embedder=embedder, tools=self._tools)
        default_ranker()  # or the first to ask would wait for it

    def close(self) -> None:
        """Let go of the files."""
        self._store.close()
        if self._shelf:
            self._shelf.close()

    def check(self) -> None:
        """Refuse if the store cannot be read."""
        with self._doing("check"), suppress(UnknownUserError):
            self._store.revision(" nobody")

    def prepare(self, user: str) -> None:
        """Embed what is new and build the user's index."""
        with self._doing("prepare"):
            self._tuner.prepare(user)

    def context(self, user: str, form: requests.ContextBody) -> responses.ContextReply:
        """The items a request hangs on."""
        with self._doing("context", _PLACE):
            hits = self._tuner.context(form.request(user), form.k)
            return {"context": responses.context_reply(hits, why=form.why)}

    def tools(self, user: str, form: requests.ToolsBody) -> responses.ToolsReply:
        """The tools that can serve a request."""
        with self._doing("tools", _PLACE):
            found = self._tuner.tools(form.request(user), form.k, context=None if form.context else [])
            return {
                "tools": responses.tools_reply(found.hits, why=form.why),
                "fits": None if found.fits is None else float(found.fits),
            }

    def plan(self, user: str, form: requests.PlanBody) -> responses.PlansReply:
        """The call to make."""
        with self._doing("plan", _TOOLS):
            request = form.request(user)
            if form.tools:
                found = [ToolHit(self._tools.catalog.tool(name), 1.0) for name in form.tools]
                plan = self._tuner.plan(request, found)
            else:
                plan = self._tuner.answer(request).plan
            return {"plan": responses.plan_reply(plan) if plan else None}

    def ask(self, user: str, form: requests.AskBody) -> responses.AnswerReply:
        """All there is to say to a request."""
        with self._doing("ask", _PLACE):
            request = form.request(user)
            answer = self._tuner.answer(request, form.k, max_tools=form.tools)
            steps = self._tuner.steps(request, form.k, max_tools=form.tools, answer=answer)
            for name, seconds in answer.seconds.items():
                self._metrics.stage(f"ask.{name}", seconds)
            return responses.answer_reply(answer, steps, why=form.why)

    def inspect(self, user: str, form: requests.InspectBody) -> inspector.InspectReply:
        """A request taken apart, for the page that shows it."""
        with self._doing("inspect", _PLACE):
            return inspector.inspect(self._tuner, form.request(user), form.k, form.tools)

    def feedback(self, user: str, form: requests.FeedbackBody) -> None:
        """Keep what became of a request."""
        with self._doing("feedback", _FEEDBACK):
            self._tuner.feedback(form.request(user), form.used, form.rejected, tool=form.tool, ok=form.ok)

    def me(self, user: str) -> responses.UserReply:
        """What is known of the user."""
        with self._doing("me"):
            return responses.me_reply(self._store.user(user))

    def put_me(self, user: str, form: requests.UserBody) -> None:
        """Add the user, or replace what is known of them."""
        with self._doing("put_me", "profile, places, contacts: hold something that cannot be kept"):
            self._store.put_user(form.user(user))

    def forget(self, user: str) -> None:
        """Erase the user."""
        with self._doing("forget"):
            self._tuner.forget(user)

    def items(self, user: str, app: str | None, start: int, limit: int) -> responses.ItemsReply:
        """Some of the user's items."""
        with self._doing("items"):
            found = [item for item in self._store.items(user) if app in (None, item.app)]
            return {
                "items": [responses.item_reply(item) for item in found[start : start + limit]],
                "total": len(found),
                "next": start + limit if start + limit < len(found) else None,
            }

    def put_items(self, user: str, form: requests.ItemsBody) -> responses.CountReply:
        """Add items, all of them or none."""
        items: list[Item] = []
        for number, one in enumerate(form.items):
            try:
                items.append(one.item())
            except ContextuneError:
                raise invalid([f"items[{number}].fields: {_FIELDS}"]) from None
        with self._doing("put_items", "items: one holds something that cannot be kept"):
            return {"count": self._store.put_items(user, items, most=self._limits.items)}

    def delete_items(self, user: str, form: requests.IdsBody) -> responses.CountReply:
        """Delete items."""
        with self._doing("delete_items"):
            return {"count": self._store.delete_items(user, form.ids)}

    def uses(self, user: str, start: int, limit: int) -> responses.UsageEventsReply:
        """Some of the user's uses."""
        with self._doing("uses"):
            found = self._store.uses(user)
            return {
                "uses": [responses.use_reply(use) for use in found[start : start + limit]],
                "total": len(found),
                "next": start + limit if start + limit < len(found) else None,
            }

    def put_uses(self, user: str, form: requests.UsageEventsBody) -> responses.CountReply:
        """Record uses, all of them or none; how many are new."""
        with self._doing("put_uses", _USES):
            uses = [use.use() for use in form.uses]
            return {"count": self._store.put_uses(user, uses, most=self._limits.uses)}

    @contextmanager
    def _doing(self, stage: str, wrong: str = "") -> Generator[None]:
        """Time it, and tell an error of the library in words that hold nothing of the user's."""
        start = perf_counter()
        try:
            with self._spans.stage(stage):
                yield
        except ContextuneError as error:
            raise refusal_of(error, wrong) from error
        finally:
            self._metrics.stage(stage, perf_counter() - start)
