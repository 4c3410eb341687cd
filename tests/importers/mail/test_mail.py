"""Mail as it lies on disks: well-formed, broken, in every encoding."""

import base64
import io
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.importers.reading_files import ABOUT, fields_in, found_in, items_in, skipped_in

from contextune.importers.mail.headers import sent_time
from contextune.importers.mail.mbox import messages
from contextune.importers.mail.mime import read_parts
from contextune.types import Item, UsageEvent

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
    """The text of a mail, less the line that says who wrote it."""
    (found,) = fields_in(eml(tmp_path, with_body(headers, body)))
    return found["content"].removesuffix("\nFrom: Marta Silva").removesuffix("From: Marta Silva")


def test_a_mail_has_the_fields_of_its_application(tmp_path: Path) -> None:
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
def test_a_mailbox_is_cut_where_messages_begin(tmp_path: Path, ending: bytes) -> None:
    body = (
        b"Dear Ines,\n\nFrom here on it is easy.\nNote: bring talc.\n\n>From Rui too.\n\n"
        b"From 10:30 to 12:15 we glaze.\n\nFrom Marta:\nhello\n"
    )
    second = PLAIN.replace(b"k1@", b"k2@").replace(b"Two are free on Thursday.\n", body)
    third = PLAIN.replace(b"k1@", b"k3@")
    mailbox = (
        ENVELOPE + PLAIN + b"\n" + ENVELOPE + second + b"\n" + b"From - Mon May 13 10:00:00 2024\n" + third
    )
    found = fields_in(eml(tmp_path, mailbox.replace(b"\n", ending), "Inbox.mbox"))
    assert [one["folder"] for one in found] == ["Inbox"] * 3
    assert "From here on it is easy.\nNote: bring talc.\n\nFrom Rui too." in found[1]["content"]
    assert found[1]["content"].endswith("From Marta:\nhello\nFrom: Marta Silva")


def test_a_mailbox_reads_the_same_in_chunks_of_any_size() -> None:
    mailbox = b"".join(
        ENVELOPE + PLAIN.replace(b"k1@", b"k%d@" % n) + b"x" * (n * 700) + b"\n\n" for n in range(12)
    )
    whole = list(messages(io.BytesIO(mailbox), chunk=10**6))
    assert len(whole) == 12
    for size in (1300, 1999, 5000):
        assert list(messages(io.BytesIO(mailbox), chunk=size)) == whole
    assert [mailbox[one.offset :][:5] for one in whole] == [b"From "] * 12


def test_a_message_that_is_too_long_is_cut_and_the_next_is_found() -> None:
    long = PLAIN + b"y" * 50_000 + b"\n\n"
    mailbox = ENVELOPE + long + ENVELOPE + PLAIN
    first, second = messages(io.BytesIO(mailbox), most=10_000, chunk=4000)
    assert (first.cut, second.cut) == (True, False)
    assert first.content.startswith(PLAIN)
    assert len(first.content) <= 10_000
    assert second.content == PLAIN
    assert mailbox[second.offset :] == ENVELOPE + PLAIN


@given(st.binary(max_size=400), st.integers(1, 500))
def test_no_bytes_are_too_broken(content: bytes, cut: int) -> None:
    read_parts(content)
    read_parts(PLAIN[:cut] + content)
    list(messages(io.BytesIO(ENVELOPE + content), chunk=cut))


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
def test_text_is_read_in_every_encoding(tmp_path: Path, headers: bytes, body: bytes, text: str) -> None:
    assert content(tmp_path, headers, body) == text


def test_of_text_and_html_the_text_is_read_and_attachments_are_named(tmp_path: Path) -> None:
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


def test_html_is_read_where_the_text_is_empty(tmp_path: Path) -> None:
    body = b"--b\nContent-Type: text/plain\n\n \n--b\nContent-Type: text/html\n\n<p>Hello</p>\n--b--\n"
    assert content(tmp_path, b"Content-Type: multipart/alternative; boundary=b", body) == "Hello"


def test_a_truncated_mail_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    body = b"--b\nContent-Type: text/plain\n\nThe beginning of"
    assert content(tmp_path, b"Content-Type: multipart/mixed; boundary=b", body) == "The beginning of"


def test_headers_are_read_however_they_are_written(tmp_path: Path) -> None:
    mail = (
        b"From: =?iso-8859-1?Q?J=F6rg_M=FCller?= <joerg@example.org>\n"
        b"To: =?utf-8?B?UnVpLCBkbyBiYXJybw==?= <rui@example.com>,\n\t<ines@example.com>, undisclosed\n"
        b"Cc: RUI@example.com\n"
        b"Subject: =?utf-8?Q?Gr=C3=BC=C3?=\n =?utf-8?Q?=9Fe?= aus\n K\xf6ln\n"
        b"Date: 31 Feb 2024 25:99\nReceived: from a by b; Tue, 14 May 2024 10:00:00 -0000\n\nHallo\n"
    )
    (found,) = fields_in(eml(tmp_path, mail))
    assert found["author"] == "joerg@example.org"
    assert found["content"] == "Hallo\nFrom: Jörg Müller"
    assert found["recipients"] == ["rui@example.com", "ines@example.com", "RUI@example.com"]
    assert found["subject"].startswith("Grüße aus")
    assert found["date"] == "2024-05-14T10:00+00:00"  # the mail's own is none


@pytest.mark.parametrize(
    "date",
    [
        "Mon, 13 May 2024 09:00:00 +0100", "3 May 2024 09:00:00 -0730", "Mon, 13 May 2024 09:00:00 -0000",
        "Mon, 13 May 2024 09:00:00 +0000 (UTC)", "3 May 2024 09:00:00 +0199", "1 May 0024 09:00:00 +0000",
        "Mon, 13 May 2024 09:00:60 +0000", "Mon, 31 Feb 2024 09:00:00 +0000", "1 May 2024 09:00:00 +2500",
        "Mon, 13 Mai 2024 09:00:00 +0000", "mon, 13 may 2024 09:00:00 gmt", "Thu, 1 Jan 1970 00:00:00 +0000",
    ],
)  # fmt: skip
def test_a_date_is_read_as_the_library_reads_it(date: str) -> None:
    try:
        time = parsedate_to_datetime(date)
    except ValueError:
        time = None
    expected = (time if time.tzinfo else time.replace(tzinfo=UTC)) if time and time.year > 1980 else None
    found = sent_time({"date": date.encode()})
    assert found == expected
    assert found is None or found.utcoffset() == (expected and expected.utcoffset())


@pytest.mark.parametrize("name", ["Kiss", "KISS", "fi", "Weiss", "Weiß", "kiln", "İs"])
@pytest.mark.parametrize("sign", ["ß", "ẞ", "\u212a", "ﬁ", "ſ", "İ", "ı", "é", "窯", "k"])
def test_a_name_in_the_text_is_not_told_again_however_it_is_written(
    tmp_path: Path, name: str, sign: str
) -> None:
    text = f"wei{sign} {sign}iss {sign}s ki{sign} {sign} {sign}iln ü"
    mail = f"From: {name} <m@example.org>\nSubject: x\n\n{text}\n"
    (found,) = fields_in(eml(tmp_path, mail.encode()))
    assert found["content"].endswith(f"From: {name}") == (name.casefold() not in text.casefold())


def test_a_mail_without_any_date_is_kept(tmp_path: Path) -> None:
    (item,) = items_in(eml(tmp_path, b"From: a@example.org\nSubject: undated\nDate: soon\n\nx\n"))
    assert item.made is None


def test_a_mail_without_a_name_is_the_same_in_every_import(tmp_path: Path) -> None:
    nameless = PLAIN.partition(b"\n")[2]
    moved = b"Received: from elsewhere\r\n" + nameless.replace(b"\n", b"\r\n")
    (one,), (same,) = items_in(eml(tmp_path, nameless)), items_in(eml(tmp_path, moved, "two.eml"))
    (other,) = items_in(eml(tmp_path, nameless.replace(b"Two", b"Three"), "three.eml"))
    assert one.id == same.id != other.id


def test_an_answer_belongs_to_its_thread_and_is_a_use_of_what_it_answers(tmp_path: Path) -> None:
    reply = (
        b"Message-ID: <r1@example.com>\nIn-Reply-To: <k2@example.org>\n"
        b"References: <k1@example.org>\n <k2@example.org>\nFrom: Ines <INES@example.com>\n"
        b"Date: Mon, 13 May 2024 10:00:00 +0100\nSubject: Re: Kiln slots\n\nYes\n"
    )
    original, *_ = items_in(eml(tmp_path, PLAIN))
    item, use = found_in(eml(tmp_path, reply, "reply.eml"))
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
def test_labels_of_gmail_become_folders(tmp_path: Path, labels: bytes, folder: str) -> None:
    mailbox = ENVELOPE + b"X-Gmail-Labels: " + labels + b"\n" + PLAIN
    (found,) = fields_in(eml(tmp_path, mailbox, "All mail Including Spam and Trash.mbox"))
    assert found["folder"] == folder


def test_what_was_thrown_away_stays_away(tmp_path: Path) -> None:
    for label in (b"Trash", b"Spam,Unread"):
        mailbox = eml(tmp_path, ENVELOPE + b"X-Gmail-Labels: " + label + b"\n" + PLAIN, "all.mbox")
        assert skipped_in(mailbox) == ["mail thrown away"]
    assert skipped_in(eml(tmp_path, ENVELOPE + PLAIN, "Junk.mbox")) == ["a folder of mail thrown away"]


def test_a_maildir_is_read_with_its_folders(tmp_path: Path) -> None:
    for name in ("cur/1715:2,S", "new/1716", ".Work.Invoices/cur/1717:2,RS", ".Sent/cur/1718:2,S"):
        eml(tmp_path, PLAIN.replace(b"k1@", name.encode()), f"Maildir/{name}")
    eml(tmp_path, PLAIN, "Maildir/cur/1719:2,ST")
    eml(tmp_path, b"", "Maildir/dovecot-uidlist")
    folder = tmp_path / "Maildir"
    assert sorted(one["folder"] for one in fields_in(folder)) == ["Inbox", "Inbox", "Invoices", "Sent"]
    assert sorted(skipped_in(folder)) == ["mail thrown away", "no format that is known"]


def test_mail_of_other_programs_is_known_by_its_headers(tmp_path: Path) -> None:
    eml(tmp_path, PLAIN, "mh/Inbox/12")
    eml(tmp_path, b"%d\n" % len(PLAIN) + PLAIN + b"<?xml ?>", "INBOX.mbox/Messages/34.emlx")
    eml(tmp_path, ENVELOPE + PLAIN, "Archive.mbox/mbox")
    eml(tmp_path, b"Dear all:\n\nno mail", "letter")
    assert [one["folder"] for one in fields_in(tmp_path)] == ["Archive", "Inbox", "Inbox"]


def test_what_is_no_mail_is_said_to_be_none(tmp_path: Path) -> None:
    mailbox = ENVELOPE + b"X-Nothing: here\n\ntext\n\n" + ENVELOPE + PLAIN
    found = found_in(eml(tmp_path, mailbox, "odd.mbox"), ABOUT)
    assert skipped_in(tmp_path / "odd.mbox") == ["no mail: it has no headers"]
    assert sum(isinstance(one, Item) for one in found) == 1
