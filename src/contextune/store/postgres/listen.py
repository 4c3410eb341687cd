"""Listen to the notifications of a PostgreSQL store, in a thread that reconnects by itself."""

from collections.abc import Callable
from functools import partial
from threading import Event, Thread
from typing import NamedTuple, Protocol

import psycopg

from contextune.store.postgres.connections import CONNECTION_OPTIONS, check_answer
from contextune.store.postgres.schema import CHANNEL

_TICK = 0.5
"""Seconds between two checks that the connection works, and between two attempts to connect."""
_CONNECT_TIMEOUT = 5
_ANSWER_TIMEOUT = 2.0
"""Seconds after which a server that does not answer an empty query is taken for unreachable."""


class Notification(NamedTuple):
    """A message of the channel."""

    kind: str
    """`change`, `forget` or `token`."""
    name: str
    """The digest of the user, or the id of the token."""
    revision: int = 0
    """The new revision of the user's items."""

    @classmethod
    def parse(cls, payload: str) -> "Notification | None":
        """Read a message; None if it is not one of ours: every client of the database can send some."""
        kind, _, rest = payload.partition(" ")
        name, _, revision = rest.partition(" ")
        if kind not in ("change", "forget", "token") or (revision and not revision.isdecimal()):
            return None
        return cls(kind, name, int(revision or 0))


class Subscriber(Protocol):
    """What a `ChangeListener` calls, in its thread."""

    def connected(self) -> None:
        """The connection is made: earlier notifications may be lost."""
        ...

    def disconnected(self, *, reachable: bool) -> None:
        """The connection is lost or refused; `reachable` if the server has answered nevertheless."""
        ...

    def notified(self, notification: Notification) -> None:
        """A notification has arrived."""
        ...

    def tick(self) -> None:
        """Called about twice a second while the connection works."""
        ...


class ChangeListener:
    """A connection that waits for notifications, from `start` to `close`."""

    def __init__(
        self, url: str, subscriber: Subscriber, *, log: Callable[[Exception], None] | None = None
    ) -> None:
        """`log` gets errors of the subscriber, which do not end the thread."""
        self._url = url
        self._subscriber = subscriber
        self._log = log
        self._closed = Event()
        self._thread = Thread(target=self._run, name="contextune-listen", daemon=True)

    def start(self) -> None:
        """Connect, and listen in a thread."""
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                self._listen()
            except psycopg.Error as error:
                reachable = "FATAL" in str(error)  # such as too many connections
                self._call(partial(self._subscriber.disconnected, reachable=reachable))
            self._closed.wait(_TICK)

    def _listen(self) -> None:
        with psycopg.connect(
            self._url, autocommit=True, connect_timeout=_CONNECT_TIMEOUT, **CONNECTION_OPTIONS
        ) as connection:
            check_answer(connection, _CONNECT_TIMEOUT, f"LISTEN {CHANNEL}".encode())
            self._call(self._subscriber.connected)
            while not self._closed.is_set():
                for message in connection.notifies(timeout=_TICK):
                    self._notify(message.payload)
                check_answer(connection, _ANSWER_TIMEOUT)
                while message := connection.pgconn.notifies():  # came with the answer
                    self._notify(message.extra.decode("utf-8", "replace"))
                self._call(self._subscriber.tick)

    def _notify(self, payload: str) -> None:
        if notification := Notification.parse(payload):
            self._call(partial(self._subscriber.notified, notification))

    def _call(self, method: Callable[[], None]) -> None:
        try:
            method()
        except Exception as error:
            if self._log:
                self._log(error)
