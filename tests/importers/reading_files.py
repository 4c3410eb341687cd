"""Reads files made by a test as an import would."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from contextune.importers.files import SkippedEntry, SourceFile, files_in
from contextune.importers.reader import Found, ImportContext
from contextune.importers.registry import reader_for
from contextune.types import Item, User

LISBON = ZoneInfo("Europe/Lisbon")
NOW = datetime(2024, 5, 16, 17, 40, tzinfo=LISBON)
INES = User("ines", profile={"name": "Ines Duarte", "email": "ines@example.com"}, zone=LISBON)
ABOUT = ImportContext(INES, NOW)


def only_file(path: Path) -> SourceFile:
    (file,) = [file for file in files_in([path]) if isinstance(file, SourceFile)]
    return file


def found_in(path: Path, about: ImportContext = ABOUT) -> list[Found]:
    """All that the readers find in a file, folder or archive."""
    found: list[Found] = []
    for file in files_in([path]):
        reader = None if isinstance(file, SkippedEntry) else reader_for(file)
        if isinstance(file, SkippedEntry):
            found.append(file)
        elif reader:
            found += reader.read(file, about)
        else:
            found.append(SkippedEntry(file.where, "no format that is known"))
    return found


def items_in(path: Path, about: ImportContext = ABOUT) -> list[Item]:
    return [one for one in found_in(path, about) if isinstance(one, Item)]


def skipped_in(path: Path, about: ImportContext = ABOUT) -> list[str]:
    """Why things were skipped."""
    return [one.why for one in found_in(path, about) if isinstance(one, SkippedEntry)]


def fields_in(path: Path, about: ImportContext = ABOUT) -> list[Mapping[str, Any]]:
    return [item.fields for item in items_in(path, about)]


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # pyright: ignore[reportArgumentType]  # year, month, day, hour
