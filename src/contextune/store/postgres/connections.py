"""Connections to PostgreSQL: a pool, transactions that name their user, and errors in plain words."""

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, LiteralString, Self

from contextune.errors import InvalidDataError, MissingExtraError, StoreError
from contextune.store.postgres.migrate import bypasses_row_security, prepare
from contextune.store.postgres.schema import ROLE
from contextune.store.rows import check_unicode

try:
    import psycopg
    import psycopg_pool
    from psycopg import conninfo
except ImportError as error:
    raise MissingExtraError("a store in PostgreSQL", "postgres") from error

if TYPE_CHECKING:
    Connection = psycopg.Connection[tuple[Any, ...]]

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
    return f"the PostgreSQL store {parts.get('dbname', '')!r} on {parts.get('host', 'this machine')}"


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
        self.is_reachable = True
        """Set by who listens to the server; while it is False, calls fail at once instead of waiting."""
        with self._errors(), psycopg.connect(url, autocommit=True, **self._options()) as connection:
            self._prepare(connection)

    def _prepare(self, connection: "Connection") -> None:
        """Create or migrate the tables."""
        prepare(connection, self._name)

    def _configure(self, connection: "Connection") -> None:
        """Set up a new connection of the pool."""
        connection.execute("SET search_path = contextune")
        if bypasses_row_security(connection):
            connection.execute(f"SET ROLE {ROLE}")

    def __enter__(self) -> Self:
        """Close it at the end of a `with` block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close all connections."""
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
                    # a connection that the server has closed is replaced before it is used
                    check=psycopg_pool.ConnectionPool.check_connection,
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
        if not self.is_reachable:
            raise StoreError(f"{self._name} cannot be reached: it is tried again all the time; retry")
        with self._errors(), self._pool().connection() as connection:
            yield connection

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
