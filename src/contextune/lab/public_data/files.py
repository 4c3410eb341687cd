"""Published files, an entry at a time: some are larger than memory. What is not as it should be is named."""

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
_PIECE = 1 << 20
_BLANK = re.compile(r"\s*")
_LONGEST_FIELD = (1 << 31) - 1
_DECODER = json.JSONDecoder()
_short = Repr()
_short.maxstring = _short.maxother = 60


def entries(file: Path) -> Iterator[tuple[str, Entry]]:
    """The objects of a JSON list, each with the words for where it stands, read piece by piece."""
    with _opened(file) as stream:
        pieces = _ChunkReader(stream)
        if pieces.sign() != "[":
            raise InvalidDataError(f"{file}: is no JSON list: give the file as it is published")
        number = 0
        pieces.step()
        while (sign := pieces.sign()) != "]":
            if number and sign != ",":
                raise InvalidDataError(f"{file}: the list does not go on after entry {number}, nor end there")
            if number:
                pieces.step()
            number += 1
            where = f"{file}: entry {number}"
            try:
                value = pieces.value()
            except json.JSONDecodeError as error:
                raise InvalidDataError(f"{where} is no JSON: {error}") from None
            yield where, checked_entry(value, where)


def lines(file: Path) -> Iterator[tuple[str, Entry]]:
    """The objects of a file of JSON Lines."""
    with _opened(file) as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            where = f"{file}: line {number}"
            try:
                value = json.loads(line)
            except json.JSONDecodeError as error:
                raise InvalidDataError(f"{where} is no JSON: {error}") from None
            yield where, checked_entry(value, where)


def whole(file: Path) -> Entry:
    """The one object a file holds."""
    with _opened(file) as stream:
        try:
            value = json.load(stream)
        except json.JSONDecodeError as error:
            raise InvalidDataError(f"{file}: is no JSON: {error}") from None
    return checked_entry(value, str(file))


def rows(file: Path, width: int, delimiter: str = "\t") -> Iterator[tuple[str, list[str]]]:
    """The rows of a table, as pandas writes one."""
    limit = csv.field_size_limit(_LONGEST_FIELD)  # a document may hold a whole example answer
    try:
        with _opened(file) as stream:
            reader = csv.reader(stream, delimiter=delimiter, strict=True)
            for row in reader:
                where = f"{file}: line {reader.line_num}"
                if row and len(row) != width:
                    raise InvalidDataError(f"{where} has {len(row)} columns, not {width}: {_short.repr(row)}")
                if row:
                    yield where, row
    except csv.Error as error:
        raise InvalidDataError(f"{file}: is no table: {error}") from None
    finally:
        csv.field_size_limit(limit)


def table(file: Path, *columns: str, delimiter: str = "\t") -> Iterator[tuple[str, list[str]]]:
    """The rows of a table after its header, which has to name these columns."""
    given = rows(file, len(columns), delimiter)
    if (first := next(given, None)) is None:
        raise InvalidDataError(f"{file}: is empty, without even the header {', '.join(columns)}")
    if first[1] != [*columns]:
        raise InvalidDataError(f"{first[0]} is {_short.repr(first[1])}, not the header {', '.join(columns)}")
    yield from given


def checked_entry(value: object, where: str) -> Entry:
    """An object, or an error."""
    if not isinstance(value, dict):
        raise InvalidDataError(f"{where} is {_short.repr(value)}, not an object")
    return cast("Entry", value)


def checked_list(entry: Entry, name: str, where: str) -> list[object]:
    """A list under this name; none and nothing stand for an empty one where the name is there."""
    value = _given(entry, name, where)
    if value is None or value == "":
        return []
    if not isinstance(value, list):
        raise InvalidDataError(f"{where}: {name!r} is {_short.repr(value)}, not a list")
    return cast("list[object]", value)


def checked_text(entry: Entry, name: str, where: str) -> str:
    """A text under this name."""
    return a_text(_given(entry, name, where), f"{where}: {name!r}")


def a_text(value: object, where: str) -> str:
    """A text, or an error."""
    if not isinstance(value, str):
        raise InvalidDataError(f"{where} is {_short.repr(value)}, not a text")
    return value


def an_id(entry: Entry, name: str, where: str) -> str:
    """An id under this name: some are numbers, some texts."""
    value = _given(entry, name, where)
    if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
        raise InvalidDataError(f"{where}: {name!r} is {_short.repr(value)}, not an id")
    return str(value)


def _given(entry: Entry, name: str, where: str) -> object:
    if name not in entry:
        raise InvalidDataError(f"{where} has no {name!r}, only {_short.repr(list(entry))}")
    return entry[name]


class _ChunkReader:
    """JSON values out of a stream, with no more of it in memory than a value needs."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._text = ""
        self._at = 0

    def sign(self) -> str:
        """The next character that is not blank; nothing at the end."""
        while True:
            found = _BLANK.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def step(self) -> None:
        """Go past that character."""
        self._at += 1

    def value(self) -> object:
        """The next value."""
        self.sign()
        while True:
            try:
                value, self._at = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError:
                if not self._more():
                    raise
            else:
                return value

    def _more(self) -> bool:
        rest = self._text[self._at :]
        piece = self._stream.read(
            max(_PIECE, len(rest))
        )  # twice as much each time: a long value is tried only so often
        self._text, self._at = rest + piece, 0
        return bool(piece)


@contextmanager
def _opened(file: Path) -> Generator[TextIO]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            yield stream
    except UnicodeDecodeError as error:
        raise InvalidDataError(f"{file}: is not UTF-8: {error}") from None
    except OSError as error:
        raise InvalidDataError(f"{file}: cannot be read: {error.strerror or error}") from None
