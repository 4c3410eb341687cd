"""Connections to PostgreSQL: a pool, transactions that name their user, and errors in plain words.

Errors contain no password. Answers have deadlines, for a server that neither answers nor closes its
connections: it hangs, or its machine does.
"""

import os
import re
import selectors
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, LiteralString, Self

import psycopg
import psycopg_pool
from psycopg import conninfo

from contextune._internal.postgres_url import hide_passwords
from contextune.errors import InvalidDataError, StoreError
from contextune.store.postgres.migrate import bypasses_row_security, prepare
from contextune.store.postgres.schema import ROLE
from contextune.store.rows import check_unicode

if TYPE_CHECKING:
    Connection = psycopg.Connection[tuple[Any, ...]]

_SERVER_MESSAGE = re.compile(r"FATAL:\s*(.+)")
_CLIENT_MESSAGE = re.compile(r"(?:connection is bad: |port \d+ failed: )((?:invalid|server does not) .+)")
_LAST_PORT = 65535
_UNESCAPED = (
    "the password contains a character that must be percent-encoded, such as %40 for @ and %2F for /; or set "
    "PGPASSWORD, and leave it out"
)
READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
WRITE = "BEGIN"
CONNECTION_OPTIONS: dict[str, Any] = {
    "application_name": "contextune",
    # seconds, and milliseconds: notice a server that is gone without closing the connection
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
_CHECK_SECONDS = 2.0
"""Seconds in which the server must answer on an idle connection before it is used."""
_SERVER_OPTIONS = (
    # the server ends transactions, and their locks, of machines that are gone without closing the connection
    "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3 "
    "-c idle_in_transaction_session_timeout=60s"
)


def safe_name(url: str) -> str:
    """The database in messages: without user and password."""
    try:
        parts = conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        return "the PostgreSQL store"
    # an unescaped @ or / in a password makes the rest of it the host or the database
    host, database = (str(parts.get(part) or "").rpartition("@")[2] for part in ("host", "dbname"))
    return f"the PostgreSQL store {database!r} on {host or 'this machine'}"


def check_url(url: str) -> None:
    """Raise `StoreError` naming the part of a URL that is malformed, if one is."""
    try:
        parts = conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise StoreError(f"the URL of the PostgreSQL store is malformed: {_malformed_part(url)}") from None
    if any("@" in str(parts.get(part) or "") for part in ("host", "dbname")):
        raise StoreError(f"the URL of the PostgreSQL store is malformed: {_UNESCAPED}")
    for port in str(parts.get("port") or "").split(","):
        if port and not (port.isdecimal() and 0 < int(port) <= _LAST_PORT):
            raise StoreError(f"the URL of the PostgreSQL store is malformed: invalid port {port!r}")


def _malformed_part(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    if separator and "@" in rest:
        userinfo, _, rest = rest.rpartition("@")
        user, colon, _ = userinfo.partition(":")
        url = f"{scheme}://{user}{':x' if colon else ''}@{rest}"
    try:
        conninfo.conninfo_to_dict(hide_passwords(url))
    except psycopg.ProgrammingError as error:
        return str(error).strip()
    return _UNESCAPED


def explain_refusal(error: psycopg.Error, name: str) -> str:
    """Why a connection was not made: in the words of the server, if it has answered."""
    message = str(error)
    if match := _SERVER_MESSAGE.search(message):
        return f"{name}: the server refuses the connection: {match[1].strip()}"
    if match := _CLIENT_MESSAGE.search(message):
        return f"{name}: no connection: {match[1].strip()}"
    if "resolve host" in message or "translate host" in message:
        return f"{name} cannot be reached: the name of the host cannot be resolved"
    if isinstance(error, psycopg.ProgrammingError):
        return f"{name}: no connection: check the options in the URL"
    return f"{name} cannot be reached: check host and port, and that the server runs; retry"


def check_answer(connection: "Connection", seconds: float, query: bytes = b"") -> None:
    """Execute a query without a result that matters; raise `OperationalError` without an answer in time.

    The answer counts even if this thread is late to read it: on a busy machine a server that answers is not
    taken for one that hangs. Notifications that come with the answer are left to `PGconn.notifies`.
    """
    end = monotonic() + seconds
    server = connection.pgconn
    server.send_query(query)
    while server.flush() or server.is_busy():
        if not _is_readable(server.socket, end - monotonic()):
            raise psycopg.errors.ConnectionTimeout(f"no answer within {seconds:g} seconds")
        server.consume_input()
    while result := server.get_result():
        if result.error_message:
            raise psycopg.OperationalError(result.error_message.decode("utf-8", "replace"))


def abort(connection: "Connection") -> None:
    """End a connection that another thread waits for: its call raises `OperationalError`."""
    with suppress(psycopg.Error, OSError):
        shared = socket.socket(fileno=connection.fileno())
        try:
            shared.shutdown(socket.SHUT_RDWR)
        finally:
            shared.detach()


def _is_readable(descriptor: int, seconds: float) -> bool:
    # select() fails with descriptors of 1024 and above
    kind = getattr(selectors, "PollSelector", selectors.SelectSelector)
    with kind() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        return bool(selector.select(max(0.0, seconds)))


def check_text(text: str, what: str) -> str:
    """Return the text; raise `InvalidDataError` if PostgreSQL cannot store it."""
    if "\0" in text:
        raise InvalidDataError(f"{what} {text!r} contains a NUL character, which PostgreSQL cannot store")
    return check_unicode(text, what)


class PostgresDatabase:
    """A PostgreSQL database with the tables of a store, created or migrated when it is opened."""

    def __init__(self, url: str, *, timeout: float, max_connections: int) -> None:
        self.url = url
        self._name = safe_name(url)
        self._timeout = timeout
        self._max_connections = max_connections
        self._pools: dict[int, psycopg_pool.ConnectionPool[Connection]] = {}
        self._lock = threading.Lock()
        self._closed = False
        self._in_use: set[Connection] = set()
        self._is_reachable = True
        with self._errors(), self._connect() as connection:
            self._prepare(connection)

    def _connect(self) -> "Connection":
        check_url(self.url)
        try:
            return psycopg.connect(self.url, autocommit=True, **self._options())
        except psycopg.Error as error:
            raise StoreError(explain_refusal(error, self._name)) from error

    @property
    def is_reachable(self) -> bool:
        """Set by who listens to the server; while it is False, calls fail at once instead of waiting."""
        return self._is_reachable

    @is_reachable.setter
    def is_reachable(self, is_reachable: bool) -> None:
        self._is_reachable = is_reachable
        if not is_reachable:
            self.abort_calls()

    def abort_calls(self) -> None:
        """End calls that are under way or wait for a connection, with a `StoreError`; later ones connect."""
        with self._lock:
            pool = self._pools.pop(os.getpid(), None)
            for connection in self._in_use:
                abort(connection)
        if pool:
            pool.close(timeout=0)

    def check_reachable(self) -> None:
        """Raise `StoreError` if the server was found unreachable; asks it nothing."""
        if not self._is_reachable:
            raise StoreError(f"{self._name} cannot be reached: it is tried again all the time; retry")

    def _prepare(self, connection: "Connection") -> None:
        """Create or migrate the tables."""
        prepare(connection, self._name)

    def _configure(self, connection: "Connection") -> None:
        """Set up a new connection of the pool."""
        connection.execute("SET search_path = contextune")
        if bypasses_row_security(connection):
            connection.execute(f"SET ROLE {ROLE}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            self._closed = True
            pool = self._pools.pop(os.getpid(), None)
        if pool:
            pool.close()

    def _options(self) -> dict[str, Any]:
        milliseconds = int(self._timeout * 1000)
        return {
            **CONNECTION_OPTIONS,
            "connect_timeout": max(2, int(self._timeout)),
            "options": f"-c lock_timeout={milliseconds} -c client_encoding=UTF8 {_SERVER_OPTIONS}",
        }

    def _pool(self) -> "psycopg_pool.ConnectionPool[Connection]":
        """The pool of this process: connections do not survive a fork."""
        with self._lock:
            if self._closed:
                raise StoreError(f"{self._name} is closed: open it again")
            pool = self._pools.get(os.getpid())
            if pool is None:
                pool = self._pools[os.getpid()] = psycopg_pool.ConnectionPool(
                    self.url,
                    kwargs={"autocommit": True, **self._options()},
                    min_size=0,
                    max_size=self._max_connections,
                    timeout=self._timeout,
                    reconnect_timeout=self._timeout,
                    configure=self._configure,
                    open=True,
                )
            return pool

    @contextmanager
    def _transaction(self, begin: LiteralString, user: str | None = None) -> Generator["Connection"]:
        """One transaction that sees the rows of a user; committed at the end of the block."""
        with self._connection() as connection:
            with connection.pipeline():
                connection.execute(begin)
                if user is not None:
                    connection.execute("SELECT set_config('contextune.user', %s, true)", (user,))
            yield connection

    @contextmanager
    def _connection(self) -> Generator["Connection"]:
        """A connection of the pool."""
        with self._errors():
            pool, connection = self._checked_connection()
            try:
                with self._lock:
                    self._in_use.add(connection)
                with connection:
                    yield connection
            finally:
                with self._lock:
                    self._in_use.discard(connection)
                pool.putconn(connection)

    def _checked_connection(self) -> "tuple[psycopg_pool.ConnectionPool[Connection], Connection]":
        """A connection on which the server answers; one that it has closed, or is silent on, is replaced."""
        end = monotonic() + self._timeout
        while True:
            # a check by the pool itself would not see that the server has become unreachable
            self.check_reachable()
            pool = self._pool()
            connection = pool.getconn(max(0.0, end - monotonic()))
            try:
                check_answer(connection, min(_CHECK_SECONDS, self._timeout))
            except psycopg.OperationalError:
                connection.close()
                pool.putconn(connection)
                if monotonic() >= end:
                    raise
            else:
                return pool, connection

    def _query(
        self,
        setting: LiteralString,
        value: str,
        query: LiteralString,
        values: Any = (),
        *,
        write: bool = False,
    ) -> list[tuple[Any, ...]]:
        """The rows of one query in a transaction of its own, in one round trip."""
        with self._connection() as connection, connection.pipeline():
            connection.execute(WRITE if write else READ)
            connection.execute(f"SELECT set_config('contextune.{setting}', %s, true)", (value,))
            cursor = connection.execute(query, values)
            connection.execute("COMMIT")
            return cursor.fetchall()

    @contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except psycopg_pool.PoolTimeout as error:
            raise StoreError(
                f"{self._name}: no connection within {self._timeout:g} seconds: the server cannot be "
                f"reached, or all {self._max_connections} connections are in use: retry, or allow more"
            ) from error
        except psycopg.errors.ProgramLimitExceeded as error:
            raise InvalidDataError(
                "an id, place or model name is too long for PostgreSQL: use at most 2,000 bytes"
            ) from error
        except psycopg.errors.LockNotAvailable as error:
            raise StoreError(
                f"{self._name}: another process holds the lock; wait for it, or use a longer timeout"
            ) from error
        except psycopg.OperationalError as error:
            raise StoreError(
                f"{self._name} cannot be reached, or has ended the connection: retry (each write is made "
                "completely or not at all)"
            ) from error
        except psycopg.Error as error:
            # the message of the server may quote stored values
            state = error.sqlstate or "no code"
            raise StoreError(
                f"{self._name}: {type(error).__name__} ({state}): check the server's log"
            ) from error
