"""Databases of other programs: their table names, and copies that are safe to query."""

import re
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from shutil import copyfile
from typing import BinaryIO

from contextune.importers.files import SourceFile

_MAGIC = b"SQLite format 3\0"
_SIDE_FILES = ("-wal", "-journal")
"""Suffixes of the files beside a database in use: its latest changes, or its rollback journal."""
_TABLE = re.compile(rb"CREATE (?:VIRTUAL )?TABLE (?:IF NOT EXISTS )?[\"'`\[]?(\w+)", re.IGNORECASE)
_FILE_HEADER = 100
_INTERIOR, _INTERIOR_HEADER = 5, 12
"""Type of a page that points at other pages, and the bytes before its list of cells."""
_MAX_SCHEMA_PAGES = 64


def is_sqlite(file: SourceFile) -> bool:
    """Whether the file is an SQLite database."""
    return file.head.startswith(_MAGIC)


def table_names(file: SourceFile) -> frozenset[str]:
    """Names of the tables of an SQLite file, read from its schema pages; empty for any other file.

    Only these pages are read, because a folder may hold large databases of many programs.
    """
    if not is_sqlite(file):
        return frozenset()
    try:
        with file.open() as stream:
            return frozenset(
                name.decode("ascii", "replace").lower()
                for page in _schema_pages(stream)
                for name in _TABLE.findall(page)
            )
    except (OSError, EOFError, ValueError):
        return frozenset()


def _schema_pages(stream: BinaryIO) -> Generator[bytes]:
    """The pages of the table `sqlite_master`: the first, and those it points at."""
    start = stream.read(_FILE_HEADER)
    size = int.from_bytes(start[16:18], "big")
    size = 65_536 if size == 1 else size
    if size < 512:
        return
    pages, seen = [1], {1}
    while pages and len(seen) < _MAX_SCHEMA_PAGES:
        number = pages.pop()
        stream.seek((number - 1) * size)
        page = stream.read(size)
        yield page
        header = _FILE_HEADER if number == 1 else 0
        if page[header : header + 1] == bytes([_INTERIOR]):
            cells = int.from_bytes(page[header + 3 : header + 5], "big")
            children = [int.from_bytes(page[header + 8 : header + 12], "big")]
            for cell in range(cells):
                place = header + _INTERIOR_HEADER + 2 * cell
                pointer = int.from_bytes(page[place : place + 2], "big")
                children.append(int.from_bytes(page[pointer : pointer + 4], "big"))
            pages += [child for child in children if child > 1 and child not in seen]
            seen.update(children)


@contextmanager
def open_copy(file: SourceFile) -> Generator[sqlite3.Connection]:
    """Open a copy of the database, because a running program keeps its own locked."""
    with file.on_disk() as copy:
        for suffix in _SIDE_FILES:
            side_file = file.disk_path and file.disk_path.with_name(file.disk_path.name + suffix)
            if side_file and side_file.is_file() and not side_file.is_symlink():
                copyfile(side_file, copy.with_name(copy.name + suffix))
        with closing(_connect(copy)) as database:
            yield database


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path)
    # the file is untrusted: nothing in its schema may run
    database.execute("PRAGMA trusted_schema = OFF")
    database.text_factory = _text
    return database


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")
