"""Spans for OpenTelemetry, where it is configured the way it always is: by OTEL_ variables.

A span says which route, how it ended, and how long each stage took; never who asked or what for.
"""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from contextune.errors import MissingExtraError

_CONFIGURED = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


class RequestSpan(Protocol):
    """What is told of a request while it runs."""

    def set_attribute(self, key: str, value: Any, /) -> object:
        """Tell something of it."""
        ...


class Tracer:
    """No spans: what is told is dropped."""

    @contextmanager
    def request(self, method: str, headers: Mapping[str, str]) -> Generator[RequestSpan | None]:  # noqa: ARG002
        """Around a request; who called it may stand in the headers."""
        yield None

    @contextmanager
    def stage(self, name: str) -> Generator[None]:  # noqa: ARG002
        """Around a part of its work."""
        yield

    def close(self) -> None:
        """Send what is left."""


def configured() -> Tracer:
    """The spans that the environment asks for, or none."""
    wanted = any(os.environ.get(name) for name in _CONFIGURED)
    off = os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    if not wanted or off or os.environ.get("OTEL_TRACES_EXPORTER") == "none":
        return Tracer()
    return _OtlpTracer()


class _OtlpTracer(Tracer):
    """Spans sent to a collector over HTTP, in the background."""

    def __init__(self) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.propagate import extract
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
            from opentelemetry.trace import SpanKind
        except ModuleNotFoundError as error:
            raise MissingExtraError("sending spans, as OTEL_ variables ask for,", "otel") from error
        # what the environment says of the service comes first
        named = "OTEL_SERVICE_NAME" in os.environ
        resource = Resource.create(None if named else {"service.name": "contextune"})
        self._provider = TracerProvider(resource=resource)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("contextune.serve")
        self._extract = extract
        self._server = SpanKind.SERVER

    @contextmanager
    def request(self, method: str, headers: Mapping[str, str]) -> Generator[RequestSpan | None]:
        """Around a request."""
        caller = self._extract(dict(headers))
        # an exception's words may be somebody's, so it is not recorded; the status tells
        with self._tracer.start_as_current_span(
            method, caller, self._server, record_exception=False, set_status_on_exception=False
        ) as span:
            span.set_attribute("http.request.method", method)
            yield span

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        """Around a part of its work."""
        with self._tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False):
            yield

    def close(self) -> None:
        """Send what is left."""
        self._provider.shutdown()
