"""Which worlds a model has seen: `trained_on.json` in the folder of each model.

Whoever trains a model on a world, or mends a failure of a world with a rule, adds the world to the file: its
figures are no longer those of unseen data.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from contextune._internal.assets import asset
from contextune.errors import InvalidDataError

FILE_NAME = "trained_on.json"


def seen_worlds(root: Path | None = None) -> dict[str, tuple[str, ...]]:
    """The models that have seen worlds, by name of the world; `root` is the folder of the models."""
    seen: dict[str, list[str]] = {}
    for file in sorted((root or asset("")).glob(f"*/{FILE_NAME}")):
        for world in read_trained_on(file):
            seen.setdefault(world, []).append(file.parent.name)
    return {world: tuple(models) for world, models in sorted(seen.items())}


def seen_data(name: str, root: Path | None = None) -> tuple[str, ...]:
    """The models that have seen a data set, or a part of it, named as in their manifests: SLURP."""
    return tuple(
        file.parent.name
        for file in sorted((root or asset("")).glob(f"*/{FILE_NAME}"))
        if any(name.casefold() in entry.casefold() for entry in _read(file, "data"))
    )


def read_trained_on(file: Path) -> list[str]:
    """The worlds that a model was trained on."""
    return _read(file, "worlds")


def _read(file: Path, name: str) -> list[str]:
    """A list of a manifest."""
    try:
        entries = json.loads(file.read_text(encoding="utf-8"))[name]
        if not isinstance(entries, list):
            raise TypeError(f"{name!r} is not a list")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidDataError(f"{file}: not a manifest of a model: {error}") from None
    return [str(entry) for entry in cast("list[object]", entries)]


def write_trained_on(folder: Path, worlds: Sequence[str], data: Sequence[str] = ()) -> None:
    """Write the manifest of a model: the worlds and the other data that it was trained on."""
    content: Mapping[str, list[str]] = {"worlds": sorted(worlds), "data": list(data)}
    (folder / FILE_NAME).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
