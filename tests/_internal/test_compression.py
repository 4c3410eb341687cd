"""Reading and writing compressed files."""

import gzip
import lzma
from pathlib import Path

import pytest

from contextune._internal.compression import find_compressed, read_decompressed, write_compressed

TEXT = b"a line\n" * 50
FILES = {"a.txt": TEXT, "a.txt.gz": gzip.compress(TEXT, mtime=0), "a.txt.xz": lzma.compress(TEXT)}


@pytest.mark.parametrize("name", FILES)
def test_plain_and_compressed_files_are_found_and_read(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    assert find_compressed(tmp_path / "a.txt") == tmp_path / name
    assert read_decompressed(tmp_path / name) == TEXT


@pytest.mark.parametrize("name", ["a.txt.gz", "a.txt.xz"])
def test_damaged_file_raises_os_error(name: str, tmp_path: Path) -> None:
    whole = FILES[name]
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :]
    for broken in (whole[:-9], whole[:4], flipped, b"plain text"):
        (tmp_path / name).write_bytes(broken)
        with pytest.raises(OSError, match=r"decompress|gzip|CRC"):
            read_decompressed(tmp_path / name)


def test_missing_file_is_named(tmp_path: Path) -> None:
    assert find_compressed(tmp_path / "a.txt") == tmp_path / "a.txt"
    with pytest.raises(FileNotFoundError, match=r"a\.txt'"):
        read_decompressed(tmp_path / "a.txt")


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_round_trip(name: str, tmp_path: Path) -> None:
    write_compressed(tmp_path / name, TEXT)
    assert read_decompressed(tmp_path / name) == TEXT
    assert (len((tmp_path / name).read_bytes()) < len(TEXT)) == name.endswith(".gz")
