"""Files that cannot be read are skipped with the way to convert them."""

from pathlib import Path

import pytest
from tests.importers.reading_files import INES, NOW

from contextune.importers.run import import_into
from contextune.store import SQLiteStore

NOISE = bytes(range(128, 256)) * 40


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("mail.msg", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + NOISE, "save it as .eml"),
        ("archive.pst", b"!BDN" + NOISE, "damaged Outlook data file"),
        ("Signal/sql/db.sqlite", NOISE, "Signal's database is encrypted"),
        ("msgstore.db.crypt15", NOISE, "WhatsApp's backup is encrypted"),
        (
            "places.sqlite",
            b"SQLite format 3\0\x10\0\2\2" + bytes(4076),
            "file that ends in -wal too",
        ),
        ("places.sqlite-wal", b"\x37\x7f\x06\x82" + NOISE, "read with the database beside it"),
        (
            "Bookmarks.html",
            b"<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<H1>Bookmarks</H1>",
            "bookmarks of a browser",
        ),
        ("Passwords.csv", b"Title,URL,Username,Password,Notes,OTPAuth\nbank,,ines,x,,\n", "unknown format"),
        ("picture.jpg", NOISE, "unknown format"),
    ],
)
def test_reason_says_what_to_do(
    tmp_path: Path, store: SQLiteStore, name: str, content: bytes, why: str
) -> None:
    path = tmp_path / "files" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    store.put_user(INES)
    report = import_into(store, "ines", [tmp_path / "files"], now=NOW)
    (skipped,) = report.skipped
    assert why in skipped.why
    assert not report.files
