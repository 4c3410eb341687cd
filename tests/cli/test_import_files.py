"""`contextune import` and `watch`: files of every format, then requests about them."""

import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.importers.calls import test_calls as phone
from tests.importers.music import test_music as music
from tests.importers.reading_files import utc
from tests.importers.web import test_browser_history as browser
from tests.importers.web import test_google_activity as google
from tests.program import PROGRAM, run

from contextune.store import SQLiteStore

MOMENT = ("--time", "2024-05-16T17:40")
PROFILE = ("--name", "Ines Duarte", "--email", "ines@example.com", "--zone", "Europe/Lisbon")
MAIL = (
    "From marta@example.org Mon May 13 09:00:00 2024\nFrom: Marta Silva <marta@example.org>\n"
    "To: ines@example.com\nMessage-ID: <kiln@example.org>\nDate: Mon, 13 May 2024 09:00:00 +0100\n"
    "Subject: Kiln slots\n\nThe kiln is free on Saturday, two shelves are yours.\n\n"
    "From rui@example.com Tue May 14 09:00:00 2024\nFrom: rui@example.com\nTo: ines@example.com\n"
    "Message-ID: <boat@example.com>\nDate: Tue, 14 May 2024 09:00:00 +0100\nSubject: Rowing on Sunday\n\n"
    "The boat leaves at eight.\n\n"
)
CALENDAR = (
    "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nSUMMARY:Glaze night\nLOCATION:Barro Studio\n"
    "DTSTART;TZID=Europe/Lisbon:20240516T190000\nDTEND;TZID=Europe/Lisbon:20240516T210000\nEND:VEVENT\n"
    "BEGIN:VEVENT\nUID:2\nSUMMARY:Dentist\nDTSTART;TZID=Europe/Lisbon:20240521T090000\nEND:VEVENT\n"
    "BEGIN:VTODO\nUID:3\nSUMMARY:Buy talc\nDUE:20240517T180000\nCREATED:20240510T080000Z\nEND:VTODO\n"
    "END:VCALENDAR\n"
)
CARDS = (
    "BEGIN:VCARD\nVERSION:4.0\nUID:u1\nFN:Rui Duarte\nTEL:+351 912 345 678\nEMAIL:rui@example.com\n"
    "NICKNAME:Brother\nEND:VCARD\n"
    "BEGIN:VCARD\nVERSION:3.0\nUID:u2\nFN:Marta Silva\nEMAIL:marta@example.org\nEND:VCARD\n"
)


def files(folder: Path) -> Path:
    """A folder with a file of every format."""
    folder.mkdir()
    (folder / "Inbox.mbox").write_text(MAIL)
    (folder / "studio.ics").write_text(CALENDAR)
    (folder / "people.vcf").write_text(CARDS)
    (folder / "Pottery").mkdir()
    (folder / "Pottery" / "Cone 6 recipes.md").write_text("Celadon: talc 8, silica 30, ash 12.\n")
    google.activity(folder, google.searched("celadon crazing why"), google.watched("Throwing a tall vase", 1))
    time = "May 14, 2024, 9:00:00 PM WEST<br>"
    title = google.link(f"{google.WATCH}00000000002", "Raku at night")
    google.page(folder, google.cell("YouTube", f"Watched&nbsp;{title}<br>{time}"))
    chrome = browser.Chrome(folder / "History")
    with closing(chrome.database):
        chrome.visit("https://duckduckgo.com/?q=sourdough+starter", time=utc(2024, 5, 12, 10))
    mornings = [f"2024-05-{day:02}T06:24:00Z" for day in (6, 7, 8, 9, 10, 13, 14, 15)]
    skipped = music.play("Skipped", ms_played=2000, reason_end="fwdbtn")
    music.history(folder, *(music.play(ts=ts) for ts in mornings), skipped)
    (folder / "scrobbles.csv").write_text(
        "artist,album,track,uts\nTuxedomoon,Desire,Jinx,1715540000\n", encoding="utf-8"
    )
    phone.backup(folder, phone.call(kind=3, name="(Unknown)"), phone.call("-1"))
    (folder / "calls.csv").write_text("number,type,date\n5550100,Dialed,2024-05-14 12:00\n")
    (folder / "photo.jpg").write_bytes(b"\xff\xd8\xff")
    return folder


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """The folder, the store it was imported into, and what the command printed."""
    folder = tmp_path_factory.mktemp("import")
    store = folder / "store.db"
    source = files(folder / "files")
    done = run("import", source, *PROFILE, "--store", store, width=200)
    assert done.returncode == 0, done.stderr
    return source, store, done.stdout


def test_import_reads_every_format_and_prints_a_report(imported: tuple[Path, Path, str]) -> None:
    _, store, printed = imported
    with SQLiteStore(store) as opened:
        titles = {(item.app, item.title) for item in opened.items("me")}
        user = opened.user("me")
    assert titles == {
        ("Mail", "Kiln slots"), ("Mail", "Rowing on Sunday"), ("Calendar", "Glaze night"),
        ("Calendar", "Dentist"), ("Reminders", "Buy talc"), ("Notes", "Cone 6 recipes"),
        ("Google", "celadon crazing why"), ("Google", "sourdough starter"),
        ("YouTube", "Throwing a tall vase"), ("YouTube", "Raku at night"), ("Music", "Lágrima"),
        ("Music", "Jinx"), ("PhoneCall", "Rui Duarte"), ("PhoneCall", "5550100"),
    }  # fmt: skip
    assert user.profile == {"name": "Ines Duarte", "email": ["ines@example.com"]}
    assert str(user.zone) == "Europe/Lisbon"
    assert "photo.jpg" in printed
    assert "14 items (14 new, 0 changed)" in printed


@pytest.mark.parametrize(
    ("request_", "item", "plan"),
    [
        ("Read me what Marta wrote about the kiln.", "Kiln slots", 'read_email(email_subject="Kiln slots")'),
        ("How long until I have to be at the studio?", "Glaze night", 'get_event(event_name="Glaze night"'),
        ("Play the song I always hear in the morning.", "Lágrima", 'play_song(song_name="Lágrima"'),
        ("Call my brother back.", "Rui Duarte", '_call(contact="Rui Duarte")'),
    ],
)
def test_imported_items_answer_requests(
    imported: tuple[Path, Path, str], request_: str, item: str, plan: str
) -> None:
    _, store, _ = imported
    printed = run("ask", request_, *MOMENT, "--store", store, width=200).stdout
    answer, _, items = printed.rpartition("\n\n")
    assert plan in answer
    assert items.startswith("1 ")
    assert item in items.splitlines()[0]


def test_importing_again_changes_nothing_and_forget_leaves_nothing(
    imported: tuple[Path, Path, str], tmp_path: Path
) -> None:
    source, store, _ = imported
    copy = tmp_path / "copy.db"
    shutil.copyfile(store, copy)
    again = run("import", source, "--store", copy, width=200)
    assert again.returncode == 0, again.stderr
    assert "14 items (0 new, 0 changed), 14 uses (0 new), 2 contacts (0 new)" in again.stdout
    texts = ("Kiln slots", "Glaze night", "Marta Silva", "celadon", "tall vase", "Amália", "912 345 678")
    before = store.read_bytes()
    assert all(text.encode() in before for text in texts)
    assert run("forget", "me", "--yes", "--store", copy).returncode == 0
    after = b"".join(file.read_bytes() for file in tmp_path.glob("copy.db*"))
    assert [text for text in texts if text.encode() in after] == []


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for `condition`; the timeout of the test ends a wait that never does."""
    while not condition():
        time.sleep(0.05)


def _restore_interrupt() -> None:
    """A shell starts background processes with Ctrl-C ignored, which children inherit."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_watch_imports_changes_and_stops_cleanly(tmp_path: Path, stop: signal.Signals) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "One.md").write_text("first")
    store = folder / "store.db"  # in the watched folder: must not count as a change
    words = [PROGRAM, "watch", folder, "--no-embed", "--every", "0.1", "--store", store]
    log, errors = tmp_path / "log", tmp_path / "errors"
    with (
        log.open("w") as out,
        errors.open("w") as err,
        subprocess.Popen(words, stdout=out, stderr=err, preexec_fn=_restore_interrupt) as watching,
    ):
        try:
            wait_until(lambda: "1 item (1 new" in log.read_text())
            (folder / "Two.md").write_text("second")
            wait_until(lambda: log.read_text().count("1 item (1 new") == 2)
            (folder / "One.md").write_text("first, and more")
            wait_until(lambda: "1 item (0 new, 1 changed)" in log.read_text())
            watching.send_signal(stop)
            assert watching.wait() == 0
        finally:
            watching.kill()
    printed = log.read_text()
    assert "Stopped." in printed
    assert "Traceback" not in errors.read_text()
    assert printed.count("\n") == 5  # the first line, three imports, the last line
    with SQLiteStore(store) as opened:
        assert {item.title: item.fields["content"] for item in opened.items("me")} == {
            "One": "first, and more",
            "Two": "second",
        }


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("import", "missing.mbox"), "no such file or folder"),
        (("import", ".", "--zone", "Mars/Olympus"), "there is no time zone 'Mars/Olympus'"),
        (("import", ".", "--zone", "../../etc/passwd"), "there is no time zone"),
        (("import", ".", "--as", "pigeon"), "'pigeon'"),
        (("watch", "missing"), "no such folder"),
        (("ask", "Hello"), "no such store: "),
    ],
)
def test_invalid_arguments_are_one_error_line(tmp_path: Path, words: tuple[str, ...], reason: str) -> None:
    done = run(*words, "--store", tmp_path / "store.db")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1


def test_exit_status_is_1_if_no_file_could_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "photo\x1b[2J.jpg").write_bytes(b"\xff\xd8")
    done = run("import", folder, "--store", tmp_path / "store.db", width=200)
    assert done.returncode == 1
    assert "No file was read, 1 skipped. User: me." in done.stdout
    assert "\x1b" not in done.stdout


def test_user_is_required_if_the_store_has_several(tmp_path: Path) -> None:
    note = tmp_path / "note.md"
    note.write_text("x")
    for user in ("ines", "rui"):
        words = ("import", note, "--user", user, "--as", "notes", "--no-embed", "--store", tmp_path / "s.db")
        assert run(*words).returncode == 0
    done = run("import", note, "--store", tmp_path / "s.db")
    assert "the store has 2 users: choose one with --user" in done.stderr


def test_links_are_followed_on_request(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.md").write_text("Talc 8\n")
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "link.md").symlink_to(tmp_path / "elsewhere.md")
    words = ("import", tmp_path / "export", "--store", tmp_path / "store.db", "--no-embed")
    done = run(*words)
    assert (done.returncode, "--follow-links" in done.stdout) == (1, True)
    assert "1 item (1 new" in run(*words, "--follow-links").stdout


def test_dry_run_reports_as_the_import_does_and_writes_nothing(
    imported: tuple[Path, Path, str], tmp_path: Path
) -> None:
    source, store, printed = imported
    new = run("import", source, *PROFILE, "--dry-run", "--store", tmp_path / "new.db", width=200)
    assert new.returncode == 0, new.stderr
    summary = printed.splitlines()[-1]
    assert new.stdout.splitlines()[-1] == f"Dry run, nothing is written: {summary}"
    assert list(tmp_path.iterdir()) == []
    copy = tmp_path / "copy.db"
    shutil.copyfile(store, copy)
    with SQLiteStore(copy) as opened:
        opened.delete_items("me", [opened.items("me")[0].id])
    before = copy.read_bytes()
    again = run("import", source, "--dry-run", "--store", copy, width=200)
    assert "14 items (1 new, 0 changed)" in again.stdout
    assert copy.read_bytes() == before


def test_verbose_lists_every_skipped_file(tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(8):
        (folder / f"photo{number}.jpg").write_bytes(b"\xff\xd8")
    words = ("import", folder, "--dry-run", "--store", tmp_path / "store.db")
    assert "photo7.jpg" not in run(*words, width=200).stdout
    listed = run(*words, "--verbose", width=200).stdout
    for number in range(8):
        assert f"skipped {folder / f'photo{number}.jpg'}: unknown format\n" in listed


def test_entries_that_all_fail_are_not_a_success(tmp_path: Path) -> None:
    (tmp_path / "broken.ics").write_text("BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nEND:VEVENT\nEND:VCALENDAR\n")
    done = run("import", tmp_path / "broken.ics", "--no-embed", "--store", tmp_path / "store.db")
    assert done.returncode == 1
    assert "1 file with 0.0 MB read, 0 items" in done.stdout
