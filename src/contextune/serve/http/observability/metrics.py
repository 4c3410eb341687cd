"""Prometheus metrics: request counts, status codes and latencies, without users."""

import os
from collections.abc import Callable

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

CONTENT_TYPE = CONTENT_TYPE_LATEST
MULTIPROC_DIR = "PROMETHEUS_MULTIPROC_DIR"
"""Environment variable with the folder in which several processes share their metrics."""
_BUCKETS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


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
