"""Files that may be packed: what one holds is read and written the same way, whatever its name ends in."""

import gzip
import lzma
import zlib
from pathlib import Path

_ENDINGS = (".gz", ".xz")


def read_packed(file: Path) -> bytes:
    """What a file holds, unpacked if it is a .gz or .xz; broken or away, it is an OSError."""
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
        raise OSError(f"it cannot be unpacked: {error}") from None


def write_packed(file: Path, content: bytes) -> None:
    """Packed if the file is to be a .gz, without a time stamp: the same content is the same bytes."""
    file.write_bytes(gzip.compress(content, mtime=0) if file.suffix == ".gz" else content)


def found_packed(file: Path) -> Path:
    """A file, or the same file packed where only that is there."""
    packed = [file.with_name(file.name + ending) for ending in _ENDINGS]
    return next((one for one in (file, *packed) if one.exists()), file)
