"""Drop from memory what other processes have changed, forgotten or revoked.

Notifications only make it fast. The revision that each request reads from the store decides what is current,
and after a lost connection every user in memory is looked up again.
"""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock, Timer
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from contextune.serve.http.observability import log_event
from contextune.store.postgres.service_tables import user_digest

if TYPE_CHECKING:
    from contextune.serve.http.credentials import StoreCredentials
    from contextune.store.postgres import PostgresStore
    from contextune.store.postgres.listen import Notification
    from contextune.store.postgres.service_tables import ServiceTables

_MAX_USERS = 10_000
"""Users of this process that are remembered; further ones replace the oldest."""
_LOOKUP_SECONDS = 10.0
"""Seconds for looking up all users in memory; a server that hangs meanwhile must not stop the listener."""
_STALE_SECONDS = 60.0
"""Seconds after which an index that another process has outdated is dropped, if no request updates it."""


class _DropUser(Protocol):
    def __call__(self, user: str, *, before: int | None = None) -> None: ...


class CacheInvalidation:
    """Subscriber of a `ChangeListener` for one process of the service."""

    def __init__(
        self,
        store: "PostgresStore",
        tables: "ServiceTables",
        credentials: "StoreCredentials | None",
        *,
        drop: _DropUser,
        cancel: Callable[[str], object],
        record: Callable[[str], None],
    ) -> None:
        """`drop` removes a user from all caches, `cancel` ends work for the user, `record` counts it."""
        self._store, self._tables, self._credentials = store, tables, credentials
        self._drop, self._cancel, self._record = drop, cancel, record
        self._key = tables.key()
        self._users: OrderedDict[str, str] = OrderedDict()
        """By digest: the users whose data may be in memory."""
        self._is_complete = True
        """Whether `_users` has all of them."""
        self._stale: dict[str, tuple[float, int]] = {}
        self._lock = Lock()

    def watch(self, user: str) -> None:
        """Note that data of the user are about to be read into memory."""
        digest = user_digest(self._key, user)
        with self._lock:
            self._users[digest] = user
            self._users.move_to_end(digest)
            if len(self._users) > _MAX_USERS:
                self._users.popitem(last=False)
                self._is_complete = False

    def connected(self) -> None:
        """Look up all users in memory: they may have been forgotten while there was no connection."""
        self._store.is_reachable = self._tables.is_reachable = True
        if self._credentials:
            self._credentials.revoke_all()
        with self._lock:
            users = list(self._users.values())
        timer = Timer(_LOOKUP_SECONDS, self._tables.abort_calls)
        timer.daemon = True
        timer.start()
        try:
            existing = self._tables.existing_users(users) if users else set[str]()
        finally:
            timer.cancel()
        for user in users:
            if user not in existing:
                self._forget(user_digest(self._key, user))

    def disconnected(self, *, reachable: bool) -> None:
        """Refuse requests at once while the server cannot be reached."""
        if self._store.is_reachable and not reachable:
            log_event("store unreachable")
        self._store.is_reachable = self._tables.is_reachable = reachable

    def notified(self, notification: "Notification") -> None:
        """Act on a notification."""
        match notification.kind:
            case "forget":
                self._forget(notification.name)
            case "token" if self._credentials:
                self._credentials.revoke(notification.name)
                self._record("token")
            case "change":
                with self._lock:
                    if user := self._users.get(notification.name):
                        end, _ = self._stale.get(user, (monotonic() + _STALE_SECONDS, 0))
                        self._stale[user] = end, notification.revision
            case _:
                pass

    def tick(self) -> None:
        """Drop the indexes that no request has updated since another process has changed their data."""
        now = monotonic()
        with self._lock:
            due = [(user, revision) for user, (end, revision) in self._stale.items() if end <= now]
            for user, _ in due:
                del self._stale[user]
        for user, revision in due:
            self._drop(user, before=revision)
            self._record("stale")

    def _forget(self, digest: str) -> None:
        with self._lock:
            user = self._users.pop(digest, None)
            is_complete = self._is_complete
            self._stale.pop(user or "", None)
        if user is not None:
            self._cancel(user)
            self._drop(user)
            self._record("forget")
        elif not is_complete:
            self._drop("")  # empties the caches that cannot tell users apart
