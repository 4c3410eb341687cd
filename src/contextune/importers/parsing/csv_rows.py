"""Read CSV rows as mappings with normalised column names."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple, cast

from contextune.importers.files import SourceFile
from contextune.importers.parsing.charsets import CP1252_FALLBACK

_DELIMITERS = ",;\t|"
_SUFFIXES = (".csv", ".tsv")


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
    reader = csv.reader(text, delimiter=_delimiter(line))
    while True:
        try:
            values = next(reader)
        except StopIteration:
            return
        except csv.Error:
            yield CsvRow(reader.line_num, None)  # a cell of more than 128 KB; the other rows are read
            continue
        if any(value.strip() for value in values):
            row = dict(zip(names, (value.strip() for value in values), strict=False))
            row.pop("", None)
            yield CsvRow(reader.line_num, row)


def _delimiter(line: str) -> str:
    return max(_DELIMITERS, key=line.count)
