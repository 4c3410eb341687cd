"""The moment of an import: what is later is kept and reported, recurring events are expanded around it."""

from pathlib import Path

import pytest
from tests.importers.calls.test_calls import backup, call
from tests.importers.music.test_music import history, play
from tests.importers.reading_files import INES, utc
from tests.program import run

from contextune.importers import import_into
from contextune.store import SQLiteStore

RING = utc(2026, 12, 1, 9)


@pytest.fixture
def store(tmp_path: Path) -> SQLiteStore:
    store = SQLiteStore(tmp_path / "store.db")
    store.put_user(INES)
    return store


def test_calls_and_plays_later_than_the_moment_are_kept_and_reported(
    tmp_path: Path, store: SQLiteStore
) -> None:
    files = tmp_path / "files"
    files.mkdir()
    backup(files, call("5550142", time=RING), call("5550143", time=utc(2026, 10, 1)))
    history(files, play("Naima", ts="2026-12-02T08:00:00Z"))
    early = import_into(store, "ines", [files], now=utc(2026, 11, 1))
    assert (early.items, early.later) == (3, 2)
    assert import_into(store, "ines", [files], now=utc(2026, 12, 3)).later == 0


def test_command_takes_the_moment(tmp_path: Path) -> None:
    path = backup(tmp_path, call("5550142", time=RING))
    options = ("--store", tmp_path / "store.db", "--no-embed", "--zone", "Europe/Lisbon")
    early = run("import", path, *options, "--as-of", "2026-11-01", width=200)
    assert "1 item is dated later than the moment of the import, and kept" in early.stdout
    assert "dated later" not in run("import", path, *options, "--as-of", "2026-12-01T09:30", width=200).stdout
    wrong = run("import", path, *options, "--as-of", "soon")
    assert wrong.returncode == 2
    assert "not a moment: 'soon'" in wrong.stderr
