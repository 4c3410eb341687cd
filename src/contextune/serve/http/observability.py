"""Logs, metrics and traces of the service, without personal data.

Logs have one JSON object a line. Messages of Contextune, uvicorn and the pool of database connections are
logged in full. For other libraries only the format string is logged, and for exceptions only type and stack,
because arguments and messages may contain personal data.

Prometheus metrics count requests, status codes and latencies, without users. OpenTelemetry spans, configured
by the standard OTEL_* environment variables, have the route, the status and the duration of each stage.
"""

import json
import logging
import os
import sys
import time
import traceback
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from contextune._internal.postgres_url import hide_passwords
from contextune.errors import MissingExtraError

try:
    from prometheus_client import (
        CONTENT_TYPE_LATEST,
        CollectorRegistry,
        Counter,
        Gauge,
        Histogram,
        disable_created_metrics,
        generate_latest,
    )
    from prometheus_client.multiprocess import MultiProcessCollector
except ModuleNotFoundError as error:
    raise MissingExtraError("the HTTP service", "serve") from error

LOG = logging.getLogger("contextune.serve")
_SAFE_LOGGERS = ("contextune.serve", "uvicorn.error")
_FORMATTED_LOGGERS = (*_SAFE_LOGGERS, "psycopg.pool")
"""The arguments of the last are connections, and why one was not made."""
_MAX_FRAMES = 12
CONTENT_TYPE = CONTENT_TYPE_LATEST
MULTIPROC_DIR = "PROMETHEUS_MULTIPROC_DIR"
"""Environment variable with the folder in which several processes share their metrics."""
_BUCKETS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_ENDPOINT_VARS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


class JsonFormatter(logging.Formatter):
    """Formats a log record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{moment}.{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
        }
        if record.name != LOG.name:
            line["from"] = record.name
        line["event"] = record.getMessage() if record.name in _FORMATTED_LOGGERS else str(record.msg)
        line |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[1]:
            line |= exception_fields(record.exc_info[1])
        return hide_passwords(json.dumps(line))


def exception_fields(error: BaseException) -> dict[str, Any]:
    """Type and stack of an exception, without its message."""
    frames = traceback.extract_tb(error.__traceback__)[-_MAX_FRAMES:]
    return {"error": type(error).__name__, "at": [f"{f.filename}:{f.lineno} {f.name}" for f in frames]}


def configure_logging() -> None:
    """Write all logs of this process as JSON lines to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in _SAFE_LOGGERS:
        logging.getLogger(name).setLevel(logging.INFO)
    # access logs contain whole URLs
    logging.getLogger("uvicorn.access").disabled = True
    logging.captureWarnings(True)


def log_event(
    event: str, *, level: int = logging.INFO, error: BaseException | None = None, **fields: object
) -> None:
    """Log an event with additional JSON fields, which must not contain personal data."""
    LOG.log(level, event, extra={"fields": fields}, exc_info=error)


class ServiceMetrics:
    """Metrics of one service process."""

    def __init__(self, open_requests: Callable[[], int]) -> None:
        """`open_requests` returns the number of requests in progress or queued."""
        disable_created_metrics()  # they double the output and are not used
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "contextune_requests",
            "HTTP requests by method, route and status.",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "contextune_request_seconds",
            "Request latency in seconds, by route.",
            ("route",),
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._stages = Histogram(
            "contextune_stage_seconds",
            "Duration of each processing stage in seconds.",
            ("stage",),
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._invalidations = Counter(
            "contextune_invalidations",
            "Users, stale indexes and tokens dropped from memory because of another process.",
            ("kind",),
            registry=self._registry,
        )
        self._open_requests = open_requests
        self._open = Gauge(
            "contextune_open_requests",
            "Requests in progress or waiting for a worker thread.",
            registry=self._registry,
            multiprocess_mode="livesum",
        )

    def record_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a finished request."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)
        self._open.set(self._open_requests())

    def record_stage(self, name: str, seconds: float) -> None:
        """Record the duration of a processing stage."""
        self._stages.labels(name).observe(seconds)

    def record_invalidation(self, kind: str) -> None:
        """Count a user or token that was dropped from memory."""
        self._invalidations.labels(kind).inc()

    def render(self) -> bytes:
        """All metrics in Prometheus text format, summed over the worker processes."""
        self._open.set(self._open_requests())
        if MULTIPROC_DIR not in os.environ:
            return generate_latest(self._registry)
        all_processes = CollectorRegistry()
        MultiProcessCollector(all_processes)
        return generate_latest(all_processes)


class RequestSpan(Protocol):
    """The span of a request in progress."""

    def set_attribute(self, key: str, value: Any, /) -> object:
        """Set an attribute of the span."""
        ...


class Tracer:
    """Tracer that records nothing, and base class of the one that exports."""

    @contextmanager
    def request(self, method: str, headers: Mapping[str, str]) -> Generator[RequestSpan | None]:  # noqa: ARG002
        """Span around a request; `headers` may carry the caller's trace context."""
        yield None

    @contextmanager
    def stage(self, name: str) -> Generator[None]:  # noqa: ARG002
        """Span around a processing stage."""
        yield

    def close(self) -> None:
        """Export remaining spans."""


def tracer_from_env() -> Tracer:
    """An exporting tracer if the environment configures one, else one that records nothing."""
    configured = any(os.environ.get(name) for name in _ENDPOINT_VARS)
    disabled = os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    if not configured or disabled or os.environ.get("OTEL_TRACES_EXPORTER") == "none":
        return Tracer()
    return _OtlpTracer()


class _OtlpTracer(Tracer):
    """Exports spans to a collector over HTTP, in the background."""

    def __init__(self) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.propagate import extract
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
            from opentelemetry.trace import SpanKind
        except ModuleNotFoundError as error:
            raise MissingExtraError("exporting spans (OTEL_* variables are set)", "otel") from error
        # an explicit attribute would override OTEL_SERVICE_NAME
        named = "OTEL_SERVICE_NAME" in os.environ
        resource = Resource.create(None if named else {"service.name": "contextune"})
        self._provider = TracerProvider(resource=resource)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("contextune.serve")
        self._extract = extract
        self._server = SpanKind.SERVER

    @contextmanager
    def request(self, method: str, headers: Mapping[str, str]) -> Generator[RequestSpan | None]:
        """Span around a request."""
        caller = self._extract(dict(headers))
        # exceptions are not recorded: their messages may contain personal data
        with self._tracer.start_as_current_span(
            method, caller, self._server, record_exception=False, set_status_on_exception=False
        ) as span:
            span.set_attribute("http.request.method", method)
            yield span

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        """Span around a processing stage."""
        with self._tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False):
            yield

    def close(self) -> None:
        """Export remaining spans."""
        self._provider.shutdown()
