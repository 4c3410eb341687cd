"""Outlook data files: the real library on a real file, and mails from the properties it returns."""

import lzma
import os
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from tests.importers.reading_files import CONTEXT, INES, NOW, items_in, only_file, skipped_in, utc
from tests.program import run

from contextune.importers.files import SourceFile
from contextune.importers.mail import outlook_file as outlook
from contextune.importers.mail.attachments import MAX_ATTACHMENT, AttachedDocument
from contextune.importers.mail.outlook import OutlookReader, outlook_records
from contextune.importers.mail.outlook_file import OutlookEntry, Properties, attached_documents, file_time
from contextune.importers.mail.reader import MailReader
from contextune.importers.reader import ImportRecord
from contextune.importers.run import import_into
from contextune.store import SQLiteStore
from contextune.types import Item, UsageEvent

DATA = Path(__file__).with_name("data") / "calendar-and-contacts.pst.xz"
OWN_FILE = os.environ.get("CONTEXTUNE_TEST_PST", "")
"""An Outlook data file of yours with mails, such as testPST.pst of Apache Tika."""
HEADERS = """Received: from mail.example.org (192.0.2.1) by mx.example.com; Thu, 16 May 2024 08:01:00 +0000
Message-ID: <glaze-2@example.org>
In-Reply-To: <glaze-1@example.com>
References: <glaze-1@example.com>
From: =?utf-8?q?J=C3=B6rn_K=C3=B6nig?= <joern@example.org>
To: "Duarte, Ines" <ines@example.com>
Subject: =?utf-8?q?Re=3A_Glasur?=
Date: Thu, 16 May 2024 10:00:00 +0200
Content-Type: multipart/alternative; boundary="b1"
MIME-Version: 1.0

"""
RECEIVED = OutlookEntry(
    2097188,
    ("Top of Outlook data file", "Posteingang"),
    {
        outlook.CLASS: "IPM.Note",
        outlook.HEADERS: HEADERS,
        outlook.SUBJECT: "\x01\x05Re: Glasur",
        outlook.SENDER_NAME: "Jörn König",
        outlook.FLAGS: 1,
    },
    ({outlook.RECIPIENT_TYPE: 1, outlook.NAME: "Ines Duarte", outlook.SMTP: "ines@example.com"},),
    ("Kegel 6.pdf",),
    "Talk 8, Quarz 30.\r\n\r\n________________________________\r\nVon: Ines Duarte <ines@example.com>\r\n"
    "Gesendet: Mittwoch, 15. Mai 2024 18:00\r\nAn: Jörn König\r\nBetreff: Glasur\r\n\r\nWelche Glasur?\r\n",
)
SENT = OutlookEntry(
    2097220,
    ("Top of Outlook data file", "Sent Items"),
    {
        outlook.CLASS: "IPM.Note",
        outlook.SUBJECT: "\x01\x01Kiln on Friday",
        outlook.SUBMITTED: utc(2024, 5, 16, 9, 30),
        outlook.DELIVERED: utc(2024, 5, 16, 9, 31),
        outlook.SENDER_NAME: "Ines Duarte",
        outlook.SENDER_KIND: "EX",
        outlook.SENDER_ADDRESS: "/O=EXAMPLE/CN=RECIPIENTS/CN=INES",
        outlook.SENDER_SMTP: "ines@example.com",
        outlook.MESSAGE_ID: "<kiln@example.com>",
        outlook.IN_REPLY_TO: "<glaze-2@example.org>",
        outlook.FLAGS: 1,
    },
    (
        {outlook.NAME: "Tom", outlook.ADDRESS_KIND: "SMTP", outlook.ADDRESS: "tom@example.org"},
        {outlook.RECIPIENT_TYPE: 2, outlook.NAME: 'Ana, "Studio"', outlook.SMTP: "ana@example.org"},
        {outlook.NAME: "Colleagues", outlook.ADDRESS_KIND: "EX", outlook.ADDRESS: "/O=EXAMPLE/CN=ALL"},
    ),
    html="<html><head><style>p {color: red}</style></head><body><p>The kiln is free.</p></body></html>",
)
APPOINTMENT = OutlookEntry(
    2097252,
    ("Calendar",),
    {
        outlook.CLASS: "IPM.Appointment",
        outlook.SUBJECT: "Glaze night",
        outlook.START: utc(2024, 5, 16, 18, 0),
        outlook.END: utc(2024, 5, 16, 20, 0),
        outlook.LOCATION: "Studio",
        outlook.GLOBAL_ID: b"\4\0\1",
    },
    text="Bring test tiles.\r\n",
)


@pytest.fixture
def source(tmp_path: Path) -> SourceFile:
    path = tmp_path / "archive.pst"
    path.write_bytes(b"!BDN")
    return only_file(path)


def records_of(entry: OutlookEntry, source: SourceFile) -> list[ImportRecord]:
    return list(outlook_records(entry, source, CONTEXT))


def item_of(entry: OutlookEntry, source: SourceFile) -> Item:
    (item,) = [record for record in records_of(entry, source) if isinstance(record, Item)]
    return item


def with_properties(entry: OutlookEntry, properties: Properties) -> OutlookEntry:
    return replace(entry, properties={**entry.properties, **properties})


def test_received_mail_without_the_quoted_copy(source: SourceFile) -> None:
    assert item_of(RECEIVED, source).fields == {
        "author": "joern@example.org",
        "recipients": ["ines@example.com"],
        "subject": "Re: Glasur",
        "content": "Talk 8, Quarz 30.\nAttached: Kegel 6.pdf\nFrom: Jörn König",
        "date": "2024-05-16T10:00+02:00",
        "folder": "Inbox",
        "attachments": ["Kegel 6.pdf"],
        "thread": item_of(RECEIVED, source).fields["thread"],
        "read": True,
    }


def test_documents_are_passages_of_their_mail(source: SourceFile) -> None:
    notes = AttachedDocument("Kegel.txt", b"Talk 8, Quarz 30.")
    item = item_of(replace(RECEIVED, attachments=("Kegel.txt",), documents=(notes,)), source)
    assert str(item.fields["content"]).endswith("\n\nKegel.txt:\nTalk 8, Quarz 30.")


class _Attachment:
    """An attachment as libpff returns it."""

    def __init__(self, name: str | None, content: bytes, size: int | None = None) -> None:
        self.long_filename = name
        self.size = len(content) if size is None else size
        self._content = content

    def read_buffer(self, size: int) -> bytes:
        if not self._content:
            raise OSError("damaged")
        return self._content[:size]


def test_documents_of_a_data_file_are_read_up_to_a_size() -> None:
    attachments = [
        _Attachment("Liste.txt", b"Talk 8"),
        _Attachment("photo.jpg", b"\xff\xd8"),
        _Attachment("damaged.txt", b"", 10),
        _Attachment("large.txt", b"x", MAX_ATTACHMENT + 1),
        _Attachment(None, b"x"),
    ]
    assert list(attached_documents(attachments)) == [AttachedDocument("Liste.txt", b"Talk 8")]


def test_received_mail_is_the_same_item_as_its_eml(tmp_path: Path, source: SourceFile) -> None:
    path = tmp_path / "mail.eml"
    path.write_text(HEADERS + "Talk 8\n")
    (item,) = MailReader().read(only_file(path), CONTEXT)
    assert isinstance(item, Item)
    assert item.id == item_of(RECEIVED, source).id
    assert item.fields["thread"] == item_of(RECEIVED, source).fields["thread"]


def test_sent_mail_has_headers_from_its_properties(source: SourceFile) -> None:
    item, use = records_of(SENT, source)
    assert isinstance(item, Item)
    assert item.fields == {
        "author": "ines@example.com",
        "recipients": ["tom@example.org", "ana@example.org"],
        "subject": "Kiln on Friday",
        "content": "The kiln is free.\nFrom: Ines Duarte",
        "date": "2024-05-16T09:30+00:00",
        "folder": "Sent",
        "thread": item_of(RECEIVED, source).id,
        "read": True,
    }
    assert use == UsageEvent(item_of(RECEIVED, source).id, utc(2024, 5, 16, 9, 30))


def test_mail_without_a_message_id_has_the_same_id_each_time(source: SourceFile) -> None:
    plain = with_properties(SENT, {outlook.MESSAGE_ID: ""})
    assert item_of(plain, source).id == item_of(replace(plain, number=7), source).id
    other = with_properties(plain, {outlook.SUBJECT: "Kiln on Monday"})
    assert item_of(plain, source).id != item_of(other, source).id


def test_appointment(source: SourceFile) -> None:
    item = item_of(APPOINTMENT, source)
    assert (item.app, item.fields) == (
        "Calendar",
        {
            "event_name": "Glaze night",
            "participants": [],
            "location": "Studio",
            "start_time": "2024-05-16T18:00+00:00",
            "end_time": "2024-05-16T20:00+00:00",
            "notes": "Bring test tiles.",
        },
    )


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        (replace(RECEIVED, folders=("Top", "Deleted Items", "Old")), "mail in trash or spam"),
        (with_properties(SENT, {outlook.FLAGS: 9}), "draft"),
        (with_properties(SENT, {outlook.CLASS: "IPM.StickyNote"}), "not a mail or an appointment"),
        (with_properties(APPOINTMENT, {outlook.RECURRING: True}), "save the calendar as .ics"),
        (replace(APPOINTMENT, properties={outlook.CLASS: "IPM.Appointment"}), "without a valid start"),
    ],
)
def test_entries_that_are_skipped(source: SourceFile, entry: OutlookEntry, why: str) -> None:
    (skipped,) = records_of(entry, source)
    assert why in getattr(skipped, "why", "")


@pytest.mark.parametrize(
    ("ticks", "time"),
    [(0x01D1ECCE8A68D800, datetime.fromisoformat("2016-08-02T15:00Z")), (2**63, None)],
)
def test_times_count_from_1601(ticks: int, time: datetime | None) -> None:
    assert file_time(ticks) == time


def test_without_the_library_the_import_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pypff", None)
    path = tmp_path / "mail.bak"  # recognised by its content
    path.write_bytes(lzma.decompress(DATA.read_bytes()))
    done = run("import", path, "--no-embed", "--store", tmp_path / "store.db", width=300)
    assert done.returncode == 1
    assert "pip install 'contextune[outlook]'" in done.stderr
    assert "readpst" in done.stderr


class TestLibrary:
    """The library on real files."""

    @pytest.fixture(autouse=True)
    def library(self) -> None:
        pytest.importorskip("pypff")

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        path = tmp_path / "mail.bak"
        path.write_bytes(lzma.decompress(DATA.read_bytes()))
        return path

    def test_entries_of_a_real_file(self, path: Path) -> None:
        with path.open("rb") as stream:
            archive = outlook.OutlookFile(stream)
            entries = [entry for entry in archive.entries() if isinstance(entry, OutlookEntry)]
            assert len(archive) == len(entries) == 4
        appointment, *others = entries
        assert appointment.folders == ("Top of Personal Folders", "Calendar")
        assert appointment.properties[outlook.START] == utc(2016, 8, 2, 15, 0)
        assert appointment.properties[outlook.END] == utc(2016, 8, 2, 15, 30)
        assert appointment.properties[outlook.RECURRING] is True
        assert appointment.text == "This is a complete test\r\n"
        assert [entry.text_of(outlook.CLASS) for entry in others][:2] == ["IPM.DistList", "IPM.Contact"]

    def test_single_appointment_of_a_real_file(self, path: Path, source: SourceFile) -> None:
        with path.open("rb") as stream:
            appointment = next(outlook.OutlookFile(stream).entries())
        assert isinstance(appointment, OutlookEntry)
        single = with_properties(appointment, {outlook.RECURRING: False})
        assert item_of(single, source).fields["event_name"] == "Test appointment"
        assert item_of(single, source).fields["start_time"] == "2016-08-02T15:00+00:00"

    def test_import_reports_what_is_skipped(self, path: Path) -> None:
        assert sorted(skipped_in(path)) == [
            *["Outlook entry that is not a mail or an appointment"] * 3,
            "recurring appointment: save the calendar as .ics in Outlook",
        ]

    @pytest.mark.parametrize("size", [600, 5000, 100_000, 200_000])
    def test_truncated_file_is_reported(self, path: Path, store: SQLiteStore, size: int) -> None:
        path.write_bytes(path.read_bytes()[:size])
        store.put_user(INES)
        assert import_into(store, "ines", [path], now=NOW).skipped

    @pytest.mark.skipif(not OWN_FILE, reason="CONTEXTUNE_TEST_PST names no Outlook data file with mails")
    def test_mails_of_an_own_file(self) -> None:
        path = Path(OWN_FILE)
        assert OutlookReader().can_read(only_file(path))
        mails = [item for item in items_in(path) if item.app == "Mail"]
        assert mails
        for mail in mails:
            assert mail.fields["author"]
            assert mail.fields["content"]
            assert mail.fields["date"]
