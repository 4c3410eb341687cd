"""Rows of tables, also of files made to take all memory."""

import io
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, BinaryIO, cast

import pytest

from contextune.importers.files import SourceFile
from contextune.importers.parsing import csv_rows
from contextune.importers.parsing.csv_rows import CsvRow, read_rows

START, END = b"a,b\n1,2\n", b"\n3,4\n"


class _Endless(io.RawIOBase):
    """A file of a start, a piece that is repeated, and an end; it is never in memory as a whole."""

    def __init__(self, piece: bytes, size: int) -> None:
        self._parts = [START, *[piece * (65_536 // len(piece))] * (size // 65_536), END]
        self._part = self._offset = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while self._part < len(self._parts) and self._offset == len(self._parts[self._part]):
            self._part, self._offset = self._part + 1, 0
        if self._part == len(self._parts):
            return 0
        data = self._parts[self._part][self._offset : self._offset + len(buffer)]
        buffer[: len(data)] = data
        self._offset += len(data)
        return len(data)


def rows_of(stream: BinaryIO) -> Iterator[CsvRow]:
    file = SourceFile("x.csv", PurePosixPath("x.csv"), 0, lambda: stream, datetime.now(UTC), head=START)
    return read_rows(file, stream, ["a", "b"])


@pytest.mark.parametrize(
    "piece",
    [b"x", b"1,", b'"x\n",', b'"', b'""'],
    ids=["one cell", "cells", "lines in cells", "quotes", "pairs"],
)
def test_endless_row_takes_bounded_memory(piece: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_rows, "_MAX_ROW", 20_000)
    stream = cast("BinaryIO", io.BufferedReader(_Endless(piece, 600_000)))
    good = bad = 0
    tracemalloc.start()
    try:
        for row in rows_of(stream):
            good += row.values == {"a": "1", "b": "2"}
            bad += row.values is None
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert good == 1
    assert bad
    assert peak < 400_000


def test_rows_behind_a_long_one_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_rows, "_MAX_ROW", 1_000)
    text = START + b"x" * 5_000 + b"\n5,6\n" + b'"y' * 400 + b",\n" * 2 + b"7,8\n"
    values = [row.values for row in rows_of(cast("BinaryIO", io.BytesIO(text)))]
    assert values[:4] == [{"a": "a", "b": "b"}, {"a": "1", "b": "2"}, None, {"a": "5", "b": "6"}]
    assert values[-1] == {"a": "7", "b": "8"}
