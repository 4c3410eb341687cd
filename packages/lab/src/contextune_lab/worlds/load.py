"""Import the files of a world as its person would, and keep the store for the next time.

The store is cached by the content of the files and of the package's modules that make items of them: another
world, another importer or another version of the package makes another store.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path

import platformdirs

from contextune import __version__
from contextune.errors import InvalidDataError
from contextune.importers import import_into
from contextune.store import SQLiteStore
from contextune.types import User
from contextune_lab.worlds.world import USER, World

_MODULES = ("importers", "store", "types", "time_phrases")
"""Subpackages that determine what is stored."""


@dataclass(frozen=True, eq=False)
class LoadedWorld:
    """A world with its open store."""

    world: World
    store: SQLiteStore

    @property
    def user(self) -> User:
        """The person, with the contacts that were imported."""
        return self.store.user(USER)


def default_cache() -> Path:
    """The folder of the imported stores."""
    return platformdirs.user_cache_path("contextune", appauthor=False) / "worlds"


@contextmanager
def load_world(
    world: World, *, cache: Path | None = None, now: datetime | None = None, places: bool = True
) -> Generator[LoadedWorld]:
    """Open the store of a world, imported at the first time.

    `now` is the moment of the import, in the person's zone if it names none, by default that of person.json;
    with `places=False`, the user has none.
    Vectors of items are added to the store when it is first asked; write nothing else to it.
    """
    file = imported_store(world, cache=cache, now=now, places=places)
    with SQLiteStore(file) as store:
        yield LoadedWorld(world, store)


def imported_store(
    world: World, *, cache: Path | None = None, now: datetime | None = None, places: bool = True
) -> Path:
    """The path of the store with the world's items, made unless the cache has it."""
    folder = cache or default_cache()
    moment = world.moment(now)
    file = folder / f"{world.name}-{_key(world, moment, places=places)}.db"
    if file.exists():
        return file
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        made = Path(temporary) / "made.db"
        with SQLiteStore(made) as store:
            import_world(world, store, now=moment, places=places)
        # complete before it gets its name: another process may look for it
        made.replace(file)
    return file


def import_world(
    world: World, store: SQLiteStore, *, now: datetime | None = None, places: bool = True
) -> None:
    """Import the files of a world, with their times of change, into a store."""
    if not (world.folder / "files").is_dir():
        raise InvalidDataError(f"{world.folder}: no folder 'files'")
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary) / world.name
        # imported from a folder that is named as in the export, because names may tell the format
        shutil.copytree(world.folder / "files", copy / "files")
        for path, when in world.file_times.items():
            os.utime(copy / path, (when.timestamp(), when.timestamp()))
        store.put_user(world.user if places else replace(world.user, places={}))
        import_into(store, USER, [copy / "files"], now=world.moment(now))


def _key(world: World, now: datetime, *, places: bool) -> str:
    """A digest of everything that the store depends on."""
    digest = blake2b(digest_size=10)
    digest.update(json.dumps([__version__, now.isoformat(), places]).encode())
    digest.update((world.folder / "person.json").read_bytes())
    times = world.folder / "mtimes.json"
    digest.update(times.read_bytes() if times.exists() else b"")
    _update(digest, world.folder / "files", (world.folder / "files").rglob("*"))
    package = Path(str(files("contextune")))
    for name in _MODULES:
        _update(digest, package, (package / name).rglob("*.py"))
    return digest.hexdigest()


def _update(digest: "blake2b", root: Path, paths: Iterable[Path]) -> None:
    for path in sorted(paths):
        if path.is_file():
            content = path.read_bytes()
            digest.update(f"{path.relative_to(root)}\0{len(content)}\0".encode())
            digest.update(content)
