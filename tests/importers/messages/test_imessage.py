"""Apple's message database: attributed texts, reactions, groups, old and new versions."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.importers.reading_files import CONTEXT, fields_in, items_in, read_path, skipped_in

from contextune.importers.messages.imessage import attributed_text
from contextune.types import Contact, UsageEvent

SECONDS = 737_282_800  # since 2001: 2024-05-13T08:46:40
ARCHIVE = (
    b"\x04\x0bstreamtyped\x81\xe8\x03\x84\x01@\x84\x84\x84\x19NSMutableAttributedString\x00\x84\x84\x12NSAttributedString"
    b"\x00\x84\x84\x08NSObject\x00\x85\x92\x84\x84\x84\x0fNSMutableString\x01\x84\x84\x08NSString\x01\x95\x84\x01+"
)
END = b"\x86\x84\x02iI\x01\x0d\x92\x84\x84\x84\x0cNSDictionary\x00\x95\x84\x01i\x01"


def archive(text: str) -> bytes:
    """The text as an NSAttributedString, as Apple archives it."""
    content = text.encode()
    size = len(content)
    if size < 0x80:
        length = bytes([size])
    elif size < 0x8000:
        length = b"\x81" + size.to_bytes(2, "little")
    else:
        length = b"\x82" + size.to_bytes(4, "little")
    return ARCHIVE + length + content + END


@pytest.mark.parametrize("text", ["Kiln free?", "ü" * 100, "long " * 60, "longer " * 9000, "+ 😀 \x86"])
def test_text_of_an_archive(text: str) -> None:
    assert attributed_text(archive(text)) == text


@pytest.mark.parametrize("cut", range(0, 200, 7))
def test_truncated_archive_gives_what_is_there(cut: int) -> None:
    assert "Kiln free?".startswith(attributed_text(archive("Kiln free?")[:cut]))


def database(tmp_path: Path, *, old: bool = False) -> Path:
    path = tmp_path / ("sms.db" if old else "chat.db")
    columns = "attributedBody BLOB, associated_message_type INT, item_type INT, thread_originator_guid TEXT"
    extra = "" if old else f", {columns}"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"""
            CREATE TABLE message (ROWID INTEGER PRIMARY KEY, guid TEXT, text TEXT, handle_id INTEGER,
                date INTEGER, is_from_me INTEGER{extra});
            CREATE TABLE handle (ROWID INTEGER PRIMARY KEY, id TEXT, service TEXT);
            CREATE TABLE chat (ROWID INTEGER PRIMARY KEY, guid TEXT, chat_identifier TEXT, display_name TEXT);
            CREATE TABLE chat_message_join (chat_id INTEGER, message_id INTEGER);
            CREATE TABLE chat_handle_join (chat_id INTEGER, handle_id INTEGER);
            CREATE TABLE attachment (ROWID INTEGER PRIMARY KEY, filename TEXT, transfer_name TEXT);
            CREATE TABLE message_attachment_join (message_id INTEGER, attachment_id INTEGER);
            INSERT INTO handle VALUES (1, '+351912345678', 'iMessage'), (2, 'rui@example.com', 'iMessage');
            INSERT INTO chat VALUES (1, 'a', '+351912345678', ''), (2, 'b', 'chat77', 'Studio');
            INSERT INTO chat_handle_join VALUES (1, 1), (2, 1), (2, 2);
            INSERT INTO attachment VALUES (1, '~/Library/x/Glaze list.pdf', NULL), (2, 'x', 'IMG_1.HEIC');
        """)
        if old:
            connection.execute("INSERT INTO message VALUES (1, 'g1', 'Kiln free?', 1, ?, 0)", (SECONDS,))
            connection.execute("INSERT INTO chat_message_join VALUES (1, 1)")
        else:
            time = SECONDS * 10**9
            rows = [
                (1, "g1", None, 1, time, 0, archive("Kiln free?"), 0, 0, None, 1),
                (2, "g2", "Yes", 0, time + 10**9, 1, None, 0, 0, "g1", 1),
                (3, "g3", "Liked “Yes”", 1, time, 0, None, 2001, 0, None, 1),
                (4, "g4", None, 2, time, 0, archive("\ufffcThe list"), 0, 0, None, 2),
                (5, "g5", None, 2, time, 0, None, 0, 2, None, 2),
                (6, "g6", "\ufffc", 1, time, 0, None, 0, 0, None, 1),
                (7, "g7", "no chat", 2, time, 0, None, 0, 0, None, None),
                (8, "g8", "For all", 0, time, 1, None, 0, 0, None, 2),
            ]
            for *values, chat in rows:
                connection.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
                if chat:
                    connection.execute("INSERT INTO chat_message_join VALUES (?, ?)", (chat, values[0]))
            connection.executescript("INSERT INTO message_attachment_join VALUES (4, 1), (6, 2);")
        connection.commit()
    return path


def test_messages_of_a_mac(tmp_path: Path) -> None:
    path = database(tmp_path)
    first, own, attached, without_chat, to_group = fields_in(path)
    assert first == {
        "text": "Kiln free?",
        "sender": "+351912345678",
        "service": "iMessage",
        "date": "2024-05-13T08:46:40+00:00",
    }
    assert (own["sender"], own["recipients"]) == ("Ines Duarte", ["+351912345678"])
    assert (attached["text"], attached["chat"]) == ("The list\nAttached: Glaze list.pdf", "Studio")
    assert without_chat["sender"] == "rui@example.com"
    assert to_group["recipients"] == ["+351912345678", "rui@example.com"]
    assert skipped_in(path) == [
        "reaction",
        "notice of the service",
        "picture, recording or sticker without text",
    ]
    (use,) = [record for record in read_path(path) if isinstance(record, UsageEvent)]
    assert use.item == items_in(path)[0].id


def test_numbers_are_named_by_the_contacts(tmp_path: Path) -> None:
    user = replace(CONTEXT.user, contacts=(Contact("Marta Silva", phone="912 345 678"),))
    assert fields_in(database(tmp_path), replace(CONTEXT, user=user))[0]["sender"] == "Marta Silva"


def test_older_database_has_seconds_and_fewer_columns(tmp_path: Path) -> None:
    (fields,) = fields_in(database(tmp_path, old=True))
    assert (fields["text"], fields["date"]) == ("Kiln free?", "2024-05-13T08:46:40+00:00")
