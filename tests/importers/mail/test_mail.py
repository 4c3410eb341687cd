"""Mail: well-formed, broken, in many encodings."""

import base64
import io
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.importers.reading_files import (
    CONTEXT,
    INES,
    NOW,
    fields_in,
    items_in,
    read_path,
    skipped_in,
)

from contextune.importers.mail.headers import sent_time
from contextune.importers.mail.mbox import split_mbox
from contextune.importers.mail.mime import parse_mail
from contextune.importers.reader import ImportContext
from contextune.types import Contact, Item, UsageEvent

PLAIN = b"""\
Message-ID: <k1@example.org>
Date: Mon, 13 May 2024 09:00:00 +0100
From: Marta Silva <marta@example.org>
To: Ines Duarte <ines@example.com>, "Duarte, Rui" <rui@example.com>
Subject: Kiln slots
Content-Type: text/plain; charset=utf-8

Two are free on Thursday.
"""
ENVELOPE = b"From 17990@xxx Mon May 13 08:00:01 +0000 2024\n"


def eml(tmp_path: Path, content: bytes, name: str = "one.eml") -> Path:
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file


def with_body(headers: bytes, body: bytes) -> bytes:
    return PLAIN.split(b"Content-Type")[0] + headers + b"\n\n" + body


def content(tmp_path: Path, headers: bytes, body: bytes) -> str:
    """The text of a mail without the sender line."""
    (records,) = fields_in(eml(tmp_path, with_body(headers, body)))
    return records["content"].removesuffix("\nFrom: Marta Silva").removesuffix("From: Marta Silva")


def test_mail_fields(tmp_path: Path) -> None:
    (item,) = items_in(eml(tmp_path, PLAIN, "Work/one.eml").parent)
    assert item.app == "Mail"
    assert item.fields == {
        "author": "marta@example.org",
        "recipients": ["ines@example.com", "rui@example.com"],
        "subject": "Kiln slots",
        "content": "Two are free on Thursday.\nFrom: Marta Silva",
        "date": "2024-05-13T09:00+01:00",
        "folder": "Work",
    }
    assert item.made == datetime.fromisoformat("2024-05-13T09:00+01:00")


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_mbox_is_split_at_message_starts_only(tmp_path: Path, ending: bytes) -> None:
    body = (
        b"Dear Ines,\n\nFrom here on it is easy.\nNote: bring talc.\n\n>From Rui too.\n\n"
        b"From 10:30 to 12:15 we glaze.\n\nFrom Marta:\nhello\n"
    )
    second = PLAIN.replace(b"k1@", b"k2@").replace(b"Two are free on Thursday.\n", body)
    third = PLAIN.replace(b"k1@", b"k3@")
    mailbox = (
        ENVELOPE + PLAIN + b"\n" + ENVELOPE + second + b"\n" + b"From - Mon May 13 10:00:00 2024\n" + third
    )
    records = fields_in(eml(tmp_path, mailbox.replace(b"\n", ending), "Inbox.mbox"))
    assert [record["folder"] for record in records] == ["Inbox"] * 3
    assert "From here on it is easy.\nNote: bring talc.\n\nFrom Rui too." in records[1]["content"]
    assert records[1]["content"].endswith("From Marta:\nhello\nFrom: Marta Silva")


def test_mozilla_envelope_needs_no_blank_line_before_it(tmp_path: Path) -> None:
    second = PLAIN.replace(b"k1@", b"k2@")
    mailbox = b"From - \n" + PLAIN + b"--end of the parts--\nFrom - \n" + second + b"From - a note\nSee: x\n"
    assert len(fields_in(eml(tmp_path, mailbox, "Inbox.mbox"))) == 2


def test_mbox_split_does_not_depend_on_chunk_size() -> None:
    mailbox = b"".join(
        ENVELOPE + PLAIN.replace(b"k1@", b"k%d@" % n) + b"x" * (n * 700) + b"\n\n" for n in range(12)
    )
    whole = list(split_mbox(io.BytesIO(mailbox), chunk=10**6))
    assert len(whole) == 12
    for size in (1300, 1999, 5000):
        assert list(split_mbox(io.BytesIO(mailbox), chunk=size)) == whole
    assert [mailbox[record.offset :][:5] for record in whole] == [b"From "] * 12


def test_oversized_message_is_truncated_and_the_next_is_found() -> None:
    long = PLAIN + b"y" * 50_000 + b"\n\n"
    mailbox = ENVELOPE + long + ENVELOPE + PLAIN
    first, second = split_mbox(io.BytesIO(mailbox), max_size=10_000, chunk=4000)
    assert (first.truncated, second.truncated) == (True, False)
    assert first.content.startswith(PLAIN)
    assert len(first.content) <= 10_000
    assert second.content == PLAIN
    assert mailbox[second.offset :] == ENVELOPE + PLAIN


@given(st.binary(max_size=400), st.integers(1, 500))
def test_random_bytes_never_fail(content: bytes, cut: int) -> None:
    parse_mail(content)
    parse_mail(PLAIN[:cut] + content)
    list(split_mbox(io.BytesIO(ENVELOPE + content), chunk=cut))


@pytest.mark.parametrize(
    ("headers", "body", "text"),
    [
        (b"Content-Type: text/plain; charset=iso-8859-1", b"na\xefve \x80", "naïve €"),
        (b"Content-Type: text/plain; charset=utf-8", b"na\xefve", "naïve"),
        (b"Content-Type: text/plain; charset=us-ascii", "Straße".encode(), "Straße"),
        (b"Content-Type: text/plain; charset=no-such-set", "Straße".encode(), "Straße"),
        (b"Content-Type: text/plain; charset=punycode", b"abc-def", "abc-def"),
        (b"Content-Type: text/plain; charset=gb2312", "鎔窯".encode("gb18030"), "鎔窯"),
        (b"Content-Type: text/plain; charset=iso-2022-jp", "窯".encode("iso-2022-jp"), "窯"),
        (b"Subject2: x", b"no type at all", "no type at all"),
        (
            b"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable",
            b"Caf=C3=A9 =\r\nopen =ZZ",
            "Café open =ZZ",
        ),
        (
            b"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: BASE64",
            base64.b64encode("Olá, está aberto".encode())[:-3],
            "Olá, está abe",
        ),
        (b"Content-Type: text/plain", b"mine\n\n> yours\n>> theirs\n-- \nMarta\nPotter", "mine"),
        (b"Content-Type: text/plain", b"> all of it is quoted", "> all of it is quoted"),
        (
            b"Content-Type: text/html; charset=utf-8",
            (
                b"<html><head><title>No</title><style>p{}</style></head><p>Two&nbsp;are <b>free</b>.</p>"
                b"<!-- no --><script>no()</script><ul><li>Thu<li>Fri</ul><blockquote type=cite>old"
            ),
            "Two are free.\n\n- Thu\n- Fri",
        ),
        (b"Content-Type: text/html", b"<style>never closed <p>gone", ""),
    ],
)
def test_body_encodings(tmp_path: Path, headers: bytes, body: bytes, text: str) -> None:
    assert content(tmp_path, headers, body) == text


def test_plain_text_wins_over_html_and_attachments_are_named(tmp_path: Path) -> None:
    body = b"""\
preamble
--outer
Content-Type: multipart/alternative; boundary=inner

--inner
Content-Type: text/plain; charset=utf-8

The invoice.
--inner
Content-Type: text/html

<p>The invoice again.</p>
--inner--
--outer
Content-Type: application/pdf; name="=?utf-8?Q?Fatura_mar=C3=A7o.pdf?="
Content-Disposition: attachment;
 filename="=?utf-8?Q?Fatura_mar=C3=A7o.pdf?="
Content-Transfer-Encoding: base64

JVBERi0xLjQ=
--outer
Content-Type: image/jpeg
Content-Disposition: attachment; filename*0*=UTF-8''st%C3%BA; filename*1*=dio.jpg

xx
--outer
Content-Type: text/plain
Content-Disposition: attachment; filename=notes.txt

not the mail's own
--outer--
"""
    (item,) = items_in(eml(tmp_path, with_body(b'Content-Type: multipart/mixed; boundary="outer"', body)))
    assert item.fields["attachments"] == ["Fatura março.pdf", "stúdio.jpg", "notes.txt"]
    assert item.fields["content"] == (
        "The invoice.\nAttached: Fatura março.pdf, stúdio.jpg, notes.txt\nFrom: Marta Silva"
    )


def test_html_is_used_if_the_plain_text_is_empty(tmp_path: Path) -> None:
    body = b"--b\nContent-Type: text/plain\n\n \n--b\nContent-Type: text/html\n\n<p>Hello</p>\n--b--\n"
    assert content(tmp_path, b"Content-Type: multipart/alternative; boundary=b", body) == "Hello"


def test_truncated_mail_is_read_to_its_end(tmp_path: Path) -> None:
    body = b"--b\nContent-Type: text/plain\n\nThe beginning of"
    assert content(tmp_path, b"Content-Type: multipart/mixed; boundary=b", body) == "The beginning of"


def test_encoded_and_malformed_headers(tmp_path: Path) -> None:
    mail = (
        b"From: =?iso-8859-1?Q?J=F6rg_M=FCller?= <joerg@example.org>\n"
        b"To: =?utf-8?B?UnVpLCBkbyBiYXJybw==?= <rui@example.com>,\n\t<ines@example.com>, undisclosed\n"
        b"Cc: RUI@example.com\n"
        b"Subject: =?utf-8?Q?Gr=C3=BC=C3?=\n =?utf-8?Q?=9Fe?= aus\n K\xf6ln\n"
        b"Date: 31 Feb 2024 25:99\nReceived: from a by b; Tue, 14 May 2024 10:00:00 -0000\n\nHallo\n"
    )
    (records,) = fields_in(eml(tmp_path, mail))
    assert records["author"] == "joerg@example.org"
    assert records["content"] == "Hallo\nFrom: Jörg Müller"
    assert records["recipients"] == ["rui@example.com", "ines@example.com", "RUI@example.com"]
    assert records["subject"].startswith("Grüße aus")
    assert records["date"] == "2024-05-14T10:00+00:00"  # the mail's own is none


@pytest.mark.parametrize(
    "date",
    [
        "Mon, 13 May 2024 09:00:00 +0100", "3 May 2024 09:00:00 -0730", "Mon, 13 May 2024 09:00:00 -0000",
        "Mon, 13 May 2024 09:00:00 +0000 (UTC)", "3 May 2024 09:00:00 +0199", "1 May 0024 09:00:00 +0000",
        "Mon, 13 May 2024 09:00:60 +0000", "Mon, 31 Feb 2024 09:00:00 +0000", "1 May 2024 09:00:00 +2500",
        "Mon, 13 Mai 2024 09:00:00 +0000", "mon, 13 may 2024 09:00:00 gmt", "Thu, 1 Jan 1970 00:00:00 +0000",
    ],
)  # fmt: skip
def test_dates_match_the_standard_library(date: str) -> None:
    try:
        time = parsedate_to_datetime(date)
    except ValueError:
        time = None
    expected = (time if time.tzinfo else time.replace(tzinfo=UTC)) if time and time.year > 1980 else None
    records = sent_time({"date": date.encode()})
    assert records == expected
    assert records is None or records.utcoffset() == (expected and expected.utcoffset())


@pytest.mark.parametrize("name", ["Kiss", "KISS", "fi", "Weiss", "Weiß", "kiln", "İs"])
@pytest.mark.parametrize("sign", ["ß", "ẞ", "\u212a", "ﬁ", "ſ", "İ", "ı", "é", "窯", "k"])
def test_sender_is_appended_only_if_the_text_lacks_the_name(tmp_path: Path, name: str, sign: str) -> None:
    text = f"wei{sign} {sign}iss {sign}s ki{sign} {sign} {sign}iln ü"
    mail = f"From: {name} <m@example.org>\nSubject: x\n\n{text}\n"
    (records,) = fields_in(eml(tmp_path, mail.encode()))
    assert records["content"].endswith(f"From: {name}") == (name.casefold() not in text.casefold())


def test_mail_without_a_date_is_kept(tmp_path: Path) -> None:
    (item,) = items_in(eml(tmp_path, b"From: a@example.org\nSubject: undated\nDate: soon\n\nx\n"))
    assert item.made is None


def test_mail_without_message_id_has_a_stable_id(tmp_path: Path) -> None:
    nameless = PLAIN.partition(b"\n")[2]
    moved = b"Received: from elsewhere\r\n" + nameless.replace(b"\n", b"\r\n")
    (original,), (same,) = items_in(eml(tmp_path, nameless)), items_in(eml(tmp_path, moved, "two.eml"))
    (other,) = items_in(eml(tmp_path, nameless.replace(b"Two", b"Three"), "three.eml"))
    assert original.id == same.id != other.id


def test_reply_belongs_to_its_thread_and_is_a_use_of_the_original(tmp_path: Path) -> None:
    reply = (
        b"Message-ID: <r1@example.com>\nIn-Reply-To: <k2@example.org>\n"
        b"References: <k1@example.org>\n <k2@example.org>\nFrom: Ines <INES@example.com>\n"
        b"Date: Mon, 13 May 2024 10:00:00 +0100\nSubject: Re: Kiln slots\n\nYes\n"
    )
    original, *_ = items_in(eml(tmp_path, PLAIN))
    item, use = read_path(eml(tmp_path, reply, "reply.eml"))
    second = items_in(eml(tmp_path, PLAIN.replace(b"k1@", b"k2@"), "second.eml"))[0]
    assert isinstance(item, Item)
    assert item.fields["thread"] == original.id
    assert item.fields["folder"] == "Sent"  # the user wrote it
    assert use == UsageEvent(second.id, datetime.fromisoformat("2024-05-13T10:00+01:00"))


@pytest.mark.parametrize(
    ("labels", "folder"),
    [
        (b"Inbox,Important,Opened,Category updates", "Inbox"),
        (b"Archived,Pottery,Inbox", "Pottery"),
        (b"Sent,Pottery", "Sent"),
        (b"Archived", "Archive"),
        (b"=?UTF-8?Q?Gesendet,T=C3=B6pferei?=", "Sent"),
    ],
)
def test_gmail_labels_become_folders(tmp_path: Path, labels: bytes, folder: str) -> None:
    mailbox = ENVELOPE + b"X-Gmail-Labels: " + labels + b"\n" + PLAIN
    (records,) = fields_in(eml(tmp_path, mailbox, "All mail Including Spam and Trash.mbox"))
    assert records["folder"] == folder


def test_trash_and_spam_are_skipped(tmp_path: Path) -> None:
    for label in (b"Trash", b"Spam,Unread"):
        mailbox = eml(tmp_path, ENVELOPE + b"X-Gmail-Labels: " + label + b"\n" + PLAIN, "all.mbox")
        assert skipped_in(mailbox) == ["mail in trash or spam"]
    two = 2 * (ENVELOPE + PLAIN + b"\n")
    assert skipped_in(eml(tmp_path, two, "Junk.mbox")) == ["mail in trash or spam"] * 2  # each is counted


def test_maildir_folders(tmp_path: Path) -> None:
    for name in ("cur/1715:2,S", "new/1716", ".Work.Invoices/cur/1717:2,RS", ".Sent/cur/1718:2,S"):
        eml(tmp_path, PLAIN.replace(b"k1@", name.encode()), f"Maildir/{name}")
    eml(tmp_path, PLAIN, "Maildir/cur/1719:2,ST")
    eml(tmp_path, b"", "Maildir/dovecot-uidlist")
    folder = tmp_path / "Maildir"
    assert sorted(record["folder"] for record in fields_in(folder)) == ["Inbox", "Inbox", "Invoices", "Sent"]
    assert sorted(skipped_in(folder)) == ["mail in trash or spam", "unknown format"]


def test_mail_without_suffix_is_detected_by_its_headers(tmp_path: Path) -> None:
    eml(tmp_path, PLAIN, "mh/Inbox/12")
    eml(tmp_path, b"%d\n" % len(PLAIN) + PLAIN + b"<?xml ?>", "INBOX.mbox/Messages/34.emlx")
    eml(tmp_path, ENVELOPE + PLAIN, "Archive.mbox/mbox")
    eml(tmp_path, b"Dear all:\n\nno mail", "letter")
    assert [record["folder"] for record in fields_in(tmp_path)] == ["Archive", "Inbox", "Inbox"]


def test_message_without_headers_is_reported(tmp_path: Path) -> None:
    mailbox = ENVELOPE + b"X-Nothing: here\n\ntext\n\n" + ENVELOPE + PLAIN
    records = read_path(eml(tmp_path, mailbox, "odd.mbox"), CONTEXT)
    assert skipped_in(tmp_path / "odd.mbox") == ["not a mail: no headers"]
    assert sum(isinstance(record, Item) for record in records) == 1


@pytest.mark.parametrize(
    "name", ["saved.msg", "mail.txt", "1715590000.M20P2137.host:2,S", "archive/1715590001.M1P2.host.eml.bak"]
)
def test_mail_is_recognised_by_its_headers_whatever_its_name(tmp_path: Path, name: str) -> None:
    (item,) = items_in(eml(tmp_path, PLAIN, name))
    assert item.fields["subject"] == "Kiln slots"


def test_mail_with_an_invitation_is_a_mail(tmp_path: Path) -> None:
    invitation = b"--b\nContent-Type: text/calendar\n\nBEGIN:VCALENDAR\nEND:VCALENDAR\n--b--\n"
    body = b"--b\nContent-Type: text/plain\n\nCome!\n" + invitation
    assert content(tmp_path, b"Content-Type: multipart/mixed; boundary=b", body) == "Come!"


def test_note_about_mail_headers_is_a_note(tmp_path: Path) -> None:
    text = b"How mail works\nFrom: the sender\nTo: the rest\nMessage-ID: an id\nSubject: free\n\nMore.\n"
    (item,) = items_in(eml(tmp_path, text, "mail.txt"))
    assert item.app == "Notes"


@pytest.mark.parametrize(
    ("name", "folder"), [("Work/one.eml", "Work"), ("Work/12", "Work"), ("Box/cur/17:2,S", "Box")]
)
def test_single_mail_with_an_envelope_keeps_its_folder(tmp_path: Path, name: str, folder: str) -> None:
    (item,) = items_in(eml(tmp_path / "Mails", ENVELOPE + PLAIN, name).parents[name.count("/")])
    assert item.fields["folder"] == folder


def test_property_list_of_an_emlx_is_not_part_of_the_text(tmp_path: Path) -> None:
    content = b"%d      \n" % len(PLAIN) + PLAIN + b'<?xml version="1.0"?><plist><dict>flags</dict></plist>'
    for name in ("12.emlx", "13.partial"):
        (item,) = items_in(eml(tmp_path, content, name))
        assert item.fields["content"] == "Two are free on Thursday.\nFrom: Marta Silva"


@pytest.mark.parametrize(
    ("headers", "read"),
    [
        (b"X-Gmail-Labels: Inbox,Unread\n", False),
        (b"X-Gmail-Labels: Posteingang,Ungelesen\n", False),
        (b"X-Gmail-Labels: Inbox,Opened\n", True),
        (b"Status: RO\n", True),
        (b"Status: O\n", False),
        (b"X-Mozilla-Status: 0001\n", True),
        (b"X-Mozilla-Status: 0010\n", False),
        (b"", None),
    ],
)
def test_mail_is_read_or_not_as_labels_and_flags_say(
    tmp_path: Path, headers: bytes, read: bool | None
) -> None:
    (fields,) = fields_in(eml(tmp_path, ENVELOPE + headers + PLAIN, "all.mbox"))
    assert fields.get("read") is read


@pytest.mark.parametrize(
    ("name", "read"),
    [("cur/1.host:2,RS", True), ("cur/1.host:2,", False), ("cur/1.host;2,S", True), ("new/1.host", False)],
)
def test_mail_of_a_maildir_is_read_if_it_has_the_flag(tmp_path: Path, name: str, read: bool) -> None:
    (fields,) = fields_in(eml(tmp_path, PLAIN, f"Maildir/{name}").parent)
    assert fields["read"] is read


def test_mail_of_apple_mail_has_its_flags_behind_the_message(tmp_path: Path) -> None:
    plist = b"<plist><dict><key>flags</key>\n<integer>8590195713</integer></dict></plist>"
    (fields,) = fields_in(eml(tmp_path, b"%d\n" % len(PLAIN) + PLAIN + plist, "1.emlx"))
    assert fields["read"] is True


def test_mail_of_who_shares_a_mailbox_is_not_sent_by_the_user(tmp_path: Path) -> None:
    rui = Contact("Rui Duarte", "ines@example.com")
    context = ImportContext(replace(INES, contacts=(rui,)), NOW)
    shared = PLAIN.replace(b"Marta Silva <marta@example.org>", b"Rui Duarte <ines@example.com>")
    own = PLAIN.replace(b"Marta Silva <marta@example.org>", b"Ines <ines@example.com>").replace(b"k1", b"k2")
    mailbox = eml(tmp_path, ENVELOPE + shared + b"\n" + ENVELOPE + own, "Inbox.mbox")
    assert [fields["folder"] for fields in fields_in(mailbox, context)] == ["Inbox", "Sent"]


@pytest.mark.parametrize(
    ("headers", "bulk"),
    [
        (b"List-Unsubscribe: <mailto:off@example.org>\n", True),
        (b"Precedence: bulk\n", True),
        (b"X-Gmail-Labels: Inbox,Category Promotions\n", True),
        (b"X-Gmail-Labels: Inbox,Category Personal\n", None),
        (b"", None),
    ],
)
def test_mail_to_many_people_is_bulk(tmp_path: Path, headers: bytes, bulk: bool | None) -> None:
    (fields,) = fields_in(eml(tmp_path, ENVELOPE + headers + PLAIN, "all.mbox"))
    assert fields.get("bulk") is bulk
