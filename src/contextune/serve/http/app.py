"""FastAPI application: routes, dependencies and error handlers.

The bearer token alone determines the user. No route reads a user from the path, query or body, so a client
cannot address another user's data.
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
    from starlette.responses import Response
except ModuleNotFoundError as error:
    raise MissingExtraError("the HTTP service", "serve") from error

from contextune.serve.hosts import AllowedHosts
from contextune.serve.http import errors, inspector, requests, responses, web
from contextune.serve.http.errors import ApiError, request_error_messages
from contextune.serve.http.limits import CONNECTIONS, ConnectionLimits, CpuBudget
from contextune.serve.http.middleware import RequestMiddleware, error_response
from contextune.serve.http.observability import CONTENT_TYPE, ServiceMetrics, tracer_from_env
from contextune.serve.http.openapi_examples import add_examples
from contextune.serve.http.responses import JsonResponse
from contextune.serve.http.service import Service
from contextune.serve.http.settings import ServiceSettings
from contextune.serve.http.shared_store import SharedStore
from contextune.serve.http.warmup import Warmup
from contextune.serve.http.worker_pool import WorkerPool

_DESCRIPTION = """Resolves implicit requests: finds the user's items a request refers to, the tools that can
serve it, and the call to make. The bearer token identifies the user, who sees only their own data. No tool is
called, and the text of a request is stored only when it is sent as feedback."""
_ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": responses.ErrorReply, "description": description}
    for status, description in {
        400: "The body is not valid JSON.",
        401: "The token is missing or invalid.",
        403: "The token may only read.",
        404: "Unknown user (PUT /v1/me first) or unknown path.",
        408: "The body did not arrive in time.",
        413: "The body is too large, or the user's quota is exceeded.",
        421: "The service does not answer for the host name in `Host` or `Origin`.",
        422: "The request is invalid; `where` lists the fields.",
        429: "Rate limit or budget of computing time exceeded; see `Retry-After`.",
        500: "Internal error.",
        503: "Overloaded, timed out or store unavailable; see `Retry-After`.",
    }.items()
}
# FastAPI's own telemetry would record URLs and exception messages, which may contain personal data
_NO_TELEMETRY: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}


def _current_user(request: Request) -> str:
    user = getattr(request.state, "user", None)
    if not isinstance(user, str):  # the middleware has authenticated already; this is defence in depth
        raise errors.unauthorized()
    return user


_bearer = HTTPBearer(auto_error=False, description="A token created by `contextune serve token add`.")
CurrentUser = Annotated[str, Depends(_current_user)]
Offset = Annotated[int, Query(ge=0, le=10**9, description="Number of entries to skip.")]
PageSize = Annotated[int, Query(ge=1, le=1000, description="Maximum number of entries.")]
_Body = TypeVar("_Body")


class _Application(FastAPI):
    """FastAPI whose OpenAPI document has examples."""

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document, built once."""
        return self.openapi_schema or add_examples(super().openapi())


def create_app(settings: ServiceSettings) -> FastAPI:
    """Create the ASGI application; store and catalogue are closed on shutdown."""
    limits = settings.limits
    budget = CpuBudget(limits.cpu, limits.cpu_burst)
    pool = WorkerPool(settings.threads, limits.waiting, limits.timeout, limits.max_wait, budget=budget)
    metrics, tracer = ServiceMetrics(lambda: pool.open_calls), tracer_from_env()
    service = Service(settings, metrics, tracer, lambda done, total: warmup.interrupt(done, total))
    warmup = Warmup(service.prepare, limits.timeout)
    shared = SharedStore(settings, service, warmup, metrics)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[dict[str, Any]]:
        shared.start()
        yield {
            CONNECTIONS: ConnectionLimits(
                limits.connections, limits.connections_per_address, limits.head_timeout
            )
        }
        # uvicorn has answered all requests in flight before it gets here
        await asyncio.to_thread(warmup.close)
        await asyncio.to_thread(pool.close)
        await asyncio.to_thread(shared.close)
        service.close()
        await asyncio.to_thread(tracer.close)

    app = _Application(
        title="Contextune",
        version=version("contextune"),
        description=_DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,  # Swagger UI loads third-party scripts on a page where users enter tokens
        redoc_url=None,
        telemetry=_NO_TELEMETRY,
        redirect_slashes=False,  # the redirect would go to whatever host the request names
    )
    app.add_middleware(
        RequestMiddleware,
        credentials=shared.credentials,
        watch=shared.watch,
        hosts=AllowedHosts(settings.hosts),
        limits=limits,
        metrics=metrics,
        tracer=tracer,
    )
    _add_error_handlers(app)
    app.include_router(_request_routes(service, pool, warmup, wait=settings.wait))
    app.include_router(_data_routes(service, pool, warmup))
    app.include_router(_monitoring_routes(service, pool, metrics))
    app.include_router(web.inspector_routes())
    return app


def _router(tag: str) -> APIRouter:
    return APIRouter(prefix="/v1", tags=[tag], dependencies=[Depends(_bearer)], responses=_ERROR_RESPONSES)


# Routes are nested functions that only a decorator uses, which pyright reports as unused.
# pyright: reportUnusedFunction=false


def _request_routes(service: Service, pool: WorkerPool, warmup: Warmup, *, wait: bool) -> APIRouter:
    """Routes that answer a request of the user."""
    routes = _router("ask")

    async def answer(method: Callable[[str, _Body], object], user: str, body: _Body) -> Response:
        if wait:
            await warmup.wait(user)  # so that the answer reflects the user's latest changes
        return JsonResponse(await pool.run(method, user, body))

    @routes.post("/context", response_model=responses.ContextReply)
    async def context(user: CurrentUser, body: requests.ContextBody) -> Response:
        """Items of yours that the request refers to, best first."""
        return await answer(service.context, user, body)

    @routes.post("/tools", response_model=responses.ToolsReply)
    async def tools(user: CurrentUser, body: requests.ToolsBody) -> Response:
        """Tools that can serve the request, best first, and the probability that any of them does."""
        return await answer(service.tools, user, body)

    @routes.post("/plan", response_model=responses.PlansReply)
    async def plan(user: CurrentUser, body: requests.PlanBody) -> Response:
        """The call to make, each argument with its source. The tool is not called."""
        return await answer(service.plan, user, body)

    @routes.post("/ask", response_model=responses.AnswerReply)
    async def ask(user: CurrentUser, body: requests.AskBody) -> Response:
        """Context, tools and plan in one response, with reasons."""
        return await answer(service.ask, user, body)

    @routes.post("/inspect", response_model=inspector.InspectReply)
    async def inspect(user: CurrentUser, body: requests.InspectBody) -> Response:
        """The answer with feature contributions, and the tools found with and without your items."""
        return await answer(service.inspect, user, body)

    @routes.post("/feedback", status_code=204)
    async def feedback(user: CurrentUser, body: requests.FeedbackBody) -> Response:
        """Report which items and tool were right; later answers use it. Stores the text of the request."""
        await pool.run(service.feedback, user, body)
        return Response(status_code=204)

    return routes


def _data_routes(service: Service, pool: WorkerPool, warmup: Warmup) -> APIRouter:
    """Routes that read and change the user's stored data."""
    routes = _router("your data")

    @routes.get("/me", response_model=responses.UserReply)
    async def get_me(user: CurrentUser) -> Response:
        """Your profile, places, contacts and time zone."""
        return JsonResponse(await pool.run(service.me, user))

    @routes.get("/preparation", response_model=responses.PreparationReply)
    async def preparation(user: CurrentUser) -> Response:
        """How many of your items have vectors."""
        return JsonResponse(await pool.run(service.preparation, user))

    @routes.put("/me", status_code=204)
    async def put_me(user: CurrentUser, body: requests.UserBody) -> Response:
        """Create or replace your profile, places, contacts and time zone; items and uses are kept."""
        await pool.run(service.put_me, user, body)
        warmup.start(user, 0)
        return Response(status_code=204)

    @routes.delete("/me", status_code=204)
    async def forget(user: CurrentUser) -> Response:
        """Delete all your data (items, uses, feedback, vectors) and overwrite it in the file."""
        await warmup.cancel(user)
        await pool.run(service.forget, user)
        return Response(status_code=204)

    @routes.get("/items", response_model=responses.ItemsReply)
    async def items(
        user: CurrentUser,
        app: Annotated[str | None, Query(max_length=200, description="Only items of this app.")] = None,
        start: Offset = 0,
        limit: PageSize = 100,
    ) -> Response:
        """Your items, ordered by id."""
        return JsonResponse(await pool.run(service.items, user, app, start, limit))

    @routes.put("/items", response_model=responses.PutItemsReply)
    async def put_items(user: CurrentUser, body: requests.ItemsBody) -> Response:
        """Add items, all or none; an item with an existing id replaces it.

        `unread_times` lists fields that are named like a time and cannot be read as one.
        """
        reply = await pool.run(service.put_items, user, body)
        warmup.start(user, len(body.items))
        return JsonResponse(reply)

    # POST, because ids may be personal and proxies log URLs
    @routes.post("/items/delete", response_model=responses.CountReply)
    async def delete_items(user: CurrentUser, body: requests.IdsBody) -> Response:
        """Delete items by id, with their uses and vectors."""
        return JsonResponse(await pool.run(service.delete_items, user, body))

    @routes.get("/uses", response_model=responses.UsageEventsReply)
    async def uses(user: CurrentUser, start: Offset = 0, limit: PageSize = 100) -> Response:
        """When you used which item, ordered by time; a time without offset is sorted as if in UTC."""
        return JsonResponse(await pool.run(service.uses, user, start, limit))

    @routes.post("/uses", response_model=responses.CountReply)
    async def put_uses(user: CurrentUser, body: requests.UsageEventsBody) -> Response:
        """Record uses: you opened, played or called an item. Later answers use them."""
        count = await pool.run(service.put_uses, user, body)
        warmup.start(user, count["count"])
        return JsonResponse(count)

    return routes


def _monitoring_routes(service: Service, pool: WorkerPool, metrics: ServiceMetrics) -> APIRouter:
    """Health check and metrics, without authentication."""
    routes = APIRouter(tags=["running"])

    @routes.get("/health", response_model=responses.HealthReply, responses={503: _ERROR_RESPONSES[503]})
    async def health() -> Response:
        """Whether the store is readable and a worker thread is available."""
        service.check_reachable()
        await pool.run(service.check)
        return JsonResponse({"status": "ok", "version": version("contextune")})

    @routes.get("/live", response_model=responses.HealthReply)
    async def live() -> Response:
        """Whether the process answers, whatever the state of the store."""
        return JsonResponse({"status": "ok", "version": version("contextune")})

    @routes.get("/metrics", response_class=Response)
    async def prometheus_metrics() -> Response:
        """Metrics in Prometheus text format."""
        return Response(metrics.render(), media_type=CONTENT_TYPE)

    return routes


def _add_error_handlers(app: FastAPI) -> None:
    """Return FastAPI's own errors in the same JSON format as all others."""

    @app.exception_handler(ApiError)
    async def api_error(request: Request, error: ApiError) -> Response:
        return error_response(error, request.state.request)

    @app.exception_handler(RequestValidationError)
    async def validation_error(request: Request, error: RequestValidationError) -> Response:
        messages = request_error_messages(error.errors())
        return error_response(errors.invalid_request(messages), request.state.request)

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> Response:
        message = {
            400: "the body is not valid JSON: send an object, encoded as UTF-8",
            404: "unknown path: see /openapi.json",
            405: "method not allowed: see /openapi.json",
        }.get(error.status_code, "the request cannot be processed")
        code = "unreadable" if error.status_code == 400 else "not_here"
        api_error = ApiError(error.status_code, code, message, headers=dict(error.headers or {}))
        return error_response(api_error, request.state.request)
