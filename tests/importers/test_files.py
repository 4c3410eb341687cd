"""Files wherever they lie: alike on disk and in archives."""

import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.importers.reading_files import NOW, only_file

from contextune.errors import InvalidDataError
from contextune.importers.files import HEAD, SourceFile, files_in
from contextune.importers.run import import_into
from contextune.store import SQLiteStore

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
    files = files_in([archive])  # an archive is open for as long as its files are asked for
    found = next(files)
    assert isinstance(found, SourceFile)
    yield found
    assert not list(files)


def test_its_name_its_head_and_all_of_it(file: SourceFile) -> None:
    assert (file.name, file.suffix, file.folder, file.size) == ("one.bin", ".bin", "Keep", len(CONTENT))
    assert file.head == CONTENT[:HEAD]
    assert file.whole() == CONTENT
    assert file.whole() == CONTENT  # a second time


def test_how_far_it_has_been_read(file: SourceFile) -> None:
    assert file.done == 0
    with file.open() as stream:
        assert stream.read(10_000) == CONTENT[:10_000]
        assert 10_000 <= file.done <= len(CONTENT)
    assert file.done == len(CONTENT)


def test_a_copy_for_libraries_that_want_a_path(file: SourceFile) -> None:
    with file.on_disk() as copy:
        assert copy.read_bytes() == CONTENT
    assert not copy.exists()


def test_more_than_may_be_read_at_once_is_refused(file: SourceFile) -> None:
    with pytest.raises(InvalidDataError, match="larger than"):
        file.whole(len(CONTENT) - 1)


def test_without_the_library_a_calendar_says_what_to_install_and_the_rest_is_read(
    tmp_path: Path, store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "icalendar", None)
    (tmp_path / "a.ics").write_text("BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nEND:VEVENT\nEND:VCALENDAR\n")
    (tmp_path / "b.md").write_text("a note")
    report = import_into(store, "ines", [tmp_path / "a.ics", tmp_path / "b.md"], now=NOW)
    (reason,) = report.skipped
    assert "pip install 'contextune[import]'" in reason.why
    assert report.items == 1
