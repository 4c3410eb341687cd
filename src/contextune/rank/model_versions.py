"""Versions of a model in a folder: one is current, and any other can be made current by name.

A model's folder has a card, `card.json`, with what its other files do not hold.
"""

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from contextune._internal.assets import file_checksum
from contextune.errors import RankerError

Parsed = TypeVar("Parsed")
_FILE = "card.json"
FILE_NAME = "versions.json"
BUNDLED = "bundled"
"""The name of the bundled model, which is current before the first version."""
_FORMAT = 1


def write_card(folder: Path, card: Mapping[str, Any]) -> None:
    """Write the card of a model; the folder must exist."""
    (folder / _FILE).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")


def read_card(folder: Path, parse: Callable[[Mapping[str, Any]], Parsed], what: str, command: str) -> Parsed:
    """Parse the card of a model; raise `RankerError`, which names `what` is missing and who creates it."""
    try:
        return parse(json.loads((folder / _FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RankerError(
            f"no usable {what} in {str(folder)!r}: {error}; create one with 'contextune train {command}'"
        ) from None


@dataclass(frozen=True, slots=True)
class ModelVersion:
    """A version: when it was made, the checksums of its files, and what it was trained and measured on."""

    made: str
    files: Mapping[str, str]
    about: Mapping[str, Any] = field(default_factory=dict[str, Any])


class ModelVersions:
    """A folder of versions. Each is a folder in it; `versions.json` lists them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._versions: dict[str, ModelVersion] = {}
        self._history = [BUNDLED]
        path = folder / FILE_NAME
        if not path.exists():
            return
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["format"] != _FORMAT:
                raise ValueError(f"format {content['format']!r}, not {_FORMAT}")
            self._versions = {name: ModelVersion(**entry) for name, entry in content["versions"].items()}
            self._history = [str(name) for name in content["history"]]
            if not self._history or not {*self._history} <= {*self._versions, BUNDLED}:
                raise ValueError("the history names unknown versions")
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise RankerError(
                f"{path}: not a list of model versions: {error}; restore it from a backup"
            ) from None

    @staticmethod
    def is_at(folder: Path) -> bool:
        """Whether a folder has versions."""
        return (folder / FILE_NAME).is_file()

    @property
    def current(self) -> str:
        """The name of the current version."""
        return self._history[-1]

    @property
    def versions(self) -> Mapping[str, ModelVersion]:
        """All versions by name, oldest first."""
        return self._versions

    def next_name(self) -> str:
        """A name that is not in use: v1, v2, and so on."""
        number = len(self._versions) + 1
        while f"v{number}" in self._versions or (self.folder / f"v{number}").exists():
            number += 1
        return f"v{number}"

    def add(self, name: str, save: Callable[[Path], None], about: Mapping[str, Any]) -> ModelVersion:
        """Save a model as a new version; it is not current yet."""
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name) or name in (BUNDLED, FILE_NAME):
            raise RankerError(f"not a name of a version: {name!r} (use letters, digits, '.', '_' and '-')")
        folder = self.folder / name
        if name in self._versions or folder.exists():
            raise RankerError(f"there is a version {name!r} already: choose another name")
        try:
            folder.mkdir(parents=True)
            save(folder)
            files = {path.name: file_checksum(path) for path in sorted(folder.iterdir())}
        except OSError as error:
            raise RankerError(f"{folder}: the model cannot be written: {error.strerror}") from None
        made = datetime.now(UTC).isoformat(timespec="seconds")
        version = self._versions[name] = ModelVersion(made, files, about)
        self._write()
        return version

    def activate(self, name: str) -> None:
        """Make a version current, after its files are verified."""
        if name != BUNDLED:
            self.path(name)
        if name != self.current:
            self._history.append(name)
            self._write()

    def rollback(self, name: str | None = None) -> str:
        """Make the version of this name current, or the one before the current; returns its name."""
        if name is None:
            if len(self._history) < 2:
                raise RankerError(f"{self.folder}: there is no version before {self.current!r}")
            if self._history[-2] != BUNDLED:
                self.path(self._history[-2])
            self._history.pop()
            self._write()
        else:
            self.activate(name)
        return self.current

    def path(self, name: str | None = None) -> Path | None:
        """The folder of a version, by default of the current one; None for the bundled model.

        Raise `RankerError` if a file of it has changed.
        """
        name = self.current if name is None else name
        if name == BUNDLED:
            return None
        if name not in self._versions:
            known = ", ".join((*self._versions, BUNDLED))
            raise RankerError(f"{self.folder}: no version {name!r}: choose one of {known}")
        folder = self.folder / name
        for file, expected in self._versions[name].files.items():
            try:
                actual = file_checksum(folder / file)
            except OSError as error:
                actual = str(error.strerror)
            if actual != expected:
                raise RankerError(
                    f"{folder / file}: the file of model version {name!r} is missing or has changed; "
                    "go back to another with 'contextune fleet rollback'"
                )
        return folder

    def _write(self) -> None:
        content = {
            "format": _FORMAT,
            "history": self._history,
            "versions": {name: asdict(version) for name, version in self._versions.items()},
        }
        temporary = self.folder / f".{FILE_NAME}.{os.getpid()}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
            temporary.replace(self.folder / FILE_NAME)
        except OSError as error:
            raise RankerError(f"{self.folder}: cannot be written: {error.strerror}") from None
