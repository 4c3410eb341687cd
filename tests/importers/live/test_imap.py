"""Mail from a real IMAP server: incremental, moved and deleted mails, nothing doubled."""

import imaplib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.importers.live.servers import PASSWORD, USERNAME, imap_connection, imap_server
from tests.importers.reading_files import INES, NOW

from contextune.importers.live import SyncAccount, SyncReport, SyncState, sync_account
from contextune.importers.live.imap import decode_folder_name, parse_folder
from contextune.importers.live.source import SyncError
from contextune.importers.run import import_into
from contextune.store import SQLiteStore
from contextune.types import UsageEvent

pytest.importorskip("pymap")

MAIL = (
    "From: Marta <marta@example.org>\r\nTo: ines@example.com\r\nMessage-ID: <{0}@example.org>\r\n"
    "Date: Mon, 13 May 2024 09:00:00 +0100\r\nSubject: {0}\r\n\r\nText of {0}\r\n"
)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with imap_server() as number:
        yield number


@pytest.fixture
def mailbox(port: int) -> Iterator[imaplib.IMAP4]:
    """A connection to an account without mails."""
    connection = imap_connection(port)
    for line in connection.list()[1]:
        assert isinstance(line, bytes)
        name = line.rpartition(b' "/" ')[2].decode()
        if name != "INBOX" and b"\\Noselect" not in line:
            connection.delete(name)
    connection.select("INBOX")
    connection.store("1:*", "+FLAGS", r"\Deleted")
    connection.expunge()
    connection.close()
    yield connection
    connection.logout()


class Sync:
    """A store and an account that is read again and again."""

    def __init__(self, store: SQLiteStore, state: SyncState, port: int) -> None:
        self.store, self.state = store, state
        self.account = SyncAccount("post", f"imap://127.0.0.1:{port}", USERNAME, "ines", "UNUSED")

    def run(self, password: str = PASSWORD) -> SyncReport:
        return sync_account(self.store, self.state, self.account, password, now=NOW)

    def folders(self) -> dict[str, str]:
        """Folder of each mail by subject."""
        return {item.title: item.fields["folder"] for item in self.store.items("ines")}


@pytest.fixture
def sync(tmp_path: Path, store: SQLiteStore, port: int, mailbox: imaplib.IMAP4) -> Iterator[Sync]:
    store.put_user(INES)
    with SyncState(tmp_path / "sync.db") as state:
        state.add_account(SyncAccount("post", f"imap://127.0.0.1:{port}", USERNAME, "ines", "UNUSED"))
        yield Sync(store, state, port)


def append(mailbox: imaplib.IMAP4, folder: str, *names: str) -> None:
    for name in names:
        mailbox.append(folder, "", "", MAIL.format(name).encode())


@contextmanager
def opened(mailbox: imaplib.IMAP4, folder: str) -> Generator[None]:
    mailbox.select(folder)
    yield
    mailbox.expunge()
    mailbox.close()


def test_only_new_mails_are_fetched(sync: Sync, mailbox: imaplib.IMAP4) -> None:
    append(mailbox, "INBOX", "kiln", "talc")
    mailbox.create("Entw&APw-rfe")
    append(mailbox, "Entw&APw-rfe", "draft")
    mailbox.create("Trash")
    append(mailbox, "Trash", "gone")
    first = sync.run()
    assert (first.fetched, first.new, first.skipped.total()) == (3, 3, 0)
    assert sync.folders() == {"kiln": "Inbox", "talc": "Inbox", "draft": "Entwürfe"}
    again = sync.run()
    assert (again.fetched, again.new, again.changed, again.deleted) == (0, 0, 0, 0)
    append(mailbox, "INBOX", "ash")
    assert (sync.run().fetched, len(sync.folders())) == (1, 4)


def test_mails_stay_unread_on_the_server(sync: Sync, mailbox: imaplib.IMAP4) -> None:
    append(mailbox, "INBOX", "kiln")
    sync.run()
    mailbox.select("INBOX", readonly=True)
    assert mailbox.search(None, "UNSEEN")[1] == [b"1"]
    mailbox.close()


def test_mails_deleted_on_the_server_are_deleted(sync: Sync, mailbox: imaplib.IMAP4) -> None:
    append(mailbox, "INBOX", "kiln", "talc", "ash")
    sync.run()
    with opened(mailbox, "INBOX"):
        mailbox.store("1", "+FLAGS", r"\Deleted")
    mailbox.select("INBOX")
    mailbox.store("1", "+FLAGS", r"\Deleted")  # marked, but not removed yet
    report = sync.run()
    mailbox.store("1", "-FLAGS", r"\Deleted")
    assert report.deleted == 2
    assert sync.folders() == {"ash": "Inbox"}


def test_moved_mail_keeps_its_uses(sync: Sync, mailbox: imaplib.IMAP4) -> None:
    append(mailbox, "INBOX", "kiln")
    mailbox.create("Work")
    sync.run()
    (item,) = sync.store.items("ines")
    sync.store.put_uses("ines", [UsageEvent(item.id, NOW)])
    with opened(mailbox, "INBOX"):
        mailbox.copy("1", "Work")
        mailbox.store("1", "+FLAGS", r"\Deleted")
    report = sync.run()
    assert (report.new, report.changed, report.deleted) == (0, 1, 0)
    assert sync.folders() == {"kiln": "Work"}
    assert len(sync.store.uses("ines")) == 1


def test_deleted_folder_and_new_folder_of_the_same_name(sync: Sync, mailbox: imaplib.IMAP4) -> None:
    mailbox.create("Work")
    append(mailbox, "Work", "kiln", "talc")
    sync.run()
    mailbox.delete("Work")
    assert sync.run().deleted == 2
    mailbox.create("Work")
    append(mailbox, "Work", "kiln")
    sync.run()
    mailbox.delete("Work")
    mailbox.create("Work")  # the same numbers may mean other mails: another UIDVALIDITY
    append(mailbox, "Work", "ash")
    sync.run()
    assert sync.folders() == {"ash": "Work"}


def test_nothing_is_doubled_between_files_and_server(
    tmp_path: Path, sync: Sync, mailbox: imaplib.IMAP4
) -> None:
    nameless = (
        "From: marta@example.org\r\nDate: Mon, 13 May 2024 09:00:00 +0100\r\nSubject: no id\r\n\r\nText\r\n"
    )
    append(mailbox, "INBOX", "kiln")
    mailbox.append("INBOX", "", "", nameless.encode())
    folder = tmp_path / "files" / "Inbox"
    folder.mkdir(parents=True)
    (folder / "1.eml").write_bytes(MAIL.format("kiln").replace("\r\n", "\n").encode())
    (folder / "2.eml").write_bytes(nameless.replace("\r\n", "\n").encode())
    assert import_into(sync.store, "ines", [folder], now=NOW).new == 2
    report = sync.run()
    assert (report.fetched, report.new, report.changed) == (2, 0, 0)
    assert import_into(sync.store, "ines", [folder], now=NOW).changed == 0
    assert len(sync.store.items("ines")) == 2


def test_wrong_password_and_unreachable_server_are_reported(sync: Sync) -> None:
    with pytest.raises(SyncError, match="refuses user name or password"):
        sync.run("wrong")
    sync.account = SyncAccount("post", "imap://127.0.0.1:1", USERNAME, "ines")
    with pytest.raises(SyncError, match="cannot reach"):
        sync.run()


def test_account_of_a_user_who_was_forgotten(sync: Sync) -> None:
    sync.store.forget("ines")
    with pytest.raises(SyncError, match="sync remove post"):
        sync.run()


@pytest.mark.parametrize(
    ("name", "decoded"),
    [
        ("INBOX", "INBOX"),
        ("Entw&APw-rfe", "Entwürfe"),
        ("A &- B", "A & B"),
        ("&U,BTFw-", "台北"),
        ("&x", "&x"),
    ],
)
def test_folder_names(name: str, decoded: str) -> None:
    assert decode_folder_name(name) == decoded


@pytest.mark.parametrize(
    ("line", "folder"),
    [
        (rb'(\HasNoChildren) "/" "INBOX"', ('"INBOX"', "INBOX", "INBOX", False)),
        (
            rb'(\HasNoChildren \All) "/" "[Gmail]/All Mail"',
            ('"[Gmail]/All Mail"', "Archive", "[Gmail]/All Mail", True),
        ),
        (rb'(\Sent) "." "Elementos enviados"', ('"Elementos enviados"', "Sent", "Elementos enviados", False)),
        (rb'() "." Work.Invoices', ('"Work.Invoices"', "Invoices", "Work.Invoices", False)),
        (rb'() NIL "a \"b\""', (r'"a \"b\""', 'a "b"', 'a "b"', False)),
        ((rb'() "/" {6}', b"a/(b) "), ('"a/(b) "', "(b) ", "a/(b) ", False)),
        (rb'(\HasChildren \Noselect) "/" "[Gmail]"', None),
        (rb'(\HasNoChildren \Trash) "/" "[Gmail]/Papelera"', None),
        (rb'(\HasNoChildren) "." "INBOX.Spam"', None),
        (b"nonsense", None),
    ],
)
def test_folder_lists_of_servers(
    line: bytes | tuple[bytes, bytes], folder: tuple[str, str, str, bool] | None
) -> None:
    assert parse_folder(line) == folder
