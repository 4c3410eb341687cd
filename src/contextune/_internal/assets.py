"""Paths of the files that ship with the package."""

from importlib.resources import files
from pathlib import Path


def asset(name: str) -> Path:
    """Where a file or folder of the package's assets lies."""
    return Path(str(files("contextune") / "assets" / name))
