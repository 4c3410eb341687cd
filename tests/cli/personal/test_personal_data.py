"""What is stored can be listed, shown, corrected and deleted: items, places and contacts."""

import json
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from tests.program import Completed, run

from contextune.store import SQLiteStore
from contextune.types import Contact, Item, UsageEvent, User

GLAZE = Item.event(
    id="event-1", name="Glaze night", start="2024-05-16T14:00+01:00", participants=["Ana", "Rui"]
)
MAIL = Item.mail(
    id="mail-1", subject="Kiln \x1b[2Jslots", author="marta@example.org", date="2024-05-13T09:00",
    content="Thursday evening is yours.",
)  # fmt: skip
NOTE = Item.note(id="note-1", title="Cone 6 recipes", content="celadon", modified="2024-05-11T20:30")
OTHER_NOTE = Item.note(id="note-2", title="Clay", modified="2024-05-10T20:30")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with SQLiteStore(tmp_path / "store.db") as store:
        contact = Contact("Marta Silva", "marta@example.org", more={"org": "Barro"})
        store.put_user(
            User("me", {}, {"studio": (41.145, -8.611)}, (contact,), ZoneInfo("America/Los_Angeles"))
        )
        store.put_items("me", [GLAZE, MAIL, NOTE, OTHER_NOTE])
        store.put_uses("me", [UsageEvent("note-1", datetime(2024, 5, 12, 10), "studio")])
    return tmp_path / "store.db"


def command(path: Path, *words: str, stdin: str = "") -> Completed:
    return run(*words, "--store", path, stdin=stdin)


def listed(path: Path, *words: str) -> list[str]:
    done = command(path, "items", *words, "--json")
    assert done.returncode == 0, done.stderr
    return [row["id"] for row in json.loads(done.stdout)]


def test_items_are_filtered_by_words_application_and_time(path: Path) -> None:
    assert listed(path) == ["event-1", "mail-1", "note-1", "note-2"]
    assert listed(path, "-n", "2") == ["event-1", "mail-1"]
    assert listed(path, "--app", "notes") == ["note-1", "note-2"]
    assert listed(path, "thursday", "kiln") == ["mail-1"]
    assert listed(path, "--since", "2024-05-11", "--until", "2024-05-13") == ["mail-1", "note-1"]
    assert listed(path, "--until", "2024-05-13T08:59") == ["note-1", "note-2"]


def test_items_are_listed_in_the_zone_of_the_user(path: Path) -> None:
    printed = command(path, "items", "-n", "2").stdout
    assert "event-1  Calendar  Glaze night" in printed
    assert "Thu 16 May 2024 06:00 PDT" in printed
    assert "4 items of 4, 2 shown: -n 4 shows all." in printed
    assert "\x1b" not in printed


def test_show_prints_fields_and_uses(path: Path) -> None:
    printed = command(path, "show", "note-1").stdout
    assert printed.splitlines()[:2] == ["Cone 6 recipes", "Notes · Sat 11 May 2024 20:30 · note-1"]
    assert "content: celadon" in printed
    assert "used: Sun 12 May 2024 10:00 at studio" in printed
    assert command(path, "show", "event").stdout == command(path, "show", "event-1").stdout


def test_edit_changes_and_removes_fields(path: Path) -> None:
    done = command(path, "edit", "event-1", "location=Barro Studio", "participants=Ana, Eva")
    assert "location: Barro Studio" in done.stdout
    assert command(path, "edit", "note-1", "content=").returncode == 0
    with SQLiteStore(path) as store:
        event, note = store.items("me", ["event-1", "note-1"])
    assert event.fields == {**GLAZE.fields, "location": "Barro Studio", "participants": ["Ana", "Eva"]}
    assert note.fields == {"title": "Cone 6 recipes", "modified": "2024-05-11T20:30"}


def test_delete_asks_and_deletes(path: Path) -> None:
    assert command(path, "delete", "note-1", stdin="n\n").returncode == 1
    assert len(listed(path)) == 4
    done = command(path, "delete", "note-1", "note-1", "mail", "--yes")
    assert "2 items deleted." in done.stdout
    assert listed(path) == ["event-1", "note-2"]


def test_places_are_added_moved_and_removed(path: Path) -> None:
    assert "studio" in command(path, "place", "list").stdout
    assert command(path, "place", "add", "home", "41.15,-8.63").stdout == "home is at 41.15,-8.63.\n"
    assert command(path, "place", "add", "home", "-33.4,-70.6").stdout == "home is moved to -33.4,-70.6.\n"
    added = command(path, "place", "add", "work", "4 Mill Lane, Leeds")
    assert added.stdout == "work is at 4 Mill Lane, Leeds.\n"
    assert "4 Mill Lane, Leeds" in command(path, "place", "list").stdout
    assert command(path, "place", "remove", "studio").returncode == 0
    with SQLiteStore(path) as store:
        assert store.user("me").places == {"home": (-33.4, -70.6), "work": "4 Mill Lane, Leeds"}


def test_contacts_are_added_changed_and_removed(path: Path) -> None:
    command(path, "contact", "add", "Rui Duarte", "--phone", "5550100", "--relation", "brother")
    assert command(path, "contact", "add", "marta silva", "--relation", "potter").stdout.endswith(
        "changed.\n"
    )
    assert "1 contact of 2." in command(path, "contact", "list", "brother").stdout
    with SQLiteStore(path) as store:
        rui, marta = sorted(store.user("me").contacts, key=lambda contact: contact.name, reverse=True)
    assert rui == Contact("Rui Duarte", None, "5550100", "brother")
    assert marta == Contact("Marta Silva", "marta@example.org", relation="potter", more={"org": "Barro"})
    assert command(path, "contact", "remove", "Marta Silva").returncode == 0
    with SQLiteStore(path) as store:
        assert store.user("me").contacts == (rui,)


def test_first_place_creates_the_user(tmp_path: Path) -> None:
    assert command(tmp_path / "new.db", "place", "add", "home", "41.15,-8.63").returncode == 0
    with SQLiteStore(tmp_path / "new.db") as store:
        assert store.user("me").places == {"home": (41.15, -8.63)}


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("show", "song-9"), "there is no item 'song-9'"),
        (("show", "note"), "2 items have an id that begins with 'note': note-1, note-2"),
        (("edit", "note-1", "title"), "not a change: 'title'"),
        (("edit", "note-1", "tilte="), "the item has no field 'tilte'"),
        (("edit", "note-1", "modified=soon"), "not a time: 'soon'"),
        (("items", "--since", "May"), "not a day or time: 'May'"),
        (("place", "add", "home", "41.15 -8.63"), "not a place: '41.15 -8.63'"),
        (("place", "add", "home", "95,200"), "latitude is in -90…90"),
        (("place", "add", "commute", "41,8"), "'commute' cannot be the name"),
        (("place", "remove", "gym"), "there is no place 'gym' (places: studio)"),
        (("contact", "remove", "Eva"), "there is no contact 'Eva'"),
    ],
)
def test_mistakes_are_one_error_line(path: Path, words: tuple[str, ...], reason: str) -> None:
    before = path.read_bytes()
    done = command(path, *words)
    assert done.returncode == 2
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "words",
    [
        ("ask", "Hello"), ("search", "Hello"), ("items",), ("show", "x"), ("edit", "x", "a=b"),
        ("delete", "x", "--yes"), ("place", "list"), ("place", "remove", "home"), ("contact", "list"),
        ("contact", "remove", "Eva"), ("forget", "me", "--yes"), ("mcp", "--user", "me"),
        ("store", "verify"), ("store", "backup", "copy.db"),
    ],
)  # fmt: skip
def test_commands_that_read_create_no_store(tmp_path: Path, words: tuple[str, ...]) -> None:
    missing = tmp_path / "folder" / "mistyped.db"
    missing.parent.mkdir()
    done = command(missing, *words)
    assert done.returncode == 2
    assert str(missing) in done.stderr
    assert list(missing.parent.iterdir()) == []
