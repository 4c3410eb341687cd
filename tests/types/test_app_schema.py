"""Items of every application: their words, times, people and places."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextune.errors import InvalidDataError
from contextune.types import Item
from contextune.types.app_description import DESCRIBED_APPS
from contextune.types.app_schema import APPS, AppDescription, app_for, describe_app, known_app

DAY = "2024-05-16T19:00"
TIME = datetime(2024, 5, 16, 19)

ITEMS: Mapping[str, Mapping[str, Any]] = {
    "Mail": {
        "author": "marta@example.org",
        "recipients": ["ines@example.com", "rui@example.com"],
        "subject": "Kiln slots",
        "content": "Two are free.",
        "date": DAY,
        "folder": "Inbox",
    },
    "Calendar": {
        "event_name": "Glaze night",
        "category": "Personal",
        "organizer": "marta@example.org",
        "participants": ["ines@example.com"],
        "location": "Barro Studio",
        "start_time": DAY,
        "end_time": "2024-05-16T21:00",
        "status": "Confirmed",
        "notes": "bring the tests",
        "place": "studio",
    },
    "Google": {"query": "celadon crazing why", "date": DAY, "place": "home"},
    "Notes": {"title": "Cone 6 recipes", "content": "talc 8", "folder": "Pottery", "modified": DAY},
    "Music": {
        "song_name": "Barco Negro",
        "artist": "Mariza",
        "album_title": "Terra",
        "playlist": "Early",
        "played_time": DAY,
    },
    "Reminders": {
        "title": "Buy talc",
        "list": "Home",
        "due": "2024-05-17T18:00",
        "status": "open",
        "created": DAY,
    },
    "PhoneCall": {
        "contact": "Rui Duarte",
        "number": "555-0142",
        "direction": "missed",
        "date": DAY,
        "duration_s": 0,
    },
}
TEXTS = {
    "Mail": "email — Kiln slots — Two are free. — from: marta@example.org"
    " — to: ines@example.com, rui@example.com — folder: Inbox",
    "Calendar": "calendar event — Glaze night — bring the tests — at: Barro Studio"
    " — organizer: marta@example.org — with: ines@example.com — category: Personal — status: Confirmed",
    "Google": "web search — celadon crazing why",
    "Notes": "note — Cone 6 recipes — talc 8 — folder: Pottery",
    "Music": "song played — Barco Negro — by: Mariza — album: Terra — playlist: Early",
    "Reminders": "reminder — Buy talc — list: Home — status: open",
    "PhoneCall": "phone call — Rui Duarte — missed — number: 555-0142",
}
TITLES = {
    "Mail": "Kiln slots",
    "Calendar": "Glaze night",
    "Google": "celadon crazing why",
    "Notes": "Cone 6 recipes",
    "Music": "Barco Negro",
    "Reminders": "Buy talc",
    "PhoneCall": "Rui Duarte",
}
PEOPLE = {
    "Mail": ("marta@example.org", "ines@example.com", "rui@example.com"),
    "Calendar": ("marta@example.org", "ines@example.com"),
    "Music": ("Mariza",),
    "PhoneCall": ("Rui Duarte", "555-0142"),
}
TIMES = {
    "Calendar": {"start": TIME, "end": datetime(2024, 5, 16, 21)},
    "Reminders": {"made": TIME, "due": datetime(2024, 5, 17, 18)},
}


def item(app: str, **changes: object) -> Item:
    return Item("1", app, {**ITEMS.get(app, {}), **changes})


def test_app_table_is_complete() -> None:
    assert set(APPS) == set(ITEMS)


@pytest.mark.parametrize("app", ITEMS)
def test_known_application_fields(app: str) -> None:
    one = item(app)
    assert one.text == TEXTS[app]
    assert one.title == TITLES[app]
    assert one.people == PEOPLE.get(app, ())
    assert one.times == TIMES.get(app, {"made": TIME})
    assert one.made == (None if app == "Calendar" else TIME)
    assert one.place == ITEMS[app].get("place")


@pytest.mark.parametrize("app", ITEMS)
def test_item_with_any_field_missing_is_readable(app: str) -> None:
    for fields in ({}, dict.fromkeys(ITEMS[app])):
        bare = Item("1", app, fields)
        assert bare.text == APPS[app].noun
        assert (bare.title, bare.times, bare.made, bare.place, bare.people) == ("", {}, None, None, ())


def test_empty_field_has_no_label() -> None:
    assert item("Mail", recipients=[], folder="", content=None).text == (
        "email — Kiln slots — from: marta@example.org"
    )


def test_times_are_stored_as_given() -> None:
    made = item("Mail", date="2024-05-16T19:00+02:00").made
    assert made == datetime.fromisoformat("2024-05-16T17:00Z")
    assert made is not None
    assert made.hour == 19
    assert item("Mail", date="2024-05-16").made == datetime(2024, 5, 16)
    assert item("Mail", date=TIME).made == TIME


def test_unreadable_time_names_the_item() -> None:
    with pytest.raises(InvalidDataError, match="item '1' of Mail: not a time: 'yesterday'"):
        _ = item("Mail", date="yesterday").made
    with pytest.raises(InvalidDataError, match="item '1' of Reminders: not a time: 'soon'"):
        _ = item("Reminders", due="soon").times


def test_unknown_app_is_read_by_common_field_names() -> None:
    one = item(
        "Recipes",
        id_number=7,
        name="Vindaloo",
        main_spice="cumin",
        sender="Rui",
        participants=["Ana", "Eva"],
        created="2024-05-01T08:00",
        modified="2024-05-02T08:00",
        start="2024-05-03T08:00",
        due="2024-05-04T08:00",
        place="home",
    )
    assert one.title == "Vindaloo"
    assert one.text == (
        "Recipes — Vindaloo — id number: 7 — main spice: cumin — sender: Rui — participants: Ana, Eva"
    )
    assert one.made == datetime(2024, 5, 1, 8)
    assert one.times == {
        "made": datetime(2024, 5, 1, 8),
        "start": datetime(2024, 5, 3, 8),
        "due": datetime(2024, 5, 4, 8),
    }
    assert one.people == ("Rui", "Ana", "Eva")
    assert one.place == "home"


def test_unknown_app_field_named_time_may_hold_text() -> None:
    one = item("Recipes", title="Vindaloo", date=None, time="20 min", created=DAY, end=["a", "b"])
    assert one.made == TIME
    assert one.times == {"made": TIME}
    assert one.text == "Recipes — Vindaloo — time: 20 min — end: a, b"


def test_unknown_app_without_title_uses_first_field() -> None:
    assert item("Chat", date=DAY, place="home", body="see you").title == "see you"
    assert item("Chat", date=DAY, place="home").text == "Chat"


def test_sender_is_not_the_title() -> None:
    one = item("Chat", sender="Bob", text="The boiler is fixed.", date=DAY)
    assert (one.title, one.people, one.made) == ("The boiler is fixed.", ("Bob",), TIME)
    # there is nothing else to call it by
    assert item("Chat", sender="Bob", date=DAY).title == "Bob"


@pytest.mark.parametrize(
    ("app", "fields", "title", "people", "text"),
    [
        (
            "Messages",
            {"from": "Bob", "to": ["Ana"], "body": "Fixed.", "sent_at": DAY},
            "Fixed.",
            ("Bob", "Ana"),
            "message — Fixed. — from: Bob — to: Ana",
        ),
        (
            "Tasks",
            {"task_name": "Paint", "assigned_to_email": "b@example.com", "due_date": DAY, "board": "Shed"},
            "Paint",
            ("b@example.com",),
            "task — Paint — assigned to email: b@example.com — board: Shed",
        ),
        ("Files", {"path": "/a/b.pdf", "modified_at": DAY}, "/a/b.pdf", (), "file — /a/b.pdf"),
        (
            "CRM",
            {"customer_name": "Ana Reis", "status": "lead", "last_contact_date": DAY},
            "Ana Reis",
            ("Ana Reis",),
            "customer record — Ana Reis — status: lead",
        ),
        (
            "Photos",
            {"caption": "Pier", "faces": ["Ana"], "taken": DAY},
            "Pier",
            ("Ana",),
            "photo — Pier — faces: Ana",
        ),
        ("Contacts", {"name": "Ana", "phone": "1"}, "Ana", ("Ana", "1"), "contact — Ana — phone: 1"),
    ],
)
def test_described_application(
    app: str, fields: dict[str, Any], title: str, people: tuple[str, ...], text: str
) -> None:
    one = item(app, **fields)
    assert (one.title, one.people, one.text) == (title, people, text)
    assert one.time == (TIME if DAY in fields.values() else None)


def test_own_description_is_used_for_all_items() -> None:
    fields = {"ref": "A-7", "what": "Leaking tap", "who": "Ana", "seen": DAY, "name": "ticket"}
    assert item("Tickets", **fields).title == "ticket"
    describe_app(
        "Tickets", AppDescription("ticket", titles=("what",), made=("seen",), people=("who",), verb="handled")
    )
    one = item("Tickets", **fields)
    assert (one.title, one.made, one.people) == ("Leaking tap", TIME, ("Ana",))
    assert (one.schema.noun, one.schema.verb) == ("ticket", "handled")


def test_fields_of_trained_applications_cannot_be_described() -> None:
    with pytest.raises(InvalidDataError, match="the fields of 'Mail' are fixed"):
        describe_app("Mail", AppDescription("letter"))


def test_times_that_cannot_be_read_are_reported() -> None:
    one = item("Tasks", title="Paint", due="next spring", created=DAY, time="20 min", updated_at="")
    assert one.unread_times == ("due",)
    assert one.times == {"made": TIME}
    assert "due: next spring" in one.text
    assert item("Steps", timestamp=1715880).unread_times == ("timestamp",)
    assert item("Mail", date=DAY).unread_times == ()


def test_ambiguous_time_name_is_reported_only_for_dates_or_own_names() -> None:
    assert item("Messages", text="Hi", sent="yes").unread_times == ()
    assert item("Messages", text="Hi", sent="13/05/2024 09:00").unread_times == ("sent",)
    assert item("Chat", text="Hi", Posted="1 June 2024").unread_times == ("Posted",)
    # Photos says itself that `taken` is its time
    assert item("Photos", filename="a.jpg", taken="yesterday").unread_times == ("taken",)
    assert item("Trips", destination="BER", departure="01/06/2024").unread_times == ("departure",)
    assert item("Trips", destination="BER", departure="Lisbon").unread_times == ()


NINE = datetime(2024, 5, 13, 9)
NINE_UTC = NINE.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("app", "fields", "title", "people", "times"),
    [
        ("Chat", {"Sender": "Bob", "Text": "Milk", "Date": "2024-05-13T09:00"},
         "Milk", ("Bob",), {"made": NINE}),
        ("Chat", {"sentBy": "Bob", "body": "Hi", "createdAt": "2024-05-13T09:00"},
         "Hi", ("Bob",), {"made": NINE}),
        ("Slack", {"user": "bob", "text": "Red", "ts": "1715590800.0"}, "Red", ("bob",), {"made": NINE_UTC}),
        ("Slack", {"from": "Bob", "msg": "Red", "when": "2024-05-13T09:00"},
         "Red", ("Bob",), {"start": NINE}),
        ("Steps", {"name": "Walk", "timestamp": 1715590800}, "Walk", (), {"made": NINE_UTC}),
        ("Steps", {"name": "Walk", "recordedAtMs": 1715590800000}, "Walk", (), {"made": NINE_UTC}),
        ("Photos", {"filename": "a.jpg", "taken": "2024:05:13 09:00:00"}, "a.jpg", (), {"made": NINE}),
        ("Feed", {"title": "A", "published": "Mon, 13 May 2024 09:00:00 +0000"}, "A", (), {"made": NINE_UTC}),
        ("Tickets", {"key": "A-1", "what": "Tap", "who": "Ana", "seen": "2024-05-13T09:00"}, "Tap", ("Ana",),
         {"made": NINE}),
        ("Trips", {"origin": "LIS", "destination": "BER", "departure": "2024-05-13T09:00", "airline": "TAP"},
         "LIS – BER", (), {"start": NINE}),
        ("Jira", {"summary": "Login", "assignee": {"name": "Ana", "id": 3}}, "Login", ("Ana",), {}),
        ("Jira", {"summary": "Login", "attendees": [{"emailAddress": {"name": "Ana", "address": "a@x.org"}}]},
         "Login", ("Ana", "a@x.org"), {}),
        # of a name that tells nothing, only ISO 8601 is a time, and only if the item has no other
        ("Log", {"name": "A", "x": "2024-05-13T09:00"}, "A", (), {"start": NINE}),
        ("Log", {"name": "A", "x": "2024-05-13T09:00", "date": "2024-05-13T09:00"}, "A", (), {"made": NINE}),
        ("Log", {"name": "A", "phone": 1715590800, "x": "1715590800", "y": "20240513"}, "A", (), {}),
        ("Log", {"name": "A", "birthday": "1990-05-13", "date_of_birth": "1990-05-13"}, "A", (), {}),
    ],
)  # fmt: skip
def test_undescribed_application_is_inferred(
    app: str, fields: dict[str, Any], title: str, people: tuple[str, ...], times: dict[str, datetime]
) -> None:
    one = item(app, **fields)
    assert (one.title, one.people, one.times, one.unread_times) == (title, people, times, ())


def test_nested_values_are_written_out() -> None:
    one = item("Jira", summary="Login", assignee={"name": "Ana", "id": 3}, tags=[{"name": "ui"}, "web"])
    assert one.text == "Jira — Login — assignee: name: Ana; id: 3 — tags: name: ui, web"


def test_own_description_is_not_extended() -> None:
    describe_app("Trips", AppDescription("trip", titles=("destination",), made=("booked",)))
    one = item("Trips", origin="LIS", destination="BER", departure="2024-05-13T09:00")
    assert (one.title, one.times) == ("BER", {})


@pytest.mark.parametrize("app", ["mail", "Email", "email", "E-Mail", "Gmail"])
def test_other_name_of_known_application(app: str) -> None:
    one = item(app, title="Roof", sender="jan@example.com", sent="2024-05-13T09:00")
    assert one.text == "email — Roof — from: jan@example.com"
    assert (one.app, one.people, one.made) == (app, ("jan@example.com",), NINE)
    # unlike in Mail itself, a time that cannot be read is no error: such items may be stored already
    unread = item(app, subject="Roof", date="yesterday")
    assert (unread.times, unread.unread_times) == ({}, ("date",))


def test_other_names_lead_to_known_applications() -> None:
    names = ["calendar", "contacts", "SMS", "iMessage", "todo", "phone calls", "Kiln", "Mail", "Outlook Mail"]
    known = ["Calendar", "Contacts", "Messages", "Messages", "Tasks", "PhoneCall", "Kiln", "Mail", "Mail"]
    assert [known_app(name) for name in names] == known
    describe_app("email", AppDescription("letter"))
    assert known_app("email") == "email"
    assert item("email", subject="Roof").text == "letter — Roof"


VALUES = st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text())
NAMES = st.sampled_from(["date", "time", "start", "due", "title", "place", "contact", "x"]) | st.text()


UNKNOWN_APPS = st.text(min_size=1).filter(lambda app: known_app(app) not in {*APPS, *DESCRIBED_APPS})


@given(UNKNOWN_APPS, st.dictionaries(NAMES, VALUES))
def test_any_item_of_unknown_app_is_readable(app: str, fields: dict[str, Any]) -> None:
    one = Item("1", app, fields)
    assert one.text.startswith(app)
    assert one.made == one.times.get("made")
    assert one.people == tuple(person for person in one.people if person)
    spoken = [str(value) for name, value in fields.items() if name != "place" and isinstance(value, str)]
    dates = set(app_for(app, fields).times.values())
    assert all(value in one.text for value in spoken if value not in {fields[date] for date in dates})


@pytest.mark.parametrize(("name", "app"), [("", "Mail"), ("1", "")])
def test_item_needs_id_and_app(name: str, app: str) -> None:
    with pytest.raises(InvalidDataError, match="needs an id and an app"):
        Item(name, app, {})
