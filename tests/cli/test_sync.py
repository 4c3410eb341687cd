"""`contextune sync` against a real server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("radicale")

from tests.importers.live.servers import PASSWORD, USERNAME, DavServer, dav_server
from typer.testing import CliRunner

from contextune.cli import app
from contextune.errors import ContextuneError
from contextune.importers.live import SyncState
from contextune.store import SQLiteStore

EVENT = (
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:a\r\nDTSTAMP:20240501T000000Z\r\n"
    "DTSTART:20240520T190000Z\r\nSUMMARY:Glaze night\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[DavServer]:
    folder = tmp_path / "radicale"
    folder.mkdir()
    with dav_server(folder) as running:
        running.put(f"{running.make('studio', 'calendar', 'Studio')}a.ics", EVENT)
        yield running


@pytest.fixture
def store_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CONTEXTUNE_STORE", str(tmp_path / "me.db"))
    monkeypatch.setenv("DAV_PASSWORD", PASSWORD)
    return tmp_path / "me.db"


def invoke(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["sync", *arguments])
    is_error = isinstance(result.exception, ContextuneError)
    return result.exit_code, str(result.exception) if is_error else result.output


def add(server: DavServer, *more: str) -> tuple[int, str]:
    return invoke("add", server.url, "--username", USERNAME, "--password-env", "DAV_PASSWORD", *more)


def test_account_is_added_read_listed_and_removed(server: DavServer, store_file: Path) -> None:
    code, output = add(server, "--name", "home")
    assert (code, output) == (0, "home: 1 collection. Read it with 'contextune sync run'.\n")
    code, output = invoke("run", "--no-embed")
    assert (code, output) == (0, "home: 1 fetched, 1 new, 0 changed, 0 deleted.\n")
    assert invoke("run", "home", "--no-embed")[1] == "home: 0 fetched, 0 new, 0 changed, 0 deleted.\n"
    code, output = invoke("list")
    assert code == 0
    assert "home" in output
    with SQLiteStore(store_file) as store:
        assert [item.title for item in store.items("me")] == ["Glaze night"]
    assert invoke("remove", "home") == (0, "home is removed, with 1 item.\n")
    with SQLiteStore(store_file) as store:
        assert store.items("me") == []
    assert "No accounts" in invoke("list")[1]


def test_items_of_a_removed_account_can_be_kept(server: DavServer, store_file: Path) -> None:
    add(server, "--name", "home")
    invoke("run", "--no-embed")
    invoke("remove", "home", "--keep-items")
    with SQLiteStore(store_file) as store:
        assert len(store.items("me")) == 1


def test_server_that_refuses_is_not_added(
    server: DavServer, store_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAV_PASSWORD", "wrong")
    code, error = add(server)
    assert code != 0
    assert "refuses user name or password" in error
    assert "No accounts" in invoke("list")[1]


def test_failing_account_does_not_stop_the_others(
    server: DavServer, store_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_PASSWORD", PASSWORD)
    invoke("add", server.url, "--username", USERNAME, "--password-env", "OTHER_PASSWORD", "--name", "a")
    add(server, "--name", "b")
    monkeypatch.delenv("OTHER_PASSWORD")
    code, output = invoke("run", "--no-embed")
    assert code == 1
    assert "b: 1 fetched, 1 new" in output


def test_forget_erases_the_accounts(server: DavServer, store_file: Path) -> None:
    add(server, "--name", "home")
    assert CliRunner().invoke(app, ["forget", "me", "--yes"]).exit_code == 0
    assert b"127.0.0.1" not in SyncState.beside(store_file).read_bytes()
