"""Checksums of rows: SQLite itself does not notice a changed byte in a value."""

import sqlite3
from collections.abc import Sequence
from typing import Any
from zlib import crc32


class DamagedRowError(sqlite3.DatabaseError):
    """Stored data differ from what was written."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


def row_checksum(*values: str | bytes | int | None) -> int:
    """CRC-32 of the values of a row."""
    return crc32(
        b"\x1f".join([value if isinstance(value, bytes) else str(value).encode() for value in values])
    )


def check_rows(table: str, rows: Sequence[tuple[Any, ...]], *owner: int) -> None:
    """Raise `DamagedRowError` unless each row ends with the checksum of `owner` and its other values."""
    for row in rows:
        if row_checksum(*owner, *row[:-1]) != row[-1]:
            raise DamagedRowError(f"a row of the table {table} does not match its checksum")


def check_count(table: str, count: int, expected: int) -> None:
    """Raise `DamagedRowError` unless a user has as many different rows as expected."""
    if count != expected:
        raise DamagedRowError(f"the table {table} has {count} of {expected} rows of a user")
