"""Files that may be packed."""

import gzip
import lzma
from pathlib import Path

import pytest

from contextune._internal.compression import found_packed, read_packed, write_packed

TEXT = b"a line\n" * 50
PACKED = {"a.txt": TEXT, "a.txt.gz": gzip.compress(TEXT, mtime=0), "a.txt.xz": lzma.compress(TEXT)}


@pytest.mark.parametrize("name", PACKED)
def test_packed_or_not_it_is_read_and_found(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(PACKED[name])
    assert found_packed(tmp_path / "a.txt") == tmp_path / name
    assert read_packed(tmp_path / name) == TEXT


@pytest.mark.parametrize("name", ["a.txt.gz", "a.txt.xz"])
def test_what_is_broken_is_no_surprise(name: str, tmp_path: Path) -> None:
    whole = PACKED[name]
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :]
    for broken in (whole[:-9], whole[:4], flipped, b"plain text"):
        (tmp_path / name).write_bytes(broken)
        with pytest.raises(OSError, match=r"unpack|gzip|CRC"):
            read_packed(tmp_path / name)


def test_a_file_that_is_away_is_named(tmp_path: Path) -> None:
    assert found_packed(tmp_path / "a.txt") == tmp_path / "a.txt"
    with pytest.raises(FileNotFoundError, match=r"a\.txt'"):
        read_packed(tmp_path / "a.txt")


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_what_is_written_is_read(name: str, tmp_path: Path) -> None:
    write_packed(tmp_path / name, TEXT)
    assert read_packed(tmp_path / name) == TEXT
    assert (len((tmp_path / name).read_bytes()) < len(TEXT)) == name.endswith(".gz")
