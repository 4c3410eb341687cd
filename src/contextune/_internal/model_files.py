"""Bundled models, with their SHA-256 checksums verified once per process.

`SHA256SUMS` next to the models lists their files, in the format of `sha256sum`; `make checksums` writes it.
"""

from functools import lru_cache
from pathlib import Path

from contextune._internal.assets import asset, lab_asset
from contextune._internal.checksum import file_checksum
from contextune.errors import DamagedModelError

SUMS_FILE = "SHA256SUMS"


def model_folder(name: str) -> Path:
    """A model's folder under `contextune/assets`; raises `DamagedModelError` if a file of it has changed."""
    root = asset("")
    verify_model(root, name)
    return root / name


def lab_model_file(name: str, what: str) -> Path:
    """A model's file under `contextune_lab/assets`, verified likewise."""
    path = lab_asset(name, what)
    verify_model(lab_asset(""), name)
    return path


def read_checksums(root: Path) -> dict[str, str]:
    """The checksums of the files under `root`, by relative path."""
    try:
        lines = (root / SUMS_FILE).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise _damaged(root / SUMS_FILE, f"cannot be read: {error}") from None
    pairs = (line.split(maxsplit=1) for line in lines if line.strip())
    return {pair[-1].removeprefix("*"): pair[0] for pair in pairs}


@lru_cache(maxsize=64)
def verify_model(root: Path, name: str) -> None:
    """Raise `DamagedModelError` unless all files of a model (a folder or one file) match their checksums."""
    checksums = {
        file: checksum
        for file, checksum in read_checksums(root).items()
        if file == name or file.startswith(f"{name}/")
    }
    if not checksums:
        raise _damaged(root / name, f"is not listed in {SUMS_FILE}")
    for file, checksum in checksums.items():
        try:
            actual = file_checksum(root / file)
        except OSError as error:
            raise _damaged(root / file, f"cannot be read: {error.strerror}") from None
        if actual != checksum:
            raise _damaged(root / file, f"has checksum {actual[:12]}…, not {checksum[:12]}…")


def _damaged(path: Path, reason: str) -> DamagedModelError:
    return DamagedModelError(
        f"a bundled model is damaged: {str(path)!r} {reason}; reinstall contextune (in a checkout with "
        "new models: make checksums)"
    )
