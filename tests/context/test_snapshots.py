"""A store that was used before is opened from a snapshot, which is erased with the data in it."""

import logging
import shutil
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from contextune import Tuner
from contextune.cli import app, doctor
from contextune.context import ContextRetriever
from contextune.context.snapshot import fingerprint, keeper
from contextune.embed import Embedder
from contextune.store import SQLiteStore
from contextune.store.backup import backup, restore
from contextune.store.verify import verify
from contextune.types import Contact, Item, ItemHit, Request, UsageEvent, User

NOON = datetime(2024, 5, 16, 12)
REQUEST = Request("kiln slots", "ines", NOON)


class ReadOnce(SQLiteStore):
    """A store that cannot read all items."""

    def items(self, user: str, ids: Sequence[str] | None = None) -> list[Item]:  # noqa: ARG002
        raise AssertionError("all items were read")


def note(name: str, text: str) -> Item:
    return Item(
        name, "Notes", {"title": text, "content": f"{text}, with glaze", "modified": "2024-05-13T09:00"}
    )


def rank(store: SQLiteStore, embedder: Embedder) -> list[ItemHit]:
    """The answer of a process that has just opened the store; waits for its snapshot."""
    store.snapshots.min_items = 0
    hits = ContextRetriever(store, embedder).rank(REQUEST)
    store.snapshots.wait()
    return hits


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "_MIN_PAUSE_S", 0)
    monkeypatch.setattr(keeper, "_PAUSE_FACTOR", 0)


@pytest.fixture
def filled(store: SQLiteStore, word_embedder: Embedder) -> SQLiteStore:
    """A store with a snapshot."""
    store.put_user(User("ines", places={"Werkstatt": (41.1, -8.6)}))
    items = [note("1", "kiln slots"), note("2", "Zaunkönig"), note("3", "rowing")]
    store.put_items("ines", [*items, Item.mail(subject="kiln", date=NOON, author="rui@example.org", id="4")])
    store.put_uses("ines", [UsageEvent("2", NOON.replace(day=14), "Werkstatt")])
    rank(store, word_embedder)
    return store


def files(store: SQLiteStore) -> list[Path]:
    folder = store.snapshots.folder
    return sorted(folder.iterdir()) if folder.exists() else []


def contains(store: SQLiteStore, text: str) -> bool:
    return any(text.encode() in file.read_bytes() for file in files(store))


def test_opening_reads_no_items(filled: SQLiteStore, word_embedder: Embedder) -> None:
    expected = rank(filled, word_embedder)
    with ReadOnce(filled.path) as reopened:
        assert rank(reopened, word_embedder) == expected
        reopened.put_uses("ines", [UsageEvent("3", NOON.replace(day=15))])
        reopened.put_items("ines", [note("5", "kiln")])
        updated = rank(reopened, word_embedder)
    with SQLiteStore(filled.path, snapshots=False) as plain:
        assert updated == ContextRetriever(plain, word_embedder).rank(REQUEST)


def test_closing_writes_what_changed_last(
    filled: SQLiteStore, word_embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "_MIN_PAUSE_S", 999)
    retriever = ContextRetriever(filled, word_embedder)
    for text in ("wren", "finch"):
        filled.put_items("ines", [note("2", text)])
        expected = retriever.rank(REQUEST)
        filled.snapshots.wait()
    assert files(filled) == []  # it is too early for another
    filled.close()
    with ReadOnce(filled.path) as reopened:
        assert rank(reopened, word_embedder) == expected


def test_store_without_snapshots_writes_none(tmp_path: Path, word_embedder: Embedder) -> None:
    with SQLiteStore(tmp_path / "plain.db", snapshots=False) as plain:
        plain.put_user(User("ines"))
        plain.put_items("ines", [note(str(number), "kiln") for number in range(3)])
        ContextRetriever(plain, word_embedder).rank(REQUEST)
        plain.snapshots.wait()
        assert not files(plain)


def test_files_are_private(filled: SQLiteStore) -> None:
    assert [file.stat().st_mode & 0o777 for file in (filled.snapshots.folder, *files(filled))] == [
        0o700,
        0o600,
    ]


CHANGES: dict[str, Callable[[SQLiteStore], object]] = {
    "delete": lambda store: store.delete_items("ines", ["2"]),
    "replace": lambda store: store.put_items("ines", [note("2", "wren")]),
    "user": lambda store: store.put_user(User("ines", contacts=(Contact("Rui"),))),
    "forget": lambda store: store.forget("ines"),
    "tuner": lambda store: Tuner(store).forget("ines"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_change_erases_the_snapshot_at_once(
    change: str, filled: SQLiteStore, word_embedder: Embedder
) -> None:
    assert contains(filled, "Zaunk")
    CHANGES[change](filled)
    assert files(filled) == []
    if filled.users():
        assert rank(filled, word_embedder)
        kept = any("Zaunkönig" in item.text for item in filled.items("ines"))
        assert len(files(filled)) == 1
        assert contains(filled, "zaunkönig") == kept


def test_new_items_and_uses_keep_the_snapshot(filled: SQLiteStore) -> None:
    before = files(filled)
    filled.put_items("ines", [note("5", "kiln"), note("1", "kiln slots")])
    filled.put_uses("ines", [UsageEvent("3", NOON)])
    assert files(filled) == before


def test_state_of_an_earlier_revision_is_not_written(filled: SQLiteStore, word_embedder: Embedder) -> None:
    snapshot = filled.snapshots.load("ines", word_embedder.name)
    assert snapshot
    before = filled.revision("ines")
    filled.delete_items("ines", ["2"])
    arguments = "ines", word_embedder.name, before, snapshot.metadata, snapshot.sections
    assert not filled.snapshots.save(*arguments)
    assert not contains(filled, "zaunk")
    filled.forget("ines")
    assert not filled.snapshots.save(*arguments)
    assert not contains(filled, "zaunk")


@pytest.mark.parametrize("damage", ["flip", "truncate", "empty", "older", "garbage"])
def test_damaged_or_foreign_file_is_ignored_and_replaced(
    damage: str, filled: SQLiteStore, word_embedder: Embedder, caplog: pytest.LogCaptureFixture
) -> None:
    expected = rank(filled, word_embedder)
    (file,) = files(filled)
    content = bytearray(file.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 1
    elif damage == "older":  # a file that was restored from a copy after an item had changed
        filled.put_items("ines", [note("1", "kiln slots, renamed")])
        expected = rank(filled, word_embedder)
    replacement = {"truncate": content[:-64], "empty": b"", "garbage": b"\0" * 999}.get(damage, content)
    file.write_bytes(replacement)
    with caplog.at_level(logging.INFO):
        assert rank(filled, word_embedder) == expected
    assert "snapshot is ignored" in caplog.text
    assert not any(text in caplog.text for text in ("ines", "kiln", "Zaun"))
    with ReadOnce(filled.path) as reopened:  # replaced
        assert rank(reopened, word_embedder) == expected


def test_every_byte_is_verified(filled: SQLiteStore, word_embedder: Embedder) -> None:
    (file,) = files(filled)
    content = file.read_bytes()
    unnoticed = 0
    for position in range(0, len(content), 97):
        file.write_bytes(content[:position] + bytes([content[position] ^ 0x10]) + content[position + 1 :])
        unnoticed += filled.snapshots.load("ines", word_embedder.name) is not None
    assert unnoticed <= 1  # only up to 63 zeros before the first array are not read


def test_snapshot_of_another_version_or_zone_is_ignored(
    filled: SQLiteStore, word_embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = rank(filled, word_embedder)
    monkeypatch.setattr(fingerprint, "_FORMAT", 999)
    with ReadOnce(filled.path) as reopened, pytest.raises(AssertionError, match="all items"):
        rank(reopened, word_embedder)
    assert rank(filled, word_embedder) == expected


@pytest.mark.parametrize("copy", [shutil.copyfile, partial(restore, overwrite=True)], ids=["copy", "restore"])
def test_snapshot_is_not_used_after_restoring_a_backup(
    copy: Callable[[Path, Path], object], filled: SQLiteStore, word_embedder: Embedder, tmp_path: Path
) -> None:
    backup(filled.path, tmp_path / "copy.db")
    filled.put_items("ines", [note("2", "wren")])
    rank(filled, word_embedder)
    filled.close()
    copy(tmp_path / "copy.db", filled.path)
    with SQLiteStore(filled.path) as restored:
        # as many revisions as the snapshot has seen
        restored.put_items("ines", [note("6", "sparrow")])
        restored.put_items("ines", [note("7", "finch")])
        texts = {hit.item.title for hit in rank(restored, word_embedder)}
    assert {"Zaunkönig", "finch"} <= texts
    assert "wren" not in texts


def test_verify_reports_a_damaged_snapshot(filled: SQLiteStore) -> None:
    sound = verify(filled.path).snapshots
    assert (sound.count, sound.problems) == (1, ())
    [file] = files(filled)
    content = bytearray(file.read_bytes())
    content[-100] ^= 1
    file.write_bytes(content)
    check = verify(filled.path)
    assert not check.problems
    assert check.snapshots.problems == (
        f"store.db-snapshots/{file.name}: a block does not match its checksum",
    )
    done = CliRunner().invoke(app, ["store", "verify", "--store", str(filled.path)])
    assert done.exit_code == 1
    assert "1 of 1 damaged" in done.stderr
    assert "computed again" in done.stderr


def test_doctor_reports_a_truncated_snapshot(filled: SQLiteStore) -> None:
    [finding] = [found for found in doctor.check_store(filled.path, deep=False) if found.what == "snapshots"]
    assert (finding.state, finding.message) == (doctor.OK, "1 snapshot of indexes, sizes are right")
    [file] = files(filled)
    file.write_bytes(file.read_bytes()[:-64])
    for deep in (False, True):
        [finding] = [
            found for found in doctor.check_store(filled.path, deep=deep) if found.what == "snapshots"
        ]
        assert finding.state == doctor.BROKEN
        assert "truncated" in finding.message
        assert "ines" not in finding.message


def test_damaged_snapshot_is_replaced_as_the_message_says(
    filled: SQLiteStore, word_embedder: Embedder
) -> None:
    [file] = files(filled)
    file.write_bytes(file.read_bytes()[:-64])
    with SQLiteStore(filled.path) as reopened:
        rank(reopened, word_embedder)
    assert verify(filled.path).snapshots.problems == ()
