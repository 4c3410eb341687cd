"""The rows of a table in a text file, by names that do not hang on how its columns are called."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple, cast

from contextune.importers.files import SourceFile
from contextune.importers.parsing.charsets import WESTERN

_DELIMITERS = ",;\t|"
_SUFFIXES = (".csv", ".tsv")


class CsvRow(NamedTuple):
    """One row, and the line it ends on; nothing where it cannot be read."""

    line: int
    values: Mapping[str, str] | None


def first_row(file: SourceFile) -> list[str]:
    """The names of the columns, or what stands in the first row of a table that has none."""
    if file.suffix not in _SUFFIXES:
        return []
    line = next((line for line in file.start.splitlines() if line.strip()), "")
    try:
        return next(csv.reader([line], delimiter=_delimiter(line)))
    except (csv.Error, StopIteration):
        return []


def rows(file: SourceFile, stream: BinaryIO, names: Sequence[str]) -> Iterator[CsvRow]:
    """The rows below the names of the columns, by these names; columns called "" are left out.

    A table without names has its first row read, too: compare `first_row`.
    """
    line = next((line for line in file.start.splitlines() if line.strip()), "")
    wide = file.head[:2] in (b"\xff\xfe", b"\xfe\xff")
    encoding, errors = ("utf-16", "replace") if wide else ("utf-8-sig", WESTERN)
    text = io.TextIOWrapper(cast("Any", stream), encoding, errors=errors, newline="")
    reader = csv.reader(text, delimiter=_delimiter(line))
    while True:
        try:
            values = next(reader)
        except StopIteration:
            return
        except csv.Error:
            yield CsvRow(reader.line_num, None)  # a cell of more than a hundred kilobytes: the rest is read
            continue
        if any(value.strip() for value in values):
            row = dict(zip(names, (value.strip() for value in values), strict=False))
            row.pop("", None)
            yield CsvRow(reader.line_num, row)


def _delimiter(line: str) -> str:
    return max(_DELIMITERS, key=line.count)
