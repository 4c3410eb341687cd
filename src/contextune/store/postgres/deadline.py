"""Deadlines for a server that neither answers nor closes its connections: it hangs, or its machine does."""

import selectors
import socket
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

import psycopg

if TYPE_CHECKING:
    Connection = psycopg.Connection[tuple[Any, ...]]


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
