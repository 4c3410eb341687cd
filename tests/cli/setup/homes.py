"""A home folder with what programs leave in it."""

from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

from tests.importers.reading_files import utc
from tests.importers.web import test_browser_history as browser

THUNDERBIRD = (
    "From - Mon May 13 09:00:00 2024\nFrom: Marta Silva <marta@example.org>\nTo: ines@example.com\n"
    "Message-ID: <kiln@example.org>\nDate: Mon, 13 May 2024 09:00:00 +0100\nSubject: Kiln slots\n\n"
    "Thursday evening is yours.\n\n"
)
MAILDIR = (
    "From: rui@example.com\nTo: ines@example.com\nMessage-ID: <boat@example.com>\n"
    "Date: Tue, 14 May 2024 09:00:00 +0100\nSubject: Rowing on Sunday\n\nThe boat leaves at eight.\n"
)


def event(start: datetime) -> str:
    return (
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nSUMMARY:Glaze night\nLOCATION:Barro Studio\n"
        f"DTSTART;TZID=Europe/Lisbon:{start:%Y%m%dT190000}\nEND:VEVENT\nEND:VCALENDAR\n"
    )


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def linux_home(home: Path) -> Path:
    """Thunderbird, a Maildir, Chrome, a calendar for tomorrow and an Obsidian vault; and other files."""
    write(home / ".thunderbird/abc.default/Mail/Local Folders/Inbox", THUNDERBIRD)
    write(home / "Maildir/cur/1:2,S", MAILDIR)
    write(home / "Downloads/studio.ics", event(datetime.now() + timedelta(days=1)))
    write(home / "Downloads/photo.jpg", "no")
    write(home / "Documents/Pottery/.obsidian/app.json", "{}")
    write(home / "Documents/Pottery/Cone 6 recipes.md", "Celadon: talc 8, silica 30, ash 12.\n")
    (home / ".config/google-chrome/Default").mkdir(parents=True)
    chrome = browser.Chrome(home / ".config/google-chrome/Default/History")
    with closing(chrome.database):
        chrome.visit("https://duckduckgo.com/?q=sourdough+starter", time=utc(2024, 5, 12, 10))
    return home
