"""Figures for Prometheus: how many requests, how they ended, how long they took. No users among them."""

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
SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""Names the folder in which several processes put their figures together, where there are several."""
_SECONDS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class ServiceMetrics:
    """The figures of one service."""

    def __init__(self, open_work: Callable[[], int]) -> None:
        """`open_work` says how many requests are being worked on or wait."""
        disable_created_metrics()  # as many lines again, and of no use here
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "contextune_requests",
            "Requests, by route and how they ended.",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "contextune_request_seconds",
            "Seconds from a request's head to the end of its answer.",
            ("route",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._stages = Histogram(
            "contextune_stage_seconds",
            "Seconds of each stage of an answer.",
            ("stage",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._open_work = open_work
        self._open = Gauge(
            "contextune_open_requests",
            "Requests that are being worked on or wait for a thread.",
            registry=self._registry,
            multiprocess_mode="livesum",
        )

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)
        self._open.set(self._open_work())

    def stage(self, name: str, seconds: float) -> None:
        """Count a stage of an answer."""
        self._stages.labels(name).observe(seconds)

    def text(self) -> bytes:
        """All figures as Prometheus reads them; those of all processes, where there are several."""
        self._open.set(self._open_work())
        if SHARED not in os.environ:
            return generate_latest(self._registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)
        return generate_latest(together)
