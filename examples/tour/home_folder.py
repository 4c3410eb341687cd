"""The home folder of an invented user: mail, a calendar, contacts and notes as programs store them."""

from datetime import datetime, timedelta
from pathlib import Path

MAILS = (
    ("Marta Silva <marta@example.org>", "Welcome", 40, "Nice to have you in the studio."),
    ("Marta Silva <marta@example.org>", "Clay order", 9, "The stoneware has arrived, come by."),
    ("Rui Duarte <rui@example.com>", "Rowing on Sunday", 4, "The boat leaves at eight."),
    ("Marta Silva <marta@example.org>", "Kiln slots", 2, "Thursday evening is yours if you want it."),
)
EVENTS = (("Glaze night", "Barro Studio", 1, 19), ("Dentist", "Rua do Carmo 12", 5, 9))
NOTES = {"Cone 6 recipes": "Celadon: talc 8, silica 30, ash 12.", "Boat list": "Oars, rope, thermos."}
CONTACT = (
    "BEGIN:VCARD\nVERSION:4.0\nUID:u1\nFN:Rui Duarte\nTEL:+351 912 345 678\nEMAIL:rui@example.com\n"
    "NICKNAME:Brother\nEND:VCARD\n"
)


def write_home(home: Path, now: datetime) -> None:
    """Write the files; times are relative to `now`, so that the requests of the tour stay true."""
    _write(home / ".thunderbird/x.default/Mail/Local Folders/Inbox", _mailbox(now))
    _write(home / "Downloads/studio.ics", _calendar(now))
    _write(home / "Downloads/people.vcf", CONTACT)
    _write(home / "Documents/Pottery/.obsidian/app.json", "{}")
    for title, text in NOTES.items():
        _write(home / f"Documents/Pottery/{title}.md", f"{text}\n")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _mailbox(now: datetime) -> str:
    mails: list[str] = []
    for number, (author, subject, days, text) in enumerate(MAILS):
        date = now - timedelta(days=days)
        mails.append(
            f"From - {date:%a %b %d %H:%M:%S %Y}\nFrom: {author}\nTo: ines@example.com\n"
            f"Message-ID: <{number}@example.org>\nDate: {date:%a, %d %b %Y %H:%M:%S} +0000\n"
            f"Subject: {subject}\n\n{text}\n\n"
        )
    return "".join(mails)


def _calendar(now: datetime) -> str:
    events: list[str] = []
    for number, (name, location, days, hour) in enumerate(EVENTS):
        start = (now + timedelta(days=days)).replace(hour=hour, minute=0)
        events.append(
            f"BEGIN:VEVENT\nUID:{number}\nSUMMARY:{name}\nLOCATION:{location}\n"
            f"DTSTART;TZID=Europe/Lisbon:{start:%Y%m%dT%H%M00}\nEND:VEVENT\n"
        )
    return f"BEGIN:VCALENDAR\n{''.join(events)}END:VCALENDAR\n"
