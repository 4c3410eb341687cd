"""Files that ship with the package: their paths, the checksums of bundled models, compressed files.

Models are verified once per process. `SHA256SUMS` next to them lists their files, in the format of
`sha256sum`; `make checksums` writes it.
"""

import gzip
import lzma
import zlib
from functools import lru_cache
from hashlib import file_digest
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from contextune.errors import DamagedModelError, MissingLabDataError

SUMS_FILE = "SHA256SUMS"
_SUFFIXES = (".gz", ".xz")


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


def file_checksum(path: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal."""
    with path.open("rb") as content:
        return file_digest(content, "sha256").hexdigest()


def read_decompressed(file: Path) -> bytes:
    """The content of a file, decompressed if it is a .gz or .xz; raise OSError if missing or damaged."""
    content = file.read_bytes()
    try:
        match file.suffix:
            case ".gz":
                return gzip.decompress(content)
            case ".xz":
                return lzma.decompress(content)
            case _:
                return content
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise OSError(f"cannot decompress: {error}") from None


def write_compressed(file: Path, content: bytes) -> None:
    """Write a file, compressed if it is a .gz; without a time stamp, so that equal content is equal bytes."""
    file.write_bytes(gzip.compress(content, mtime=0) if file.suffix == ".gz" else content)


def find_compressed(file: Path) -> Path:
    """The file, or its compressed version if only that exists."""
    compressed = [file.with_name(file.name + suffix) for suffix in _SUFFIXES]
    return next((candidate for candidate in (file, *compressed) if candidate.exists()), file)


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
