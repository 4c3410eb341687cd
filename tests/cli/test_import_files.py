"""Somebody's own files, of all kinds, into a store by the installed program; what they ask is answered."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from importlib.metadata import Distribution
from pathlib import Path

import pytest
from rich.console import Console
from tests.importers.calls import test_calls as phone
from tests.importers.music import test_music as music
from tests.importers.reading_files import utc
from tests.importers.web import test_browser_history as browser
from tests.importers.web import test_google_activity as google
from typer.testing import CliRunner, Result

from contextune._internal.assets import asset
from contextune.cli import app, doctor, output
from contextune.errors import ContextuneError
from contextune.store import SQLiteStore

PROGRAM = Path(sys.executable).with_name("contextune")
MOMENT = ("--time", "2024-05-16T17:40")
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


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "200", "TZ": "Europe/Lisbon"}
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, env=environment)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs a command in this process, which has the models loaded already."""
    monkeypatch.setattr(output, "out", Console(width=200))
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


def files(folder: Path) -> Path:
    """What somebody may have gathered in a folder."""
    folder.mkdir()
    (folder / "Inbox.mbox").write_text(MAIL)
    (folder / "studio.ics").write_text(CALENDAR)
    (folder / "people.vcf").write_text(CARDS)
    (folder / "Pottery").mkdir()
    (folder / "Pottery" / "Cone 6 recipes.md").write_text("Celadon: talc 8, silica 30, ash 12.\n")
    google.activity(folder, google.searched("celadon crazing why"), google.watched("Throwing a tall vase", 1))
    time_said = "May 14, 2024, 9:00:00 PM WEST<br>"
    shown = google.link(f"{google.WATCH}00000000002", "Raku at night")
    google.page(folder, google.cell("YouTube", f"Watched&nbsp;{shown}<br>{time_said}"))
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
    folder = tmp_path_factory.mktemp("import")
    store = folder / "store.db"
    own = files(folder / "files")
    me = ("--name", "Ines Duarte", "--email", "ines@example.com", "--zone", "Europe/Lisbon")
    done = run("import", own, *me, "--store", store)
    assert done.returncode == 0, done.stderr
    return own, store, done.stdout


def test_everything_is_imported_and_told(imported: tuple[Path, Path, str]) -> None:
    _, store, said = imported
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
    for told in ("skipped within half a minute", "a call whose number was withheld", "photo.jpg"):
        assert told in said
    assert "14 items (14 new, 0 changed)" in said


@pytest.mark.parametrize(
    ("request_", "item", "plan"),
    [
        ("Read me what Marta wrote about the kiln.", "Kiln slots", 'read_email(email_subject="Kiln slots")'),
        ("How long until I have to be at the studio?", "Glaze night", 'get_event(event_name="Glaze night"'),
        ("Play the song I always hear in the morning.", "Lágrima", 'play_song(song_name="Lágrima"'),
    ],
)
def test_what_is_asked_is_answered_right_away(
    imported: tuple[Path, Path, str], here: Callable[..., Result], request_: str, item: str, plan: str
) -> None:
    _, store, _ = imported
    check_answer(here("ask", request_, *MOMENT, "--store", store).stdout, item, plan)


def test_the_installed_program_knows_who_called(imported: tuple[Path, Path, str]) -> None:
    _, store, _ = imported
    done = run("ask", "Call my brother back.", *MOMENT, "--store", store)
    assert done.returncode == 0, done.stderr
    check_answer(done.stdout, "Rui Duarte", '_call(contact="Rui Duarte")')


def check_answer(said: str, item: str, plan: str) -> None:
    first = next(line for line in said.splitlines() if line.startswith("│") and " 1 " in line)
    assert item in first
    (planned,) = [line for line in said.splitlines() if line.startswith("plan: ")]
    assert plan in planned


def test_again_changes_nothing_and_forget_leaves_nothing(
    imported: tuple[Path, Path, str], tmp_path: Path
) -> None:
    own, store, _ = imported
    copy = tmp_path / "copy.db"
    shutil.copyfile(store, copy)
    again = run("import", own, "--store", copy)
    assert again.returncode == 0, again.stderr
    assert "14 items (0 new, 0 changed), 14 uses (0 new), 2 contacts (0 new)" in again.stdout
    words = ("Kiln slots", "Glaze night", "Marta Silva", "celadon", "tall vase", "Amália", "912 345 678")
    before = store.read_bytes()
    assert all(word.encode() in before for word in words)
    assert run("forget", "me", "--yes", "--store", copy).returncode == 0
    left = b"".join(file.read_bytes() for file in tmp_path.glob("copy.db*"))
    assert [word for word in words if word.encode() in left] == []


def settle(until: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for something to come about."""
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.05)


def _listening() -> None:
    """Whatever a shell starts in the background is deaf to Ctrl-C, and so is what that starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_watch_imports_what_changes_and_stops_cleanly(tmp_path: Path, how: signal.Signals) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "One.md").write_text("first")
    store = folder / "store.db"  # in the folder itself: it must not be taken for a change
    words = [PROGRAM, "watch", folder, "--no-embed", "--every", "0.1", "--store", store]
    log, faults = tmp_path / "log", tmp_path / "faults"
    with (
        log.open("w") as out,
        faults.open("w") as err,
        subprocess.Popen(words, stdout=out, stderr=err, preexec_fn=_listening) as watching,
    ):
        try:
            settle(lambda: "1 item (1 new" in log.read_text())
            (folder / "Two.md").write_text("second")
            settle(lambda: log.read_text().count("1 item (1 new") == 2)
            (folder / "One.md").write_text("first, and more")
            settle(lambda: "1 item (0 new, 1 changed)" in log.read_text())
            watching.send_signal(how)
            assert watching.wait(30) == 0
        finally:
            watching.kill()
    said = log.read_text()
    assert "Stopped." in said
    assert "Traceback" not in faults.read_text()
    assert said.count("\n") == 5  # the beginning, three imports, the end
    with SQLiteStore(store) as opened:
        assert {item.title: item.fields["content"] for item in opened.items("me")} == {
            "One": "first, and more",
            "Two": "second",
        }


def test_doctor_finds_nothing_broken_here_and_a_damaged_store(
    imported: tuple[Path, Path, str], tmp_path: Path, here: Callable[..., Result]
) -> None:
    _, store, _ = imported
    well = run("doctor", "--store", store)
    assert well.returncode == 0, well.stdout
    assert "checksums are right" in well.stdout
    assert "one request takes" in well.stdout
    assert "user me: clock in Europe/Lisbon" in well.stdout
    damaged = tmp_path / "damaged.db"
    with closing(sqlite3.connect(store)) as source, closing(sqlite3.connect(damaged)) as target:
        source.backup(target)
    content = damaged.read_bytes()
    damaged.write_bytes(content[:8192] + b"\xff" * 16384 + content[24576:])
    ill = here("doctor", "--store", damaged)
    assert ill.exit_code == 1
    assert "✗" in ill.stdout


def test_doctor_sees_a_model_that_is_not_what_was_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: Callable[..., Result]
) -> None:
    shutil.copytree(asset("embedder"), tmp_path / "embedder")
    (tmp_path / "embedder" / "tokenizer.json").write_text("{}")

    def changed(name: str) -> Path:
        return tmp_path / name if name == "embedder" else asset(name)

    monkeypatch.setattr(doctor, "asset", changed)
    ill = here("doctor", "--store", tmp_path / "none.db")
    assert ill.exit_code == 1
    assert "tokenizer.json: not what was packed" in ill.stdout
    assert "none yet at" in ill.stdout
    assert not (tmp_path / "none.db").exists()


def installed(folder: Path, *assets: str) -> Distribution:
    """These assets as a wheel installs them, with the list of checksums that comes along."""
    info = folder / "contextune-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: contextune\nVersion: 0.1.0\n")
    lines: list[str] = []
    for name in assets:
        copy = folder / "contextune" / "assets" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(asset(name), copy)
        digest = urlsafe_b64encode(sha256(copy.read_bytes()).digest()).rstrip(b"=").decode()
        lines.append(f"contextune/assets/{name},sha256={digest},{copy.stat().st_size}\n")
    (info / "RECORD").write_text("".join(lines))
    return Distribution.at(info)


def test_doctor_sees_assets_that_are_damaged_or_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = installed(tmp_path, "personas/b05.json", "personas/b06.json", "embedder/embedder.json")

    def as_installed(_name: str) -> Distribution:
        return packed

    monkeypatch.setattr(doctor, "distribution", as_installed)
    _, well = doctor.models()
    assert well == ("assets", doctor.OK, "3 files, checksums are right")
    damaged, gone = (tmp_path / "contextune/assets/personas" / name for name in ("b05.json", "b06.json"))
    damaged.write_bytes(damaged.read_bytes().replace(b"a", b"b", 1))
    gone.unlink()
    _, ill = doctor.models()
    assert (ill.what, ill.state) == ("assets", doctor.BROKEN)
    assert ill.said.startswith("b05.json, b06.json: not what was packed; pip install --force-reinstall")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("import", "missing.mbox"), "no such file or folder"),
        (("import", ".", "--zone", "Mars/Olympus"), "there is no zone 'Mars/Olympus'"),
        (("import", ".", "--zone", "../../etc/passwd"), "there is no zone"),
        (("import", ".", "--as", "pigeon"), "choose among mbox"),
        (("watch", "missing"), "no such folder"),
        (("ask", "Hello"), "contextune import PATH… fills it"),
    ],
)
def test_what_is_of_no_use_is_said(
    tmp_path: Path, here: Callable[..., Result], words: tuple[str, ...], reason: str
) -> None:
    result = here(*words, "--store", tmp_path / "store.db")
    assert isinstance(result.exception, ContextuneError)
    assert reason in str(result.exception)


def test_nothing_that_can_be_read_is_told_by_the_exit_status(
    tmp_path: Path, here: Callable[..., Result]
) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "photo\x1b[2J.jpg").write_bytes(b"\xff\xd8")
    result = here("import", folder, "--store", tmp_path / "store.db")
    assert result.exit_code == 1
    assert "no format that is known" in result.stdout
    assert "Nothing was read, 1 skipped. User: me." in result.stdout
    assert "\x1b" not in result.stdout


def test_with_several_users_one_has_to_be_named(tmp_path: Path, here: Callable[..., Result]) -> None:
    note = tmp_path / "note.md"
    note.write_text("x")
    for user in ("ines", "rui"):
        words = ("import", note, "--user", user, "--as", "notes", "--no-embed", "--store", tmp_path / "s.db")
        assert here(*words).exit_code == 0
    result = here("import", note, "--store", tmp_path / "s.db")
    assert "the store has 2 users: say with --user" in str(result.exception)
