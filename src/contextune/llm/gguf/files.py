"""The GGUF file that the user has chosen, verified against the checksums of official files."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from contextune._internal.assets import file_checksum
from contextune.errors import LanguageModelError
from contextune.llm.smollm2.weights import cache_folder

_MAGIC = b"GGUF"
_CHOICE = "gguf.json"
"""Where the choice is stored, in the folder for models."""


@dataclass(frozen=True, slots=True)
class KnownFile:
    """An official file."""

    name: str
    size: int
    sha256: str
    licence: str = "Apache-2.0"


KNOWN_FILES = (
    KnownFile(
        "Qwen2.5-Coder-0.5B-Instruct-Q4_K_M",
        491_400_064,
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    ),
    KnownFile(
        "Qwen2.5-Coder-1.5B-Instruct-Q4_K_M",
        1_117_320_768,
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    ),
)


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A chosen file, as it was when its checksum was computed."""

    path: str
    name: str
    sha256: str
    size: int
    changed_ns: int

    @property
    def is_known(self) -> bool:
        """Whether it is an official file."""
        return any(file.sha256 == self.sha256 for file in KNOWN_FILES)

    def check(self) -> Path:
        """The path; raise `LanguageModelError` if the file is gone, or has changed since."""
        path = Path(self.path)
        try:
            found = path.stat()
        except OSError:
            raise LanguageModelError(
                f"the local model is gone: {self.path!r}; choose a file with `contextune llm use FILE`"
            ) from None
        if (found.st_size, found.st_mtime_ns) != (self.size, self.changed_ns):
            raise LanguageModelError(
                f"the local model has changed: {self.path!r}; verify it with `contextune llm use FILE`"
            )
        return path


def use_model(path: Path, *, any_file: bool = False, folder: Path | None = None) -> ModelFile:
    """Verify a GGUF file and remember it as the local model.

    Files with an unknown checksum are refused unless `any_file`. The file stays where it is.
    """
    path = path.expanduser().resolve()
    try:
        with path.open("rb") as content:
            magic = content.read(len(_MAGIC))
        found = path.stat()
        if magic != _MAGIC:
            raise LanguageModelError(f"not a GGUF file: {str(path)!r}; pass the .gguf file of a model")
        checksum = file_checksum(path)
    except OSError as error:
        raise LanguageModelError(f"cannot read {str(path)!r}: {error.strerror}") from None
    known = next((file for file in KNOWN_FILES if file.sha256 == checksum), None)
    if known is None and not any_file:
        names = " or ".join(f"{file.name} ({file.size:,} bytes)" for file in KNOWN_FILES)
        raise LanguageModelError(
            f"{str(path)!r} has {found.st_size:,} bytes and checksum {checksum[:12]}…, which is no known "
            f"model: use {names}, or pass --any if you trust the file"
        )
    chosen = ModelFile(
        str(path), known.name if known else path.stem, checksum, found.st_size, found.st_mtime_ns
    )
    folder = folder or cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _CHOICE).write_text(json.dumps(asdict(chosen), indent=1), encoding="utf-8")
    except OSError as error:
        raise LanguageModelError(f"cannot write {str(folder / _CHOICE)!r}: {error.strerror}") from None
    return chosen


def model_in_use(folder: Path | None = None) -> ModelFile | None:
    """The file that was chosen with `use_model`, if any."""
    file = (folder or cache_folder()) / _CHOICE
    try:
        content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return ModelFile(**content)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise LanguageModelError(
            f"{str(file)!r} is damaged ({type(error).__name__}): run `contextune llm use FILE` again"
        ) from None
