"""Paths of the files that ship with the package."""

from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from contextune.errors import MissingLabDataError


def asset(name: str) -> Path:
    """The path of a file or folder under `contextune/assets`."""
    return Path(str(files("contextune") / "assets" / name))


def lab_asset(name: str, what: str = "") -> Path:
    """The path of a file or folder under `contextune_lab/assets`: benchmark data, training data and adapters.

    The distribution `contextune-lab` installs them. Without it this raises `MissingLabDataError`, which says
    that `what` (by default `name`) needs it.
    """
    spec = find_spec("contextune_lab")
    path = Path(spec.origin).parent / "assets" / name if spec and spec.origin else None
    if path is None or not path.exists():
        raise MissingLabDataError(what or name)
    return path
