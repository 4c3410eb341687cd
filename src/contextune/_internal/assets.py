"""Paths of the files that ship with the package."""

from importlib.resources import files
from pathlib import Path

from contextune.errors import MissingLabDataError


def asset(name: str) -> Path:
    """The path of a file or folder under `contextune/assets`.

    All of it is part of every installation, except `reader`, which `contextune-reader` installs.
    """
    return Path(str(files("contextune") / "assets" / name))


def lab_asset(name: str, what: str = "") -> Path:
    """The path of a file or folder under `contextune/lab/assets`: benchmark data, training data and adapters.

    The distribution `contextune-lab` installs them. Without it this raises `MissingLabDataError`, which says
    that `what` (by default `name`) needs it.
    """
    path = Path(str(files("contextune") / "lab" / "assets" / name))
    if not path.exists():
        raise MissingLabDataError(what or name)
    return path
