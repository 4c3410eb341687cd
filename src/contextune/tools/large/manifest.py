"""The file that says of which segments an index consists, and what their files must contain."""

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from typing import Any

from contextune._internal.assets import file_checksum
from contextune.errors import StoreError
from contextune.tools.large.segment import GRAPH_FILE

FORMAT = 1
MANIFEST = "index.json"


@dataclass(frozen=True, slots=True)
class FileRecord:
    """What a file must contain."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """One generation of an index."""

    generation: int
    embedder: str
    dimension: int
    catalog: str
    """The id of the catalogue file."""
    revision: int
    """The revision of the catalogue file."""
    tools: int
    averages: Mapping[str, float]
    """Mean length of each field."""
    segments: tuple[str, ...]
    """Folders."""
    removed: tuple[str | None, ...]
    """For each segment the file of its rows that are no longer tools of the catalogue."""
    files: Mapping[str, FileRecord] = field(default_factory=dict[str, FileRecord])
    """By path in the folder of the index."""

    def write(self, folder: Path) -> None:
        """Replace the manifest of a folder in one step."""
        body = {"format": FORMAT, **asdict(self)}
        text = json.dumps({**body, "checksum": _checksum(body)}, indent=1)
        fresh = folder / f"{MANIFEST}.{os.getpid()}.new"
        with fresh.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(folder / MANIFEST)

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        """Read the manifest of a folder; raise `StoreError` if there is none, or not a whole one."""
        try:
            body: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
            if body.pop("format") != FORMAT:
                raise StoreError(
                    f"the index {str(folder)!r} is of another version of Contextune: build it again "
                    "(contextune tools index build)"
                )
            if body.pop("checksum") != _checksum({"format": FORMAT, **body}):
                raise ValueError
            body["files"] = {name: FileRecord(**record) for name, record in body["files"].items()}
            for name in ("segments", "removed"):
                body[name] = tuple(body[name])
            return cls(**body)
        except FileNotFoundError as error:
            raise StoreError(
                f"no index at {str(folder)!r}: create it with 'contextune tools index build'"
            ) from error
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise _damaged(folder / MANIFEST) from error

    def check(self, folder: Path, *, deep: bool = False) -> None:
        """Raise `StoreError` if a file is missing or has another size, or with `deep` another content.

        Graphs are always read: a damaged one could crash the process.
        """
        for name, record in self.files.items():
            path = folder / name
            if path.stat().st_size != record.size:
                raise _damaged(path)
            if (deep or path.name == GRAPH_FILE) and file_checksum(path) != record.sha256:
                raise _damaged(path)


def delete_unused(folder: Path, *manifests: Manifest | None) -> None:
    """Delete what none of these generations uses."""
    kept = {MANIFEST, "lock.db", "lock.db-journal"}
    for manifest in filter(None, manifests):
        kept |= {*manifest.segments, *filter(None, manifest.removed)}
    for path in folder.iterdir():
        if path.name in kept:
            continue
        if path.is_dir():
            rmtree(path, ignore_errors=True)  # files in use stay on Windows, until the next update
        else:
            with suppress(OSError):
                path.unlink()


def record_files(
    folder: Path, names: Iterable[str], known: Mapping[str, FileRecord]
) -> dict[str, FileRecord]:
    """Size and digest of all files of segments, and of single files; those in `known` are not read again."""
    paths = [
        path
        for name in names
        for path in (sorted((folder / name).iterdir()) if (folder / name).is_dir() else [folder / name])
    ]
    relative = {path.relative_to(folder).as_posix(): path for path in paths}
    return {
        name: known[name] if name in known else FileRecord(path.stat().st_size, file_checksum(path))
        for name, path in relative.items()
    }


def _checksum(body: Mapping[str, Any]) -> str:
    return sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _damaged(path: Path) -> StoreError:
    return StoreError(
        f"the index file {str(path)!r} is damaged: build the index again (contextune tools index build)"
    )
