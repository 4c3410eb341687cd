"""`contextune store`: back up, restore and verify."""

from pathlib import Path

import pytest
from tests.program import run

from contextune.serve.http.tokens import TokenFile
from contextune.store import SQLiteStore, open_store
from contextune.types import Item, User


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    with SQLiteStore(path) as store:
        store.put_user(User("ana"))
        store.put_items("ana", [Item("1", "Notes", {"title": "Zaunkönig"})])
    return path


def test_backup_is_restored(store: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    assert "1 user, 1 item, verified" in run("store", "backup", copy, "--store", store).stdout
    assert "1 user, 1 item, sound" in run("store", "verify", copy).stdout
    assert "1 user, 1 item, sound" in run("store", "verify", "--store", store).stdout
    assert run("forget", "ana", "--yes", "--store", store).returncode == 0
    refused = run("store", "restore", copy, "--store", store)
    assert (refused.returncode, "--force" in refused.stderr) == (2, True)
    assert "restored" in run("store", "restore", copy, "--store", store, "--force").stdout
    with SQLiteStore(store) as opened:
        assert [item.fields["title"] for item in opened.items("ana")] == ["Zaunkönig"]


def test_damage_is_reported(store: Path) -> None:
    store.write_bytes(store.read_bytes().replace("Zaunkönig".encode(), "Zaunkünig".encode()))
    done = run("store", "verify", "--store", store)
    assert done.returncode == 1
    assert "do not match their checksum: 1" in done.stderr
    assert "restore it from a backup" in done.stderr
    assert "Zaunk" not in done.stderr + done.stdout


def test_store_is_copied(store: Path, tmp_path: Path) -> None:
    target = tmp_path / "target.db"
    assert "1 users, 1 items; verified (0 skipped)" in run("store", "copy", store, target).stdout
    assert "verified (1 skipped)" in run("store", "copy", store, target).stdout
    missing = run("store", "copy", tmp_path / "none.db", target)
    assert (missing.returncode, "no such store" in missing.stderr) == (2, True)


def test_commands_accept_a_store_in_postgres(store: Path, postgres_url: str) -> None:
    assert "1 items; verified" in run("store", "copy", store, postgres_url).stdout
    assert "ana" in run("forget", "ana", "--yes", "--store", postgres_url).stdout
    refused = run("store", "backup", "copy.db", "--store", postgres_url)
    assert (refused.returncode, "pg_dump" in refused.stderr) == (2, True)


def test_tokens_are_copied_from_postgres_into_a_file(tmp_path: Path, postgres_url: str) -> None:
    token = run("serve", "token", "add", "ana", "--store", postgres_url).stdout.split()[-1]
    target, tokens = tmp_path / "target.db", tmp_path / "tokens.json"
    assert "1 token not copied" in run("store", "copy", postgres_url, target).stdout
    assert "1 token copied" in run("store", "copy", postgres_url, target, "--tokens", tokens).stdout
    entry = TokenFile(tokens).authenticate(token)
    assert entry
    assert entry.user == "ana"
    refused = run("store", "copy", target, postgres_url, "--tokens", tokens)
    assert (refused.returncode, "contextune serve --tokens" in refused.stderr) == (2, True)


def test_copy_names_users_that_the_source_has_forgotten(store: Path, tmp_path: Path) -> None:
    target = tmp_path / "target.db"
    with open_store(target) as other:
        other.put_user(User("rui"))
    done = run("store", "copy", store, target)
    assert done.returncode == 1
    assert "the target also has 1 user missing in the source: 'rui'" in done.stderr
    assert "--delete" in done.stderr
    deleted = run("store", "copy", store, target, "--delete")
    assert (deleted.returncode, "1 user forgotten in the target" in deleted.stdout) == (0, True)
    with open_store(target) as other, open_store(store) as original:
        assert other.users() == original.users()


def test_copy_onto_itself_is_refused(store: Path, tmp_path: Path, postgres_url: str) -> None:
    (tmp_path / "link.db").symlink_to(store)
    refused = run("store", "copy", store, tmp_path / "link.db", "--delete")
    assert (refused.returncode, "are the same store" in refused.stderr) == (2, True)
    run("store", "copy", store, postgres_url)
    other_name = f"{postgres_url} application_name=other"
    refused = run("store", "copy", postgres_url, other_name)
    assert (refused.returncode, "are the same store" in refused.stderr) == (2, True)


def test_copy_without_tokens_does_not_mention_them(store: Path, tmp_path: Path, postgres_url: str) -> None:
    run("store", "copy", store, postgres_url)
    assert "token" not in run("store", "copy", postgres_url, tmp_path / "back.db").stdout
