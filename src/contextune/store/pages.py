"""Pages of a user's items and uses, read with LIMIT and bounded in bytes."""

import sqlite3
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from contextune.store.checksums import check_count, check_rows
from contextune.store.quota import stored_sizes
from contextune.store.rows import parse_items, parse_uses
from contextune.types import Item, UsageEvent

Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True)
class Page(Generic[Entry]):
    """Some of a user's entries."""

    entries: list[Entry]
    total: int
    """Number of entries on all pages."""
    next: int | None
    """Where the next page starts; None after the last page."""


def items_page(
    connection: sqlite3.Connection, key: int, app: str | None, start: int, limit: int, max_bytes: int | None
) -> Page[Item]:
    """Items sorted by id, beginning at number `start`; fewer than `limit` if they exceed `max_bytes`."""
    where, values = "user = ?", [key]
    total = stored_sizes(connection, key).items
    if app is not None:
        where, values = "user = ? AND app = ?", [key, app]
        total = connection.execute(f"SELECT count(*) FROM items WHERE {where}", values).fetchone()[0]  # noqa: S608  # fixed text
    query = f"SELECT id, app, fields, checksum FROM items WHERE {where} ORDER BY id LIMIT ? OFFSET ?"  # noqa: S608  # fixed text
    rows: list[Any] = []
    size = 0
    for row in connection.execute(query, (*values, limit, start)):
        size += len(row[2].encode())
        if max_bytes is not None and size > max_bytes and rows:
            break
        rows.append(row)
    check_rows("items", rows, key)
    check_count("items", len({row[0] for row in rows}), len(rows))
    return Page(parse_items(rows), total, _next(start, len(rows), total))


def uses_page(connection: sqlite3.Connection, key: int, start: int, limit: int) -> Page[UsageEvent]:
    """Uses sorted by time, beginning at number `start`; a time without a zone is sorted as if in UTC."""
    query = """SELECT item, moment, place, time, checksum FROM uses WHERE user = ?
        ORDER BY moment, item, place LIMIT ? OFFSET ?"""
    rows = connection.execute(query, (key, limit, start)).fetchall()
    check_rows("uses", rows, key)
    check_count("uses", len({row[:3] for row in rows}), len(rows))
    total = stored_sizes(connection, key).uses
    return Page(parse_uses(rows), total, _next(start, len(rows), total))


def _next(start: int, count: int, total: int) -> int | None:
    return start + count if count and start + count < total else None
