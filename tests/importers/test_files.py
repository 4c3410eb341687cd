"""`SourceFile` behaves the same on disk and in archives."""

import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.importers.reading_files import only_file

from contextune.errors import InvalidDataError
from contextune.importers.files import HEAD, SourceFile, iter_files

CONTENT = bytes(range(256)) * 200


@pytest.fixture(params=["disk", "zip", "tgz"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SourceFile]:
    """The same file in three places."""
    plain = tmp_path / "Takeout/Keep/one.bin"
    plain.parent.mkdir(parents=True)
    plain.write_bytes(CONTENT)
    if request.param == "disk":
        yield only_file(tmp_path / "Takeout")
        return
    archive = tmp_path / f"export.{request.param}"
    if request.param == "zip":
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
            target.write(plain, "Takeout/Keep/one.bin")
    else:
        with tarfile.open(archive, "w:gz") as target:
            target.add(tmp_path / "Takeout", "Takeout")
    files = iter_files([archive])  # an archive is open for as long as its files are asked for
    records = next(files)
    assert isinstance(records, SourceFile)
    yield records
    assert not list(files)


def test_name_head_and_content(file: SourceFile) -> None:
    assert (file.name, file.suffix, file.folder, file.size) == ("one.bin", ".bin", "Keep", len(CONTENT))
    assert file.head == CONTENT[:HEAD]
    assert file.read_all() == CONTENT
    assert file.read_all() == CONTENT  # a second time


def test_bytes_read(file: SourceFile) -> None:
    assert file.bytes_read == 0
    with file.open() as stream:
        assert stream.read(10_000) == CONTENT[:10_000]
        assert 10_000 <= file.bytes_read <= len(CONTENT)
    assert file.bytes_read == len(CONTENT)


def test_temporary_copy_on_disk(file: SourceFile) -> None:
    with file.on_disk() as copy:
        assert copy.read_bytes() == CONTENT
    assert not copy.exists()


def test_read_all_enforces_the_limit(file: SourceFile) -> None:
    with pytest.raises(InvalidDataError, match="larger than"):
        file.read_all(len(CONTENT) - 1)
