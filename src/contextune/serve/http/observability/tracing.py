"""OpenTelemetry spans, configured by the standard OTEL_* environment variables.

A span has the route, the status and the duration of each stage; never the user or the text of a request.
"""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from contextune.errors import MissingExtraError

_ENDPOINT_VARS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


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
