"""Values brought into one form."""

from datetime import timedelta

import pytest

from contextune.plan.values import (
    ContactLookup,
    duration,
    iso_duration,
    normal,
    numbers,
    people_of,
    time_form,
)
from contextune.types import Contact

PEOPLE = ContactLookup(
    [
        Contact("Rui Duarte", "rui@example.com", "555-0142", "younger brother"),
        Contact("Ana Duarte", "ana@example.com", None, "mother"),
        Contact("Marta Reis", None, "555-0150", "sister and pottery teacher"),
        Contact("Inês Reis", None, "555-0151", "sister"),
    ]
)


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ("my mum", ["Ana Duarte"]),
        ("Rui", ["Rui Duarte"]),
        ("555-0150", ["Marta Reis"]),
        ("RUI@example.com", ["Rui Duarte"]),
        ("both sisters", ["Marta Reis", "Inês Reis"]),
        ("the plumber", []),
        ("the tutor", ["Marta Reis"]),
    ],
)
def test_contacts_are_found_by_name_address_number_and_relation(said: str, names: list[str]) -> None:
    assert [contact.name for contact in PEOPLE.find(said)] == names


def test_one_person_is_one_value() -> None:
    assert normal("Rui Duarte", None, PEOPLE) == normal("rui@example.com", None, PEOPLE)
    assert normal("Rui Duarte") != normal("rui@example.com")
    assert normal(["Rui Duarte", "x"], None, PEOPLE) == normal(["X", "555-0142"], None, PEOPLE)
    assert normal([1, 2]) != normal([2, 1])


def test_types_are_not_mixed() -> None:
    assert normal(5) == normal(5.0)
    assert normal(5) != normal("5")
    assert normal(True) != normal(1)
    assert normal("Straße ") == normal("STRASSE")


def test_times_and_durations() -> None:
    assert time_form("2024-05-17T18:00:00") == "2024-05-17T18:00"
    assert time_form("2024-05-17") is None
    assert time_form("2024-05-17T18:00", day=True) == "2024-05-17"
    assert time_form("soon") is None
    for said in ("half an hour", "PT30M", "30 min", "thirty minutes"):
        assert duration(said) == timedelta(minutes=30), said
    assert duration("an hour and a half") == duration("1.5 hours") == timedelta(minutes=90)
    assert duration("a quarter of an hour") == timedelta(minutes=15)
    assert duration("later") is None
    for length in (timedelta(days=1, hours=2), timedelta(seconds=61), timedelta(0)):
        assert duration(iso_duration(length)) == length or length == timedelta(0)


def test_numbers() -> None:
    assert numbers("three of the 4.5, not 7th") == [(3.0, "three"), (4.5, "4.5")]


def test_first_names_are_those_of_everybody_who_has_one() -> None:
    people = ContactLookup([Contact("Rui Duarte"), Contact("…"), Contact("RUI  Costa"), Contact("Ana")])
    assert people.first_names == {"rui": [0, 2], "ana": [3]}


def test_an_address_book_is_read_once_for_one_request_after_the_other() -> None:
    contacts = (Contact("Rui Duarte", more={"note": ["tall"]}), Contact("Ana"))
    assert people_of(contacts) is people_of((Contact("Rui Duarte", more={"note": ["tall"]}), Contact("Ana")))
    assert people_of(contacts[:1]).contacts == contacts[:1]
    assert people_of((Contact("Rui Duarte"), Contact("Ana"))).contacts[0].more == {}
