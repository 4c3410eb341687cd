"""Calendars and contacts from a real server: incremental, changed and deleted resources."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

pytest.importorskip("radicale")

from tests.importers.live.servers import PASSWORD, USERNAME, DavServer, dav_server
from tests.importers.reading_files import INES, NOW

from contextune.importers.live import SyncAccount, SyncReport, SyncState, sync_account
from contextune.importers.live.dav_client import DavClient, parse_xml
from contextune.importers.live.source import SyncError
from contextune.importers.run import import_into
from contextune.store import SQLiteStore

EVENT = (
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:{uid}\r\nDTSTAMP:20240501T000000Z\r\n"
    "DTSTART:{start}\r\nSUMMARY:{name}\r\n{more}END:VEVENT\r\nEND:VCALENDAR\r\n"
)
TASK = (
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VTODO\r\nUID:t\r\nDTSTAMP:20240501T000000Z\r\n"
    "SUMMARY:Order talc\r\nEND:VTODO\r\nEND:VCALENDAR\r\n"
)
CARD = (
    "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\nFN:{name}\r\nN:{name};;;;\r\nEMAIL:{uid}@example.org\r\n"
    "END:VCARD\r\n"
)


def event(uid: str, name: str = "Glaze night", start: str = "20240520T190000Z", more: str = "") -> str:
    return EVENT.format(uid=uid, name=name, start=start, more=more)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[DavServer]:
    folder = tmp_path / "radicale"
    folder.mkdir()
    with dav_server(folder) as running:
        yield running


class Sync:
    """A store and an account that is read again and again."""

    def __init__(self, store: SQLiteStore, state: SyncState, server: DavServer) -> None:
        self.store, self.state, self.server = store, state, server
        self.account = SyncAccount("dav", server.url, USERNAME, "ines", "UNUSED")
        self.now = NOW

    def run(self, password: str = PASSWORD) -> SyncReport:
        self.server.methods.clear()
        return sync_account(self.store, self.state, self.account, password, now=self.now)

    def titles(self) -> list[str]:
        return sorted(item.title for item in self.store.items("ines"))


@pytest.fixture
def sync(tmp_path: Path, store: SQLiteStore, server: DavServer) -> Iterator[Sync]:
    store.put_user(INES)
    with SyncState(tmp_path / "sync.db") as state:
        state.add_account(SyncAccount("dav", server.url, USERNAME, "ines", "UNUSED"))
        yield Sync(store, state, server)


def test_only_changes_are_fetched(sync: Sync, server: DavServer) -> None:
    calendar = server.make("studio", "calendar", "Studio &amp; more")
    for number in range(60):  # more than one request has
        server.put(f"{calendar}{number}.ics", event(f"e{number}", f"Event {number}"))
    server.put(f"{calendar}t.ics", TASK)
    book = server.make("people", "contacts", "People")
    server.put(f"{book}m.vcf", CARD.format(uid="m", name="Marta Silva"))
    first = sync.run()
    assert (first.fetched, first.new, first.contacts, first.skipped.total()) == (62, 61, 1, 0)
    fields = {item.title: item.fields for item in sync.store.items("ines")}
    assert fields["Event 1"]["category"] == fields["Order talc"]["list"] == "Studio & more"
    again = sync.run()
    assert (again.fetched, again.new, again.changed) == (0, 0, 0)
    assert "REPORT" not in server.methods  # nothing but the list of collections
    server.put(f"{calendar}1.ics", event("e1", "Moved", "20240521T190000Z"))
    server.put(f"{calendar}new.ics", event("new", "New"))
    report = sync.run()
    assert (report.fetched, report.new, report.changed, report.deleted) == (2, 1, 1, 0)
    assert {"Moved", "New"} < set(sync.titles())


def test_resources_deleted_on_the_server_are_deleted(sync: Sync, server: DavServer) -> None:
    calendar = server.make("studio", "calendar", "Studio")
    book = server.make("people", "contacts", "People")
    weekly = event("weekly", "Class", more="RRULE:FREQ=WEEKLY;COUNT=3\r\n")
    for name, content in (("a", event("a", "A")), ("w", weekly), ("b", event("b", "B"))):
        server.put(f"{calendar}{name}.ics", content)
    for uid, name in (("m", "Marta Silva"), ("r", "Rui")):
        server.put(f"{book}{uid}.vcf", CARD.format(uid=uid, name=name))
    assert (sync.run().new, sync.titles()) == (5, ["A", "B", "Class", "Class", "Class"])
    server.delete(f"{calendar}a.ics")
    server.delete(f"{calendar}w.ics")
    server.delete(f"{book}m.vcf")
    report = sync.run()
    assert (report.deleted, report.deleted_contacts, sync.titles()) == (4, 1, ["B"])
    assert [contact.name for contact in sync.store.user("ines").contacts] == ["Rui"]
    server.delete(calendar)
    assert (sync.run().deleted, sync.titles()) == (1, [])


def test_lost_sync_token_leads_to_a_comparison_of_all(sync: Sync, server: DavServer) -> None:
    calendar = server.make("studio", "calendar", "Studio")
    for name in ("a", "b", "c"):
        server.put(f"{calendar}{name}.ics", event(name, name.upper()))
    sync.run()
    (collection,) = sync.state.collections("dav")
    sync.state.put_collections(
        "dav", {collection: '{"ctag": "other", "token": "http://radicale.org/ns/sync/x"}'}
    )
    server.delete(f"{calendar}a.ics")
    server.put(f"{calendar}b.ics", event("b", "B2"))
    report = sync.run()
    assert (report.fetched, report.deleted, sync.titles()) == (1, 1, ["B2", "C"])


def test_event_in_two_calendars_stays_until_both_are_gone(sync: Sync, server: DavServer) -> None:
    first, second = (server.make(name, "calendar", name) for name in ("one", "two"))
    for calendar in (first, second):
        server.put(f"{calendar}a.ics", event("a", "A"))
    sync.run()
    assert sync.titles() == ["A"]
    server.delete(f"{first}a.ics")
    assert (sync.run().deleted, sync.titles()) == (0, ["A"])
    server.delete(f"{second}a.ics")
    assert (sync.run().deleted, sync.titles()) == (1, [])


def test_recurring_events_are_expanded_again_after_a_month(sync: Sync, server: DavServer) -> None:
    calendar = server.make("studio", "calendar", "Studio")
    server.put(f"{calendar}w.ics", event("w", "Class", more="RRULE:FREQ=MONTHLY\r\n"))
    sync.run()
    latest = max(item.fields["start_time"] for item in sync.store.items("ines"))
    sync.now = NOW + timedelta(days=20)
    assert sync.run().fetched == 0
    sync.now = NOW + timedelta(days=40)
    assert sync.run().fetched == 1
    assert max(item.fields["start_time"] for item in sync.store.items("ines")) > latest


def test_nothing_is_doubled_between_a_file_and_the_server(
    tmp_path: Path, sync: Sync, server: DavServer
) -> None:
    calendar = server.make("studio", "calendar", "Studio")
    server.put(f"{calendar}a.ics", event("a", "A"))
    path = tmp_path / "Studio.ics"
    path.write_text(event("a", "A").replace("PRODID:x", "PRODID:x\r\nX-WR-CALNAME:Studio"), newline="")
    import_into(sync.store, "ines", [path], now=NOW)
    report = sync.run()
    assert (report.fetched, report.new, report.changed) == (1, 0, 0)


def test_address_of_one_collection_reads_it_alone(sync: Sync, server: DavServer) -> None:
    for name in ("one", "two"):
        server.put(f"{server.make(name, 'calendar', name)}a.ics", event(name, name))
    sync.account = SyncAccount("dav", f"{server.url}{USERNAME}/one/", USERNAME, "ines", "UNUSED")
    sync.run()
    assert sync.titles() == ["one"]


def test_wrong_password_and_address_are_reported(sync: Sync, server: DavServer) -> None:
    with pytest.raises(SyncError, match="refuses user name or password"):
        sync.run("wrong")
    sync.account = SyncAccount("dav", "http://127.0.0.1:1/", USERNAME, "ines", "UNUSED")
    with pytest.raises(SyncError, match="cannot reach"):
        sync.run()


@pytest.mark.parametrize(
    ("account", "url", "may"),
    [
        ("https://caldav.example.com/", "https://p42-caldav.example.com/x", True),
        ("https://caldav.example.com/", "https://caldav.example.com:8443/x", True),
        ("https://caldav.example.com/", "http://caldav.example.com/x", False),
        ("https://caldav.example.com/", "https://evil.example.org/", False),
        ("https://example.com/", "https://other.com/", False),
        ("http://127.0.0.1:5232/", "http://1.0.0.1/", False),
    ],
)
def test_password_is_sent_to_the_host_of_the_account_only(account: str, url: str, may: bool) -> None:
    client = DavClient(SyncAccount("dav", account, "ines", "ines"), "secret")
    assert client._is_own_host(url) == may  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("content", [b"<html>", b"", b"<!DOCTYPE x [<!ENTITY a 'b'>]><x>&a;</x>"])
def test_answers_that_are_not_plain_xml_are_refused(content: bytes) -> None:
    with pytest.raises(SyncError):
        parse_xml(content)
