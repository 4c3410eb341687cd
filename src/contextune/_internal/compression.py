"""Read and write files that may be compressed (.gz, .xz)."""

import gzip
import lzma
import zlib
from pathlib import Path

_SUFFIXES = (".gz", ".xz")


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
