"""Pages of a user's items and uses, read with LIMIT and bounded in bytes."""

import sqlite3
from collections.abc import Iterable
from typing import Any

from contextune.store.protocol import Page
from contextune.store.quota import stored_sizes
from contextune.store.rows import check_count, check_rows, parse_items, parse_uses
from contextune.types import Item, UsageEvent


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
    rows = take_items(connection.execute(query, (*values, limit, start)), max_bytes)
    check_rows("items", rows, key)
    check_count("items", len({row[0] for row in rows}), len(rows))
    return Page(parse_items(rows), total, next_page(start, len(rows), total))


def take_items(rows: Iterable[Any], max_bytes: int | None) -> list[Any]:
    """Rows of items (id, app, fields, …) until their fields exceed `max_bytes`, but at least one."""
    taken: list[Any] = []
    size = 0
    for row in rows:
        size += len(row[2].encode())
        if max_bytes is not None and size > max_bytes and taken:
            break
        taken.append(row)
    return taken


def uses_page(connection: sqlite3.Connection, key: int, start: int, limit: int) -> Page[UsageEvent]:
    """Uses sorted by time, beginning at number `start`; a time without a zone is sorted as if in UTC."""
    query = """SELECT item, moment, place, time, checksum FROM uses WHERE user = ?
        ORDER BY moment, item, place LIMIT ? OFFSET ?"""
    rows = connection.execute(query, (key, limit, start)).fetchall()
    check_rows("uses", rows, key)
    check_count("uses", len({row[:3] for row in rows}), len(rows))
    total = stored_sizes(connection, key).uses
    return Page(parse_uses(rows), total, next_page(start, len(rows), total))


def next_page(start: int, count: int, total: int) -> int | None:
    """Where the page after `count` entries from `start` begins; None if there is none."""
    return start + count if count and start + count < total else None
