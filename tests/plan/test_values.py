"""Parsing and normalising values."""

from datetime import timedelta

import pytest

from contextune.plan.values import (
    ContactLookup,
    contact_lookup,
    find_numbers,
    format_duration,
    normalize_time,
    normalize_value,
    parse_duration,
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
    assert [contact.name for contact in PEOPLE.search(said)] == names


def test_name_address_and_number_of_a_person_are_equal() -> None:
    assert normalize_value("Rui Duarte", None, PEOPLE) == normalize_value("rui@example.com", None, PEOPLE)
    assert normalize_value("Rui Duarte") != normalize_value("rui@example.com")
    assert normalize_value(["Rui Duarte", "x"], None, PEOPLE) == normalize_value(
        ["X", "555-0142"], None, PEOPLE
    )
    assert normalize_value([1, 2]) != normalize_value([2, 1])


def test_values_of_different_types_differ() -> None:
    assert normalize_value(5) == normalize_value(5.0)
    assert normalize_value(5) != normalize_value("5")
    assert normalize_value(True) != normalize_value(1)
    assert normalize_value("Straße ") == normalize_value("STRASSE")


def test_normalizes_times_and_durations() -> None:
    assert normalize_time("2024-05-17T18:00:00") == "2024-05-17T18:00"
    assert normalize_time("2024-05-17") is None
    assert normalize_time("2024-05-17T18:00", day=True) == "2024-05-17"
    assert normalize_time("soon") is None
    for said in ("half an hour", "PT30M", "30 min", "thirty minutes"):
        assert parse_duration(said) == timedelta(minutes=30), said
    assert parse_duration("an hour and a half") == parse_duration("1.5 hours") == timedelta(minutes=90)
    assert parse_duration("a quarter of an hour") == timedelta(minutes=15)
    assert parse_duration("later") is None
    for length in (timedelta(days=1, hours=2), timedelta(seconds=61), timedelta(0)):
        assert parse_duration(format_duration(length)) == length or length == timedelta(0)


def test_finds_numbers() -> None:
    assert find_numbers("three of the 4.5, not 7th") == [(3.0, "three"), (4.5, "4.5")]
    assert find_numbers("Forty-five of thirteen") == [(45.0, "forty-five"), (13.0, "thirteen")]


def test_first_names_list_all_contacts() -> None:
    people = ContactLookup([Contact("Rui Duarte"), Contact("…"), Contact("RUI  Costa"), Contact("Ana")])
    assert people.first_names == {"rui": [0, 2], "ana": [3]}


def test_contact_lookup_is_cached() -> None:
    contacts = (Contact("Rui Duarte", more={"note": ["tall"]}), Contact("Ana"))
    assert contact_lookup(contacts) is contact_lookup(
        (Contact("Rui Duarte", more={"note": ["tall"]}), Contact("Ana"))
    )
    assert contact_lookup(contacts[:1]).contacts == contacts[:1]
    assert contact_lookup((Contact("Rui Duarte"), Contact("Ana"))).contacts[0].more == {}
