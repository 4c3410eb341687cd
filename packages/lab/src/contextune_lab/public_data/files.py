"""Streaming readers of published JSON, JSONL and TSV files, with the location of malformed entries."""

import csv
import json
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from reprlib import Repr
from typing import TextIO, cast

from contextune.errors import InvalidDataError

Entry = dict[str, object]
_CHUNK_SIZE = 1 << 20
_BLANK = re.compile(r"\s*")
_LONGEST_FIELD = (1 << 31) - 1
_DECODER = json.JSONDecoder()
_short = Repr()
_short.maxstring = _short.maxother = 60


def read_json_array(file: Path) -> Iterator[tuple[str, Entry]]:
    """Stream the objects of a JSON array, each with a description of its location."""
    with _open(file) as stream:
        chunks = _ChunkReader(stream)
        if chunks.peek() != "[":
            raise InvalidDataError(f"{file}: not a JSON array: use the published file")
        number = 0
        chunks.skip()
        while (peek := chunks.peek()) != "]":
            if number and peek != ",":
                raise InvalidDataError(f"{file}: expected ',' or ']' after entry {number}")
            if number:
                chunks.skip()
            number += 1
            where = f"{file}: entry {number}"
            try:
                value = chunks.value()
            except json.JSONDecodeError as error:
                raise InvalidDataError(f"{where} is not valid JSON: {error}") from None
            yield where, require_object(value, where)


def read_jsonl(file: Path) -> Iterator[tuple[str, Entry]]:
    """Stream the objects of a JSON Lines file."""
    with _open(file) as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            where = f"{file}: line {number}"
            try:
                value = json.loads(line)
            except json.JSONDecodeError as error:
                raise InvalidDataError(f"{where} is not valid JSON: {error}") from None
            yield where, require_object(value, where)


def read_object(file: Path) -> Entry:
    """Read a file that holds one JSON object."""
    with _open(file) as stream:
        try:
            value = json.load(stream)
        except json.JSONDecodeError as error:
            raise InvalidDataError(f"{file}: not valid JSON: {error}") from None
    return require_object(value, str(file))


def read_rows(file: Path, width: int, delimiter: str = "\t") -> Iterator[tuple[str, list[str]]]:
    """Stream the rows of a CSV or TSV file."""
    limit = csv.field_size_limit(_LONGEST_FIELD)  # a document may contain a whole example response
    try:
        with _open(file) as stream:
            reader = csv.reader(stream, delimiter=delimiter, strict=True)
            for row in reader:
                where = f"{file}: line {reader.line_num}"
                if row and len(row) != width:
                    raise InvalidDataError(f"{where} has {len(row)} columns, not {width}: {_short.repr(row)}")
                if row:
                    yield where, row
    except csv.Error as error:
        raise InvalidDataError(f"{file}: not a table: {error}") from None
    finally:
        csv.field_size_limit(limit)


def read_table(file: Path, *columns: str, delimiter: str = "\t") -> Iterator[tuple[str, list[str]]]:
    """Stream the rows after the header, which must name these columns."""
    rows = read_rows(file, len(columns), delimiter)
    if (first := next(rows, None)) is None:
        raise InvalidDataError(f"{file}: empty, expected the header {', '.join(columns)}")
    if first[1] != [*columns]:
        raise InvalidDataError(f"{first[0]} is {_short.repr(first[1])}, not the header {', '.join(columns)}")
    yield from rows


def require_object(value: object, where: str) -> Entry:
    """The value as an object, or an error."""
    if not isinstance(value, dict):
        raise InvalidDataError(f"{where} is {_short.repr(value)}, not an object")
    return cast("Entry", value)


def require_list(entry: Entry, name: str, where: str) -> list[object]:
    """The list under `name`; null and "" count as empty."""
    value = _get(entry, name, where)
    if value is None or value == "":
        return []
    if not isinstance(value, list):
        raise InvalidDataError(f"{where}: {name!r} is {_short.repr(value)}, not a list")
    return cast("list[object]", value)


def get_text(entry: Entry, name: str, where: str) -> str:
    """The text under `name`."""
    return require_text(_get(entry, name, where), f"{where}: {name!r}")


def require_text(value: object, where: str) -> str:
    """The value as a text, or an error."""
    if not isinstance(value, str):
        raise InvalidDataError(f"{where} is {_short.repr(value)}, not a text")
    return value


def get_id(entry: Entry, name: str, where: str) -> str:
    """The id under `name`, a number or a text."""
    value = _get(entry, name, where)
    if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
        raise InvalidDataError(f"{where}: {name!r} is {_short.repr(value)}, not an id")
    return str(value)


def _get(entry: Entry, name: str, where: str) -> object:
    if name not in entry:
        raise InvalidDataError(f"{where} has no {name!r}, only {_short.repr(list(entry))}")
    return entry[name]


class _ChunkReader:
    """Decodes JSON values from a stream, buffering no more than one value."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._text = ""
        self._position = 0

    def peek(self) -> str:
        """The next character that is not blank; "" at the end."""
        while True:
            match = _BLANK.match(self._text, self._position)
            self._position = match.end() if match else self._position
            if self._position < len(self._text):
                return self._text[self._position]
            if not self._read_more():
                return ""

    def skip(self) -> None:
        """Skip that character."""
        self._position += 1

    def value(self) -> object:
        """Decode the next value."""
        self.peek()
        while True:
            try:
                value, self._position = _DECODER.raw_decode(self._text, self._position)
            except json.JSONDecodeError:
                if not self._read_more():
                    raise
            else:
                return value

    def _read_more(self) -> bool:
        rest = self._text[self._position :]
        chunk = self._stream.read(
            max(_CHUNK_SIZE, len(rest))
        )  # double the size, so that a long value is decoded only a few times
        self._text, self._position = rest + chunk, 0
        return bool(chunk)


@contextmanager
def _open(file: Path) -> Generator[TextIO]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            yield stream
    except UnicodeDecodeError as error:
        raise InvalidDataError(f"{file}: not UTF-8: {error}") from None
    except OSError as error:
        raise InvalidDataError(f"{file}: cannot be read: {error.strerror or error}") from None
