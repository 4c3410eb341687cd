"""Reads files made by a test as an import would."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from contextune.sources.files import File, Skipped, files_in
from contextune.sources.readers import reader_for
from contextune.sources.reading import About, Found
from contextune.types import Item, User

LISBON = ZoneInfo("Europe/Lisbon")
NOW = datetime(2024, 5, 16, 17, 40, tzinfo=LISBON)
INES = User("ines", profile={"name": "Ines Duarte", "email": "ines@example.com"}, zone=LISBON)
ABOUT = About(INES, NOW)


def only_file(path: Path) -> File:
    (file,) = [file for file in files_in([path]) if isinstance(file, File)]
    return file


def found_in(path: Path, about: About = ABOUT) -> list[Found]:
    """All that the readers find in a file, folder or archive."""
    found: list[Found] = []
    for file in files_in([path]):
        reader = None if isinstance(file, Skipped) else reader_for(file)
        if isinstance(file, Skipped):
            found.append(file)
        elif reader:
            found += reader.read(file, about)
        else:
            found.append(Skipped(file.where, "no format that is known"))
    return found


def items_in(path: Path, about: About = ABOUT) -> list[Item]:
    return [one for one in found_in(path, about) if isinstance(one, Item)]


def skipped_in(path: Path, about: About = ABOUT) -> list[str]:
    """Why things were skipped."""
    return [one.why for one in found_in(path, about) if isinstance(one, Skipped)]


def fields_in(path: Path, about: About = ABOUT) -> list[Mapping[str, Any]]:
    return [item.fields for item in items_in(path, about)]


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # pyright: ignore[reportArgumentType]  # year, month, day, hour
