"""Databases of other programs: their table names, and copies that are safe to query."""

import re
import sqlite3
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from shutil import copyfile
from typing import BinaryIO

from contextune.importers.files import SourceFile

_MAGIC = b"SQLite format 3\0"
_SIDE_FILES = ("-wal", "-journal")
"""Suffixes of the files beside a database in use: its latest changes, or its rollback journal."""
_TABLE = re.compile(rb"CREATE (?:VIRTUAL )?TABLE (?:IF NOT EXISTS )?[\"'`\[]?(\w+)", re.IGNORECASE)
_FILE_HEADER = 100
_WAL_HEADER, _FRAME_HEADER = 32, 24
WAL_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
"""First bytes of a write-ahead log, in either byte order of its checksums."""
_INTERIOR, _INTERIOR_HEADER = 5, 12
"""Type of a page that points at other pages, and the bytes before its list of cells."""
_MAX_SCHEMA_PAGES = 64
_MAX_FRAMES = 100_000
"""Pages in the log of a database that are looked at."""


def is_sqlite(file: SourceFile) -> bool:
    """Whether the file is an SQLite database."""
    return file.head.startswith(_MAGIC)


def table_names(file: SourceFile) -> frozenset[str]:
    """Names of the tables of an SQLite file, read from its schema pages; empty for any other file.

    Only these pages are read, because a folder may hold large databases of many programs. Those in the log
    beside the file (`-wal`) count: while a program runs, all tables of a new database may be there.
    """
    if not is_sqlite(file):
        return frozenset()
    try:
        with file.open() as stream, ExitStack() as stack:
            log = _side_file(file, "-wal")
            read_page = _page_reader(stream, stack.enter_context(log.open("rb")) if log else None)
            return frozenset(
                name.decode("ascii", "replace").lower()
                for page in _schema_pages(read_page)
                for name in _TABLE.findall(page)
            )
    except (OSError, EOFError, ValueError):
        return frozenset()


def column_names(database: sqlite3.Connection, table: str) -> frozenset[str]:
    """Names of the columns of a table, in lower case; empty if there is no such table."""
    rows = database.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return frozenset(str(name).lower() for (name,) in rows)


def _page_reader(stream: BinaryIO, log: BinaryIO | None) -> Callable[[int], bytes]:
    """A function that reads a page by its number, from the log if it is there."""
    size = int.from_bytes(stream.read(_FILE_HEADER)[16:18], "big")
    size = 65_536 if size == 1 else size
    places: Mapping[int, int] = _log_pages(log, size) if log else {}

    def read_page(number: int) -> bytes:
        if log and number in places:
            log.seek(places[number])
            return log.read(size)
        stream.seek((number - 1) * size)
        return stream.read(size)

    return read_page


def _log_pages(log: BinaryIO, size: int) -> Mapping[int, int]:
    """Where the latest version of each page begins in a write-ahead log; empty if it is not one."""
    header = log.read(_WAL_HEADER)
    if not header.startswith(WAL_MAGIC) or int.from_bytes(header[8:12], "big") != size:
        return {}
    places: dict[int, int] = {}
    for number in range(_MAX_FRAMES):
        start = _WAL_HEADER + number * (_FRAME_HEADER + size)
        log.seek(start)
        frame = log.read(_FRAME_HEADER)
        # a frame with other salts is left from before the log was last emptied
        if len(frame) < _FRAME_HEADER or frame[8:16] != header[16:24]:
            break
        places[int.from_bytes(frame[:4], "big")] = start + _FRAME_HEADER
    return places


def _schema_pages(read_page: Callable[[int], bytes]) -> Generator[bytes]:
    """The pages of the table `sqlite_master`: the first, and those it points at."""
    pages, seen = [1], {1}
    while pages and len(seen) < _MAX_SCHEMA_PAGES:
        number = pages.pop()
        page = read_page(number)
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
    """Open a copy of the database, because a running program keeps its own locked.

    Raises `sqlite3.DatabaseError` if the database is damaged.
    """
    with file.on_disk() as copy:
        for suffix in _SIDE_FILES:
            if side_file := _side_file(file, suffix):
                copyfile(side_file, copy.with_name(copy.name + suffix))
        with closing(_connect(copy)) as database:
            try:
                yield database
            except UnicodeDecodeError as error:  # names in the schema; `_text` decodes any value
                raise sqlite3.DatabaseError("damaged schema") from error


def _side_file(file: SourceFile, suffix: str) -> Path | None:
    """The file beside a database with this suffix, if there is one; links are not followed."""
    path = file.disk_path and file.disk_path.with_name(file.disk_path.name + suffix)
    return path if path and path.is_file() and not path.is_symlink() else None


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path)
    # the file is untrusted: nothing in its schema may run
    database.execute("PRAGMA trusted_schema = OFF")
    database.text_factory = _text
    return database


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")
