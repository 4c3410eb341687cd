"""The HTTP service: what can be asked, by whom, and in which requests.

The user is whoever's token was shown. No route takes a user from a path, a query or a body, so there is no
way to ask for somebody else's data.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Annotated, Any, TypeVar

from contextune.errors import MissingExtraError

try:
    from fastapi import APIRouter, Depends, FastAPI, Query, Request
    from fastapi.exceptions import RequestValidationError
    from fastapi.security import HTTPBearer
    from starlette.exceptions import HTTPException
    from starlette.responses import HTMLResponse, Response
except ModuleNotFoundError as error:
    raise MissingExtraError("the HTTP service", "serve") from error

from contextune.serve.http import (
    errors,
    inspector,
    requests,
    responses,
    web,
)
from contextune.serve.http.api_reference import reference
from contextune.serve.http.errors import ApiError, faults
from contextune.serve.http.metrics import CONTENT_TYPE, ServiceMetrics
from contextune.serve.http.middleware import RequestMiddleware, error_reply
from contextune.serve.http.responses import JsonResponse
from contextune.serve.http.service import Service
from contextune.serve.http.settings import ServiceSettings
from contextune.serve.http.thread_pool import WorkerPool
from contextune.serve.http.tokens import TokenFile
from contextune.serve.http.tracing import configured
from contextune.serve.http.warmup import Warmup

_ABOUT = """Completes what a person leaves out: the items of your own data that a request hangs on, the tools
that can serve it, and the call to make. Your token says who you are; you see what is yours and nothing else.
Nothing is called, and nothing of what you say is kept unless you send it as feedback."""
_REFUSED: dict[int | str, dict[str, Any]] = {
    status: {"model": responses.ErrorReply, "description": said}
    for status, said in {
        400: "No JSON.",
        401: "No token, or nobody's.",
        404: "Nothing is kept for you yet, or no such address.",
        408: "The body did not arrive.",
        413: "The body is too large, or it is more than is kept of one user.",
        422: "Parts of the request cannot be taken.",
        429: "Too many requests; `Retry-After` says when to come back.",
        500: "A fault of the service.",
        503: "Too much to do right now; `Retry-After` says when to come back.",
    }.items()
}
# FastAPI's own would send addresses, and the words of exceptions
_NO_TELEMETRY: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}


def _me(request: Request) -> str:
    user = getattr(request.state, "user", None)
    if not isinstance(user, str):  # the gate has seen to it; a second lock costs nothing
        raise errors.unauthorized()
    return user


_bearer = HTTPBearer(auto_error=False, description="A token made by `contextune serve token add`.")
Me = Annotated[str, Depends(_me)]
Start = Annotated[int, Query(ge=0, le=10**9, description="How many to leave out.")]
Most = Annotated[int, Query(ge=1, le=1000, description="How many to give.")]
_Form = TypeVar("_Form")


def create_app(settings: ServiceSettings) -> FastAPI:
    """The service as an ASGI application; it lets go of its files when it shuts down."""
    limits = settings.limits
    work = WorkerPool(settings.threads, limits.waiting, limits.timeout)
    metrics, spans, tokens = ServiceMetrics(lambda: work.open), configured(), TokenFile(settings.tokens)
    service = Service(settings, metrics, spans)
    preparing = Warmup(service.prepare, limits.timeout)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        yield
        # requests in flight have ended by now
        await asyncio.to_thread(preparing.close)
        await asyncio.to_thread(work.close)
        service.close()
        await asyncio.to_thread(spans.close)

    app = FastAPI(
        title="Contextune",
        version=version("contextune"),
        description=_ABOUT,
        lifespan=lifespan,
        docs_url=None,  # its page would load scripts of others, beside a field for a token
        redoc_url=None,
        telemetry=_NO_TELEMETRY,
    )
    app.add_middleware(RequestMiddleware, tokens=tokens, limits=limits, metrics=metrics, spans=spans)
    _refusing(app)
    app.include_router(_asking(service, work, preparing))
    app.include_router(_keeping(service, work, preparing))
    app.include_router(_watching(service, work, metrics))

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:  # pyright: ignore[reportUnusedFunction]  # it is a route
        return HTMLResponse(reference(app.openapi()))

    app.include_router(web.pages())

    return app


def _router(tag: str) -> APIRouter:
    return APIRouter(prefix="/v1", tags=[tag], dependencies=[Depends(_bearer)], responses=_REFUSED)


# The routes are functions within functions: pyright takes those that only a decorator uses for unused.
# pyright: reportUnusedFunction=false


def _asking(service: Service, work: WorkerPool, preparing: Warmup) -> APIRouter:
    """What a request hangs on, and what to do about it."""
    routes = _router("ask")

    async def answer(call: Callable[[str, _Form], object], me: str, form: _Form) -> Response:
        await preparing.done(me)  # with what the user told of last
        return JsonResponse(await work.do(call, me, form))

    @routes.post("/context", response_model=responses.ContextReply)
    async def context(me: Me, form: requests.ContextBody) -> Response:
        """The items of yours that a request hangs on, best first."""
        return await answer(service.context, me, form)

    @routes.post("/tools", response_model=responses.ToolsReply)
    async def tools(me: Me, form: requests.ToolsBody) -> Response:
        """The tools that can serve a request, best first, and how probable it is that any does."""
        return await answer(service.tools, me, form)

    @routes.post("/plan", response_model=responses.PlansReply)
    async def plan(me: Me, form: requests.PlanBody) -> Response:
        """The call to make, each argument pointing at where it comes from. Nothing is called."""
        return await answer(service.plan, me, form)

    @routes.post("/ask", response_model=responses.AnswerReply)
    async def ask(me: Me, form: requests.AskBody) -> Response:
        """All of it: items, tools, the call to make, and why."""
        return await answer(service.ask, me, form)

    @routes.post("/inspect", response_model=inspector.InspectReply)
    async def inspect(me: Me, form: requests.InspectBody) -> Response:
        """The answer taken apart: what weighed how much, and the tools with and without your items."""
        return await answer(service.inspect, me, form)

    @routes.post("/feedback", status_code=204)
    async def feedback(me: Me, form: requests.FeedbackBody) -> Response:
        """Tell what became of a request: the next answers know. This keeps what you said."""
        await work.do(service.feedback, me, form)
        return Response(status_code=204)

    return routes


def _keeping(service: Service, work: WorkerPool, preparing: Warmup) -> APIRouter:
    """What is kept of a user."""
    routes = _router("your data")

    @routes.get("/me", response_model=responses.UserReply)
    async def me_(me: Me) -> Response:
        """What is known of you."""
        return JsonResponse(await work.do(service.me, me))

    @routes.put("/me", status_code=204)
    async def put_me(me: Me, form: requests.UserBody) -> Response:
        """Begin, or replace what is known of you; your items and uses stay."""
        await work.do(service.put_me, me, form)
        preparing.start(me, 0)
        return Response(status_code=204)

    @routes.delete("/me", status_code=204)
    async def forget(me: Me) -> Response:
        """Forget you: items, uses, feedback, vectors, down to the bytes in the file."""
        await preparing.stop(me)
        await work.do(service.forget, me)
        return Response(status_code=204)

    @routes.get("/items", response_model=responses.ItemsReply)
    async def items(
        me: Me,
        app: Annotated[str | None, Query(max_length=200, description="Only those of this app.")] = None,
        start: Start = 0,
        limit: Most = 100,
    ) -> Response:
        """Your items, in the order of their ids."""
        return JsonResponse(await work.do(service.items, me, app, start, limit))

    @routes.put("/items", response_model=responses.CountReply)
    async def put_items(me: Me, form: requests.ItemsBody) -> Response:
        """Put items, all or none of them; those of the same id are replaced."""
        count = await work.do(service.put_items, me, form)
        preparing.start(me, len(form.items))
        return JsonResponse(count)

    # a POST, as ids may tell of somebody and addresses are written into logs on their way
    @routes.post("/items/delete", response_model=responses.CountReply)
    async def delete_items(me: Me, form: requests.IdsBody) -> Response:
        """Delete items by id, with their uses and vectors."""
        return JsonResponse(await work.do(service.delete_items, me, form))

    @routes.get("/uses", response_model=responses.UsageEventsReply)
    async def uses(me: Me, start: Start = 0, limit: Most = 100) -> Response:
        """When you turned to which item, in order of time."""
        return JsonResponse(await work.do(service.uses, me, start, limit))

    @routes.post("/uses", response_model=responses.CountReply)
    async def put_uses(me: Me, form: requests.UsageEventsBody) -> Response:
        """Tell of uses: you opened, played or called something. The next request knows."""
        count = await work.do(service.put_uses, me, form)
        preparing.start(me, count["count"])
        return JsonResponse(count)

    return routes


def _watching(service: Service, work: WorkerPool, metrics: ServiceMetrics) -> APIRouter:
    """Whether all is well; for whoever runs the service."""
    routes = APIRouter(tags=["running"])

    @routes.get("/health", response_model=responses.HealthReply, responses={503: _REFUSED[503]})
    async def health() -> Response:
        """Whether the service can read its store and has a thread to do it with."""
        await work.do(service.check)
        return JsonResponse({"status": "ok", "version": version("contextune")})

    @routes.get("/metrics", response_class=Response)
    async def figures() -> Response:
        """Figures for Prometheus."""
        return Response(metrics.text(), media_type=CONTENT_TYPE)

    return routes


def _refusing(app: FastAPI) -> None:
    """Tell whatever FastAPI finds wrong in the one form that errors have."""

    @app.exception_handler(ApiError)
    async def refused(request: Request, refusal: ApiError) -> Response:
        return error_reply(refusal, request.state.request)

    @app.exception_handler(RequestValidationError)
    async def not_valid(request: Request, error: RequestValidationError) -> Response:
        return error_reply(errors.invalid(faults(error.errors())), request.state.request)

    @app.exception_handler(HTTPException)
    async def not_found(request: Request, error: HTTPException) -> Response:
        said = {
            400: "the body is no JSON that can be read: send an object, in UTF-8",
            404: "there is nothing at this address: /docs names those there are",
            405: "this address does not take this method: /docs names those it takes",
        }.get(error.status_code, "this cannot be done")
        headers = dict(error.headers or {})
        refusal = ApiError(error.status_code, "unreadable" if error.status_code == 400 else "not_here", said)
        refusal.headers = headers
        return error_reply(refusal, request.state.request)
