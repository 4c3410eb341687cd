"""Constructors of known applications: fields, defaults, ids and errors."""

from datetime import datetime

import pytest

from contextune.errors import InvalidDataError
from contextune.types import Item
from contextune.types.app_schema import APPS

ITEMS = {
    "Mail": Item.mail(subject="Kiln slots", author="marta@example.org", date="2024-05-13T09:00"),
    "Calendar": Item.event(name="Glaze night", start="2024-05-16T19:00", participants=["marta@example.org"]),
    "Notes": Item.note(title="Cone 6 recipes", modified=datetime(2024, 5, 11, 20, 30)),
    "Reminders": Item.reminder(title="Buy clay", created="2024-05-10T08:00", due="2024-05-17T18:00"),
    "Google": Item.web_search(query="celadon crazing why", date="2024-05-14T22:10"),
    "Music": Item.song(name="Barco Negro", artist="Amália Rodrigues", played="2024-05-15T06:20"),
    "PhoneCall": Item.call(contact="Rui Duarte", date="2024-05-15T20:12", direction="missed"),
}


def test_every_known_application_has_a_constructor() -> None:
    assert ITEMS.keys() == APPS.keys()


@pytest.mark.parametrize("app", ITEMS)
def test_constructor_uses_only_fields_of_the_application(app: str) -> None:
    item, schema = ITEMS[app], APPS[app]
    assert item.app == app
    known = {schema.title, *schema.text, *schema.times.values(), *schema.people, "place", "duration_s"}
    assert set(item.fields) <= known
    assert item.title
    assert item.time is not None


def test_datetime_is_stored_as_iso_text() -> None:
    assert ITEMS["Notes"].fields["modified"] == "2024-05-11T20:30:00"
    assert ITEMS["Notes"].made == datetime(2024, 5, 11, 20, 30)


def test_empty_fields_are_left_out() -> None:
    assert "content" not in ITEMS["Mail"].fields
    assert "end_time" not in ITEMS["Calendar"].fields


def test_id_defaults_to_digest_of_fields() -> None:
    again = Item.mail(subject="Kiln slots", author="marta@example.org", date="2024-05-13T09:00")
    other = Item.mail(subject="Kiln slots", author="marta@example.org", date="2024-05-14T09:00")
    assert again == ITEMS["Mail"]
    assert other.id != again.id
    assert Item.mail(id="m1", subject="x", author="y", date="2024-05-13T09:00").id == "m1"


def test_unreadable_time_is_an_error() -> None:
    with pytest.raises(InvalidDataError, match=r"not a time: 'tomorrow' \(write it as 2024-05-16T19:00\)"):
        Item.event(name="Glaze night", start="tomorrow")


def test_label_of_an_untitled_item_is_its_first_words() -> None:
    mail = {"author": "ana@example.com", "content": "The kiln is free on Thursday,\n come whenever you like"}
    assert Item("m1", "Mail", mail).label == "The kiln is free on Thursday, come whenever"
    assert Item("m1", "Mail", {**mail, "subject": "Kiln"}).label == "Kiln"
    assert Item("m1", "Mail", {}).label == "m1"
