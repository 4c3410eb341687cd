"""Complete imports of folders and archives into a store, repeated and with broken files."""

import os
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest
from tests.importers.reading_files import INES, NOW, only_file

from contextune.cli.imports.run import print_report
from contextune.errors import InvalidDataError, StoreError
from contextune.importers.files import SkippedEntry, SourceFile, iter_files
from contextune.importers.reader import ImportContext, ImportRecord, item_id, shorten
from contextune.importers.registry import READERS, detect_reader, get_reader
from contextune.importers.report import ImportReport
from contextune.importers.run import BATCH, import_into
from contextune.store import SQLiteStore
from contextune.types import Item, UnreadTime, UsageEvent, User

MAIL = (
    "From: marta@example.org\nMessage-ID: <{0}>\n"
    "Date: Mon, 13 May 2024 09:00:00 +0100\nSubject: {0}\n\nHello\n"
)
REPLY = (
    "From: ines@example.com\nMessage-ID: <answer>\nIn-Reply-To: <{0}>\n"
    "Date: Mon, 13 May 2024 10:00:00 +0100\nSubject: Re: {0}\n\nYes\n"
)
EVENT = (
    "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:e\nSUMMARY:Glaze night\nDTSTART:20240516T190000\n"
    "END:VEVENT\nEND:VCALENDAR\n"
)
CARD = "BEGIN:VCARD\nVERSION:3.0\nFN:Marta Silva\nEMAIL:marta@example.org\nEND:VCARD\n"


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """A folder as somebody may have it."""
    folder = tmp_path / "export"
    for name, content in {
        "0 reply.eml": REPLY.format("kiln"),
        "Mail/kiln.eml": MAIL.format("kiln"),
        "Mail/copy.eml": MAIL.format("kiln"),
        "studio.ics": EVENT,
        "people.vcf": CARD,
        "Notes/Talc.md": "two bags",
        "photo.jpg": "\0",
        "nothing.mbox": "",
    }.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return folder


def skipped(report: ImportReport) -> dict[str, int]:
    return {reason.why: reason.count for reason in report.skipped}


def test_folder_with_all_formats_is_imported_and_reported(export: Path, store: SQLiteStore) -> None:
    store.put_user(INES)
    report = import_into(store, "ines", [export], now=NOW)
    assert {item.app: item.title for item in store.items("ines") if item.title != "Re: kiln"} == {
        "Mail": "kiln",
        "Calendar": "Glaze night",
        "Notes": "Talc",
    }
    assert [(row.format, row.app, row.items, row.new) for row in report.rows] == [
        ("calendar", "Calendar", 1, 1),
        ("mail", "Mail", 2, 2),
        ("notes", "Notes", 1, 1),
    ]
    assert report.files == {"mail": 3, "notes": 1, "contacts": 1, "calendar": 1}
    assert skipped(report) == {"duplicate of an entry already read": 1, "unknown format": 1, "empty": 1}
    assert [contact.name for contact in store.user("ines").contacts] == ["Marta Silva"]
    (use,) = store.uses("ines")  # the answer was read before what it answers
    assert use == UsageEvent(item_id("mail", "kiln"), datetime.fromisoformat("2024-05-13T10:00+01:00"))
    assert (report.uses, report.new_uses, report.items, report.size) == (1, 1, 4, report.size)


def test_importing_again_changes_nothing(export: Path, store: SQLiteStore) -> None:
    import_into(store, "somebody", [export], now=NOW)
    before, items = store.revision("somebody"), store.items("somebody")
    again = import_into(store, "somebody", [export], now=NOW)
    assert (again.new, again.changed, again.new_uses, again.new_contacts, again.gone) == (0, 0, 0, 0, 0)
    assert (store.revision("somebody"), store.items("somebody")) == (before, items)
    (export / "Notes/Talc.md").write_text("three bags")
    changed = import_into(store, "somebody", [export], now=NOW)
    assert (changed.new, changed.changed) == (0, 1)


def zipped(export: Path, archive: Path) -> None:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for file in sorted(export.rglob("*")):
            if file.is_file():
                target.write(file, Path("Takeout") / file.relative_to(export))
        target.writestr("Takeout/inner.zip", b"PK")


def tarred(export: Path, archive: Path) -> None:
    (export / "inner.zip").write_bytes(b"PK")
    with tarfile.open(archive, "w:gz") as target:
        target.add(export, "Takeout")


@pytest.mark.parametrize(("pack", "suffix"), [(zipped, "zip"), (tarred, "tgz"), (tarred, "tar.gz")])
def test_archive_is_imported_without_duplicates(
    export: Path, store: SQLiteStore, pack: Callable[[Path, Path], None], suffix: str
) -> None:
    long = "".join(f"From - Mon May 13 09:00:00 2024\n{MAIL.format(n)}{'x' * 900}\n\n" for n in range(99))
    (export / "Inbox.mbox").write_text(long)
    first, second = (export.parent / f"takeout-{number}.{suffix}" for number in (1, 2))
    pack(export, first)
    report = import_into(store, "ines", [first], now=NOW)
    assert (report.items, report.contacts) == (103, 1)
    assert skipped(report)["nested archive: unpack it first"] == 1
    pack(export, second)
    again = import_into(store, "ines", [second], now=NOW)
    assert (again.items, again.new, again.changed) == (103, 0, 0)


def test_truncated_tar_is_read_to_its_end(export: Path, store: SQLiteStore) -> None:
    (export / "z.md").write_bytes(os.urandom(40_000).hex().encode())
    archive = export.parent / "takeout.tgz"
    tarred(export, archive)
    archive.write_bytes(archive.read_bytes()[:-20_000])
    report = import_into(store, "ines", [archive], now=NOW)
    assert report.items >= 4
    assert any("cut off" in why or "cannot be read" in why for why in skipped(report))


def test_damaged_archive_is_reported_and_the_rest_is_read(export: Path, store: SQLiteStore) -> None:
    archive = export / "damaged.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as target:
        target.writestr("a.md", "abc" * 9000)
    content = archive.read_bytes()
    archive.write_bytes(content.replace(b"abcabcabc", b"abcabcabd", 1))
    (export / "none.zip").write_bytes(b"PK\3\4")
    report = import_into(store, "ines", [export], now=NOW)
    assert skipped(report)["cannot be read completely: damaged file"] == 1
    assert skipped(report)["unreadable archive"] == 1
    assert report.items == 4


class _Odd:
    """A reader that meets something nobody foresaw, in the middle of a file."""

    name = "odd"
    apps = ("Notes",)

    def __init__(self, *records: ImportRecord | Exception) -> None:
        self._found = records

    def can_read(self, _file: SourceFile) -> bool:
        return True

    def read(self, _file: SourceFile, _context: ImportContext) -> Iterator[ImportRecord]:
        for record in self._found:
            if isinstance(record, Exception):
                raise record
            yield record


def note(name: str, modified: str = "2024-05-11T20:30", **fields: object) -> Item:
    return Item(name, "Notes", {"title": name, "content": "x", "modified": modified, **fields})


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (KeyError("a secret"), "cannot be parsed (KeyError)"),
        (OSError(5, "Input/output error"), "cannot be read completely: Input/output error"),
        (InvalidDataError("larger than it may be"), "larger than it may be"),
    ],
)
def test_items_before_a_failure_are_kept(
    tmp_path: Path, store: SQLiteStore, error: Exception, why: str
) -> None:
    (tmp_path / "file").write_text("x")
    report = import_into(store, "ines", [tmp_path / "file"], reader=_Odd(note("a"), error, note("b")))
    assert [item.id for item in store.items("ines")] == ["a"]
    assert skipped(report) == {why: 1}


def test_store_errors_are_not_reported_as_broken_files(tmp_path: Path, store: SQLiteStore) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError):
        import_into(store, "ines", [tmp_path / "file"], reader=_Odd(StoreError("the disk is full")))


def test_invalid_items_and_uses_do_not_block_others(tmp_path: Path, store: SQLiteStore) -> None:
    (tmp_path / "file").write_text("x")
    records = (
        note("good"),
        note("bad", modified="someday"),
        UsageEvent("good", datetime(2024, 5, 11)),
        UsageEvent("good", datetime.fromisoformat("0001-01-01T00:00+01:00")),
        UsageEvent("missing", datetime(2024, 5, 11)),
    )
    report = import_into(store, "ines", [tmp_path / "file"], reader=_Odd(*records))
    assert [item.id for item in store.items("ines")] == ["good"]
    assert len(store.uses("ines")) == 1
    assert skipped(report) == {
        "Notes item with an invalid time": 1,
        "usage event with an invalid time": 1,
        "usage event of an unknown item": 1,
    }


def test_times_that_cannot_be_read_are_reported(
    tmp_path: Path, store: SQLiteStore, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("x")
    due = {"a": "soon", "b": "2024-05-11"}
    tasks = [Item(name, "Tasks", {"title": name, "due": time}) for name, time in due.items()]
    report = import_into(store, "ines", [tmp_path / "file"], reader=_Odd(*tasks))
    assert report.unread_times == (UnreadTime("Tasks", "due", 1),)
    print_report(report, "ines")
    printed = capsys.readouterr().out
    assert "1 item of Tasks: the field 'due' is not a time" in printed
    assert "1 time not readable" in printed
    assert "soon" not in printed
    assert not import_into(store, "ines", [tmp_path / "file"], reader=_Odd(*tasks)).unread_times


def test_other_mail_of_the_same_id_is_reported(tmp_path: Path, store: SQLiteStore) -> None:
    for day in (13, 14):
        head = f"Message-ID: <1@example.org>\nDate: {day} May 2024 09:00:00 +0100\nFrom: m@example.org"
        (tmp_path / f"{day}.eml").write_text(f"{head}\nSubject: kiln\n\nOn {day}.\n")
    report = import_into(store, "ines", [tmp_path / "13.eml", tmp_path / "14.eml"], now=NOW)
    assert (report.items, skipped(report)) == (1, {"another version of an entry already read": 1})


def test_latest_version_of_an_item_wins_in_any_order(tmp_path: Path, store: SQLiteStore) -> None:
    (tmp_path / "file").write_text("x")
    days = [f"2024-05-{day:02}T08:00" for day in (3, 9, 5, 9)]
    plays = [note("song", modified=day, number=n) for n, day in enumerate(days)]
    filler = [note(f"n{number}") for number in range(BATCH)]
    for _ in range(2):
        import_into(store, "ines", [tmp_path / "file"], reader=_Odd(*plays[:1], *filler, *plays[1:]))
        assert store.items("ines", ["song"])[0].fields["number"] == 1
    report = import_into(store, "ines", [tmp_path / "file"], reader=_Odd(*reversed(plays)))
    assert (report.items, skipped(report)) == (1, {"duplicate of an entry already read": 1})


def test_progress_reports_all_bytes(export: Path, store: SQLiteStore) -> None:
    told: list[tuple[int, int]] = []
    import_into(store, "ines", [export], progress=lambda done, of: told.append((done, of)))
    total = sum(file.stat().st_size for file in export.rglob("*") if file.is_file())
    assert told[-1] == (total, total)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_missing_path_raises(tmp_path: Path, store: SQLiteStore) -> None:
    with pytest.raises(InvalidDataError, match="no such file"):
        import_into(store, "ines", [tmp_path / "missing"])
    with pytest.raises(InvalidDataError, match="choose one of mbox"):
        get_reader("pigeon post")


def test_links_pipes_and_loops_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    (tmp_path / "round").symlink_to(tmp_path / "about")
    (tmp_path / "about").symlink_to(tmp_path / "round")
    os.mkfifo(tmp_path / "pipe")
    records = {
        Path(record.where).name: record.why
        for record in iter_files([tmp_path])
        if isinstance(record, SkippedEntry)
    }
    assert records.pop("pipe") == "not a regular file"
    assert records == dict.fromkeys(("loop", "gone", "round", "about"), "symbolic link")
    with pytest.raises(InvalidDataError, match="no such file"):
        list(iter_files([tmp_path / "round"]))


def test_files_behind_links_are_imported_only_on_request(tmp_path: Path, store: SQLiteStore) -> None:
    secret, folder = tmp_path / "passwords.md", tmp_path / "export"
    secret.write_text("root: kiln\n")
    folder.mkdir()
    (folder / "Recipes.md").write_text("Talc 8\n")
    (folder / "link.md").symlink_to(secret)
    report = import_into(store, "ines", [folder])
    assert [item.fields["title"] for item in store.items("ines")] == ["Recipes"]
    assert [reason.why for reason in report.skipped] == [
        "symbolic link to a file: import it with --follow-links"
    ]
    import_into(store, "ines", [folder], follow_links=True)
    assert len(store.items("ines")) == 2


def test_link_that_is_named_is_followed(tmp_path: Path, store: SQLiteStore) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "Recipes.md").write_text("Talc 8\n")
    (tmp_path / "link").symlink_to(tmp_path / "notes")
    import_into(store, "ines", [tmp_path / "link"])
    assert len(store.items("ines")) == 1


def test_file_replaced_by_a_link_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("root: kiln\n")
    note = tmp_path / "Recipes.md"
    note.write_text("Talc 8\n")
    file = only_file(note)
    note.unlink()
    note.symlink_to(tmp_path / "secret")
    with pytest.raises(OSError, match="symbolic link"):
        file.open()


def test_reader_names_are_unique_and_readers_reject_unknown_files(tmp_path: Path) -> None:
    assert len({reader.name for reader in READERS}) == len(READERS)
    for number, content in enumerate((b"", b"\0\1\2", b"{}", b"<xml/>", b"\x89PNG\r\n\x1a\n")):
        file = tmp_path / f"{number}.bin"
        file.write_bytes(content)
        assert detect_reader(only_file(file)) is None


def test_known_user_is_not_changed(export: Path, store: SQLiteStore) -> None:
    store.put_user(User("ines", profile={"name": "Ines"}, places={"home": (41.0, -8.0)}, zone=INES.zone))
    import_into(store, "ines", [export], now=NOW)
    user = store.user("ines")
    assert (user.profile, user.places, user.zone) == ({"name": "Ines"}, {"home": (41.0, -8.0)}, INES.zone)


def test_long_texts_are_cut_between_words() -> None:
    assert shorten("short", 10) == "short"
    assert shorten("one two three", 9) == "one two …"
    assert shorten("x" * 20, 10) == "x" * 10 + " …"
