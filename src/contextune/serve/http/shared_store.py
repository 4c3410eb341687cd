"""Credentials, and caches kept current, for a store that several processes of the service share."""

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from contextune._internal.postgres_url import is_postgres
from contextune.serve.http.credentials import Credentials, FileCredentials, StoreCredentials
from contextune.serve.http.observability import ServiceMetrics, log_event
from contextune.serve.http.service import Service
from contextune.serve.http.settings import ServiceSettings
from contextune.serve.http.tokens import TokenFile

if TYPE_CHECKING:
    from contextune.serve.http.warmup import Warmup
    from contextune.store.postgres import PostgresStore


class SharedStore:
    """Credentials of the service; for a store in PostgreSQL, also the listener that keeps caches current."""

    def __init__(
        self, settings: ServiceSettings, service: Service, warmup: "Warmup", metrics: ServiceMetrics
    ) -> None:
        self.watch: Callable[[str], None] | None = None
        """To be called with the user of every request."""
        self._start: Callable[[], None] | None = None
        self._close: list[Callable[[], None]] = []
        self.credentials: Credentials
        if settings.tokens:
            self.credentials = FileCredentials(TokenFile(settings.tokens), settings.limits)
        if not is_postgres(settings.store):
            return
        from contextune.serve.http.invalidation import CacheInvalidation
        from contextune.store.postgres.listen import ChangeListener
        from contextune.store.postgres.service_tables import ServiceTables

        url = str(settings.store)
        tables = ServiceTables(url, timeout=settings.limits.max_wait)
        shared = None if settings.tokens else StoreCredentials(tables, settings.limits)
        if shared:
            self.credentials = shared
        invalidation = CacheInvalidation(
            cast("PostgresStore", service.store),
            tables,
            shared,
            drop=service.drop,
            cancel=warmup.cancel_jobs,
            record=metrics.record_invalidation,
        )
        listener = ChangeListener(
            url, invalidation, log=lambda error: log_event("notification not handled", error=error)
        )
        self.watch, self._start = invalidation.watch, listener.start
        self._close = [listener.close, self.credentials.close, tables.close]

    def start(self) -> None:
        """Listen to changes."""
        if self._start:
            self._start()

    def close(self) -> None:
        """Stop listening and close connections."""
        for close in self._close:
            close()
