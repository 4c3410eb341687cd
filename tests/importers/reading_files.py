"""Helpers that read files as an import does."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from contextune.importers.files import SkippedEntry, SourceFile, iter_files
from contextune.importers.reader import ImportContext, ImportRecord, read_file
from contextune.importers.registry import detect_reader
from contextune.types import Item, User

LISBON = ZoneInfo("Europe/Lisbon")
NOW = datetime(2024, 5, 16, 17, 40, tzinfo=LISBON)
INES = User("ines", profile={"name": "Ines Duarte", "email": "ines@example.com"}, zone=LISBON)
CONTEXT = ImportContext(INES, NOW)


def only_file(path: Path) -> SourceFile:
    (file,) = [file for file in iter_files([path]) if isinstance(file, SourceFile)]
    return file


def read_path(path: Path, context: ImportContext = CONTEXT) -> list[ImportRecord]:
    """All records in a file, folder or archive."""
    records: list[ImportRecord] = []
    context = replace(context)  # nothing was read before
    for file in iter_files([path]):
        reader = None if isinstance(file, SkippedEntry) else detect_reader(file)
        if isinstance(file, SkippedEntry):
            records.append(file)
        elif reader:
            records += read_file(reader, file, context)
        else:
            records.append(SkippedEntry(file.where, "unknown format"))
    return records


def items_in(path: Path, context: ImportContext = CONTEXT) -> list[Item]:
    return [record for record in read_path(path, context) if isinstance(record, Item)]


def skipped_in(path: Path, context: ImportContext = CONTEXT) -> list[str]:
    """The reasons of skipped entries."""
    return [record.why for record in read_path(path, context) if isinstance(record, SkippedEntry)]


def fields_in(path: Path, context: ImportContext = CONTEXT) -> list[Mapping[str, Any]]:
    return [item.fields for item in items_in(path, context)]


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # pyright: ignore[reportArgumentType]  # year, month, day, hour
