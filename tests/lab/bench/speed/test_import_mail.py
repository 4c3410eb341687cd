"""Import benchmark and its synthetic mailbox."""

from pathlib import Path

from tests.importers.reading_files import items_in, skipped_in

from contextune_lab.bench.speed.import_mail import measure, write_mailbox


def test_synthetic_mailbox_is_read_completely(tmp_path: Path) -> None:
    file = tmp_path / "Inbox.mbox"
    size = write_mailbox(file, 3_000_000)
    items = items_in(file)
    assert size == file.stat().st_size
    assert skipped_in(file) == []
    assert len({item.id for item in items}) == len(items) == file.read_bytes().count(b"\nMessage-ID: ")
    assert all(item.fields["subject"] and item.fields["content"] and item.made for item in items)
    assert any("attachments" in item.fields for item in items)


def test_mailbox_of_one_kind(tmp_path: Path) -> None:
    file = tmp_path / "Inbox.mbox"
    write_mailbox(file, 300_000, shares={"plain": 1})
    assert b"multipart" not in file.read_bytes()
    assert all("attachments" not in item.fields for item in items_in(file))


def test_an_import_is_measured() -> None:
    progress_calls: list[tuple[int, int]] = []
    speed = measure(1, progress=lambda done, total: progress_calls.append((done, total)))
    assert speed.megabytes >= 1
    assert progress_calls[-1] == (1_000_000, 1_000_000)
    assert min(speed.mails, speed.parsing, speed.importing, speed.again, speed.memory) > 0
