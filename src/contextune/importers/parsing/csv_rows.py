"""Read CSV rows as mappings with normalised column names."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple, cast

from contextune.importers.files import SourceFile
from contextune.importers.parsing.charsets import CP1252_FALLBACK

_DELIMITERS = ",;\t|"
_SUFFIXES = (".csv", ".tsv")


_MAX_ROW = 1_000_000
"""Characters of a row; a longer one is skipped without being kept in memory."""


class CsvRow(NamedTuple):
    """A row and the line it ends on; `values` is None if it cannot be read."""

    line: int
    values: Mapping[str, str] | None


def first_row(file: SourceFile) -> list[str]:
    """The first row: the column names, or data if the table has no header."""
    if file.suffix not in _SUFFIXES:
        return []
    line = next((line for line in file.start.splitlines() if line.strip()), "")
    try:
        return next(csv.reader([line], delimiter=_delimiter(line)))
    except (csv.Error, StopIteration):
        return []


def read_rows(file: SourceFile, stream: BinaryIO, names: Sequence[str]) -> Iterator[CsvRow]:
    """All rows, including the header, as mappings with these names; columns named "" are dropped."""
    line = next((line for line in file.start.splitlines() if line.strip()), "")
    wide = file.head[:2] in (b"\xff\xfe", b"\xfe\xff")
    encoding, errors = ("utf-16", "replace") if wide else ("utf-8-sig", CP1252_FALLBACK)
    text = io.TextIOWrapper(cast("Any", stream), encoding, errors=errors, newline="")
    lines = _BoundedLines(text)
    reader = csv.reader(lines, delimiter=_delimiter(line))
    while True:
        lines.start_row()
        try:
            values = next(reader)
        except StopIteration:
            return
        except csv.Error:
            yield CsvRow(
                reader.line_num, None
            )  # a cell of more than 128 KB, or a long row; the others are read
            continue
        if any(value.strip() for value in values):
            row = dict(zip(names, (value.strip() for value in values), strict=False))
            row.pop("", None)
            yield CsvRow(reader.line_num, row)


class _BoundedLines:
    """The lines of a table; raises `csv.Error` where a row is too long, and goes on behind it."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._text = text
        self._length = 0

    def __iter__(self) -> "_BoundedLines":
        return self

    def __next__(self) -> str:
        line = self._text.readline(_MAX_ROW)
        if not line:
            raise StopIteration
        self._length += len(line)
        if self._length < _MAX_ROW:
            return line
        while line and not line.endswith(("\n", "\r")):
            line = self._text.readline(_MAX_ROW)
        raise csv.Error("row too long")

    def start_row(self) -> None:
        """The next line begins a row."""
        self._length = 0


def _delimiter(line: str) -> str:
    return max(_DELIMITERS, key=line.count)
