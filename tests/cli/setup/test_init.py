"""`contextune init`: sources on this machine, three questions, import, questions to try."""

import json
import shlex
import sys
import zipfile
from pathlib import Path

import pytest
from tests.cli.setup.homes import linux_home, write
from tests.importers.calls.test_calls import backup, call
from tests.importers.mail.test_mail import PLAIN
from tests.importers.music.test_music import history, play
from tests.importers.reading_files import INES, NOW
from tests.program import Completed, run

from contextune.cli.setup import zones
from contextune.cli.setup.sources import find_sources
from contextune.cli.setup.suggestions import suggest_questions
from contextune.cli.setup.zones import find_zone
from contextune.errors import InvalidDataError
from contextune.store import SQLiteStore
from contextune.tools import bundled_toolbox
from contextune.tuner import Tuner
from contextune.types import Item

LINUX = ["thunderbird", "maildir", "browser", "calendar", "obsidian"]


def names(home: Path, platform: str, **environ: str) -> dict[str, str]:
    return {source.name: source.kind for source in find_sources(home, platform, environ)}


def test_sources_of_a_linux_home_are_found(tmp_path: Path) -> None:
    sources = find_sources(linux_home(tmp_path), "linux", {})
    assert [source.kind for source in sources] == LINUX
    assert [source.name for source in sources] == [
        "Thunderbird, profile abc.default",
        "Maildir Maildir",
        "Chrome, profile Default",
        "Downloads/studio.ics",
        "Obsidian vault Pottery",
    ]
    assert all(source.files == 1 and source.size for source in sources)


def test_sources_of_macos_and_windows_are_found(tmp_path: Path) -> None:
    mac, windows = tmp_path / "mac", tmp_path / "windows"
    support = mac / "Library/Application Support"
    write(mac / "Library/Thunderbird/Profiles/a.default/ImapMail/host/INBOX", "From -\n")
    write(mac / "Library/Mail/V10/1/INBOX.mbox/Messages/1.emlx", "12\n")
    write(support / "Firefox/Profiles/b.default/places.sqlite", "x")
    write(support / "Google/Chrome/Profile 1/History", "x")
    write(mac / "Library/Safari/History.db", "x")
    write(mac / "elsewhere/Vault/Note.md", "x")
    vaults = {"vaults": {"1": {"path": str(mac / "elsewhere/Vault")}}}
    write(support / "obsidian/obsidian.json", json.dumps(vaults))
    assert names(mac, "darwin") == {
        "Thunderbird, profile a.default": "thunderbird",
        "Apple Mail": "apple-mail",
        "Firefox, profile b.default": "browser",
        "Chrome, profile Profile 1": "browser",
        "Safari": "browser",
        "Obsidian vault Vault": "obsidian",
    }
    local = windows / "Local"
    write(local / "Microsoft/Edge/User Data/Default/History", "x")
    write(windows / "Roaming/Thunderbird/Profiles/c.default/Mail/Local Folders/Inbox", "From -\n")
    assert names(windows, "win32", APPDATA=str(windows / "Roaming"), LOCALAPPDATA=str(local)) == {
        "Thunderbird, profile c.default": "thunderbird",
        "Edge, profile Default": "browser",
    }


def test_unreadable_settings_and_empty_folders_are_no_sources(tmp_path: Path) -> None:
    write(tmp_path / ".config/obsidian/obsidian.json", "[broken")
    (tmp_path / "Maildir/cur").mkdir(parents=True)
    (tmp_path / ".thunderbird/abc.default/Mail").mkdir(parents=True)
    assert find_sources(tmp_path, "linux", {}) == []


def test_exports_among_downloads_are_found_with_their_formats(tmp_path: Path) -> None:
    downloads = tmp_path / "Downloads"
    (downloads / "Spotify").mkdir(parents=True)
    history(downloads / "Spotify", play())
    history(downloads / "Spotify", play(), name="StreamingHistory_music_1.json")
    backup(downloads, call())
    write(downloads / "Inbox.mbox", PLAIN.decode())
    write(downloads / "readme.txt", "Thank you for downloading.")
    write(downloads / "program/manual.md", "# Manual")
    write(tmp_path / "Documents/WhatsApp Chat with Rui/_chat.txt", "[14/05/2024, 17:40:12] Rui: Oars?\n")
    with zipfile.ZipFile(downloads / "chat.zip", "w") as archive:
        archive.writestr("_chat.txt", "[14/05/2024, 17:40:12] Rui: Oars?\n")
    write(downloads / "broken.zip", "PK")
    found = {source.name: (source.kind, source.formats) for source in find_sources(tmp_path, "linux", {})}
    assert found == {
        "Downloads/Inbox.mbox": ("export", {"mail": 1}),
        "Downloads/Spotify": ("export", {"spotify": 2}),
        "Downloads/calls-20240516174000.xml": ("export", {"calls": 1}),
        "Downloads/chat.zip": ("export", {"whatsapp": 1}),
        "Documents/WhatsApp Chat with Rui": ("export", {"whatsapp": 1}),
    }


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("Europe/Lisbon", "Europe/Lisbon"),
        ("London", "Europe/London"),
        ("new york", "America/New_York"),
        ("Indianapolis", "America/Indianapolis"),
        ("GMT+1", "Etc/GMT-1"),
        ("utc -3", "Etc/GMT+3"),
        ("GMT+0", "Etc/GMT"),
        ("Mars", None),
        ("GMT+99", None),
        ("South Africa", "Africa/Johannesburg"),
        ("Germany", "Europe/Berlin"),
        ("the netherlands", None),
        ("Netherlands", "Europe/Amsterdam"),
        ("Utrecht, Netherlands", "Europe/Amsterdam"),
        ("Leeds, UK", "Europe/London"),
        ("", None),
    ],
)
def test_time_zone_is_found_by_city_and_offset(text: str, zone: str | None) -> None:
    found = find_zone(text)
    assert (found and found.key) == zone


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("Cape Town", "Africa/Johannesburg"),
        ("cape  town", "Africa/Johannesburg"),
        ("Krakow", "Europe/Warsaw"),
        ("São Paulo", "America/Sao_Paulo"),
        ("St Louis", "America/Chicago"),
        ("Birmingham, UK", "Europe/London"),
        ("Birmingham, Alabama", "America/Chicago"),
        ("Cape Town, Portugal", None),
        ("Nowhere", None),
    ],
)
def test_time_zone_is_found_by_any_city_with_an_airport(text: str, zone: str | None) -> None:
    pytest.importorskip("airportsdata")
    try:
        found = find_zone(text)
    except InvalidDataError:
        found = None
    assert (found and found.key) == zone


def test_name_of_several_time_zones_lists_them() -> None:
    with pytest.raises(InvalidDataError, match=r"'Spain' may be of several time zones: .*Atlantic/Canary"):
        find_zone("Spain")


def test_countries_are_known_without_the_airports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "airportsdata", None)
    zones.zones_by_city.cache_clear()
    assert find_zone("Cape Town") is None
    zone = find_zone("South Africa")
    zones.zones_by_city.cache_clear()
    assert zone is not None
    assert zone.key == "Africa/Johannesburg"


def test_questions_are_about_ordinary_items(tmp_path: Path) -> None:
    mails = [
        Item.mail(subject="Kiln slots", date="2024-05-13T09:00", author="marta@example.org", id="1"),
        Item.mail(subject="Half price today", date="2024-05-16T09:00", author="no-reply@example.net", id="2"),
        Item("3", "Mail", {"subject": "Last chance", "author": "a@example.net", "recipients": [],
                           "content": "", "date": "2024-05-16T10:00", "folder": "Inbox", "bulk": True}),
    ]  # fmt: skip
    with SQLiteStore(tmp_path / "store.db") as store:
        store.put_user(INES)
        store.put_items("ines", mails)
        questions = suggest_questions(Tuner(store, tools=bundled_toolbox()), INES, NOW)
    assert questions == ["Read me the mail about “Kiln slots”."]


def init(home: Path, *words: str, stdin: str = "") -> Completed:
    env = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "CONTEXTUNE_CONFIG": str(home / "config.toml"),
    }
    return run("init", *words, env=env, stdin=stdin, width=40)


def test_init_imports_everything_and_its_questions_are_answered(tmp_path: Path) -> None:
    home = linux_home(tmp_path)
    profile = ("--name", "Ines Duarte", "--email", "ines@example.com", "--zone", "Europe/Lisbon")
    done = init(
        home,
        "--yes",
        *profile,
        "--place",
        "home=41.15,-8.63",
        "--place",
        "work=Rua do Carmo 12",
        "--store",
        str(home / "me.db"),
    )
    assert done.returncode == 0, done.stderr
    assert "5 items (5 new, 0 changed)" in done.stdout
    with SQLiteStore(home / "me.db") as store:
        user = store.user("me")
    assert user.profile == {"name": "Ines Duarte", "email": ["ines@example.com"]}
    assert (str(user.zone), user.places) == (
        "Europe/Lisbon",
        {"home": (41.15, -8.63), "work": "Rua do Carmo 12"},
    )
    lines = [line.strip() for line in done.stdout.splitlines() if "contextune ask" in line]
    assert lines[0] == "contextune ask 'When does “Glaze night” begin?'"
    assert len(lines) == 3
    printed = " ".join(done.stdout.split())
    assert "Barro Studio from the calendar event “Glaze night”" in printed
    assert 'get_event(event_name="Glaze night")' in printed
    for line in lines:  # without --store: init has written it to the configuration
        answered = run(*shlex.split(line)[1:], "--json", env={"CONTEXTUNE_CONFIG": str(home / "config.toml")})
        assert answered.returncode == 0, answered.stderr
        answer = json.loads(answered.stdout)
        assert answer["context"][0]["title"] in line
        assert answer["decision"] != "none"


def test_init_names_the_extra_that_a_file_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypff", None)
    path = tmp_path / "archive.pst"
    path.write_bytes(b"!BDN\0\0\0\0SM" + bytes(600))
    words = ("--yes", "--zone", "Europe/Lisbon", "--source", "none", "--store", str(tmp_path / "me.db"))
    done = init(tmp_path, *words, str(path))
    assert done.returncode == 0, done.stderr
    assert "pip install 'contextune[outlook]'" in done.stderr


def test_init_asks_three_questions_sources_and_places(tmp_path: Path) -> None:
    home = linux_home(tmp_path)
    (home / "Music").mkdir()
    history(home / "Music", play())
    backup(home / "Downloads", call()).rename(home / "Downloads" / "calls.xml")
    answers = ("Ines Duarte", "ines@example.com, ines@example.org", "Mars", "Europe/Lisbon", "9", "2,4",
               str(home / "missing"), str(home / "Music"), "41.15,-8.63", "", "12, 34, 56",
               "41.145,-8.611")  # fmt: skip
    done = init(home, "--no-embed", "--store", str(home / "me.db"), stdin="\n".join(answers) + "\n")
    assert done.returncode == 0, done.stderr
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == ["error"] * 4
    with SQLiteStore(home / "me.db") as store:
        user, items = store.user("me"), store.items("me")
    assert user.profile["email"] == ["ines@example.com", "ines@example.org"]
    assert str(user.zone) == "Europe/Lisbon"
    assert user.places == {"home": (41.15, -8.63), "Barro Studio": (41.145, -8.611)}
    assert sorted(item.title for item in items) == ["Glaze night", "Lágrima", "Rowing on Sunday"]
    assert "Downloads/calls.xml (1 file, 0.0 MB: calls 1)" in done.stdout.replace("\n", " ")


def test_init_again_keeps_earlier_answers_and_restricts_sources(tmp_path: Path) -> None:
    home = linux_home(tmp_path)
    words = ("--yes", "--no-embed", "--store", str(home / "me.db"))
    init(home, *words, "--name", "Ines Duarte", "--zone", "Europe/Lisbon", "--source", "none")
    done = init(home, *words, "--source", "obsidian", "--email", "ines@example.com")
    assert done.returncode == 0, done.stderr
    with SQLiteStore(home / "me.db") as store:
        user, items = store.user("me"), store.items("me")
    assert user.profile == {"name": "Ines Duarte", "email": ["ines@example.com"]}
    assert [item.title for item in items] == ["Cone 6 recipes"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--zone", "Mars"), "there is no time zone 'Mars'"),
        (("--place", "home"), "not a place: 'home'"),
        (("--source", "pigeon"), "unknown source 'pigeon'"),
        (("missing.ics",), "missing.ics: no such file or folder"),
    ],
)
def test_mistakes_create_no_store(tmp_path: Path, words: tuple[str, ...], reason: str) -> None:
    done = init(tmp_path, "--yes", *words, "--store", str(tmp_path / "me.db"))
    assert done.returncode == 2
    assert reason in done.stderr
    assert list(tmp_path.iterdir()) == []
