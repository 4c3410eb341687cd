"""Numbers that a request says to dial."""

import pytest

from contextune.plan.pointer.values.dialled_numbers import dialled_number, is_number_of_item, said_numbers


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Call 112", "112"),
        ("Please dial *100#.", "*100#"),
        ("Ring 999 now!", "999"),
        ("Phone the number 0 800 12 34", "0 800 12 34"),
        ("Call +34 600 123 456", "+34 600 123 456"),
        ("Dial 555-0777.", "555-0777"),
        ("Dial *#06#", "*#06#"),
        ("Call 1471 and say nothing", "1471"),
    ],
)
def test_number_of_any_length_is_dialled(text: str, number: str) -> None:
    span = dialled_number(text)
    assert span is not None
    assert span.text == number
    assert said_numbers(text) == [number]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Dial nine one one", "911"),
        ("please call one one two!", "112"),
        ("Ring the number oh eight hundred", None),
        ("Dial zero one, double five, triple 7", "0155777"),
        ("Call 0800 double two 41", "08002241"),
        ("Call one of the plumbers", None),
        ("Call two", None),
    ],
)
def test_number_in_words_is_dialled(text: str, number: str | None) -> None:
    span = dialled_number(text)
    assert (span.text if span else None) == number


@pytest.mark.parametrize(
    ("text", "is_item"),
    [
        ("Call the number in the mail from Nordgas", True),
        ("Please ring the number in Marta's note", True),
        ("Call the number 112", False),
        ("Call Marta's number", False),
    ],
)
def test_number_of_an_item_is_told_from_a_said_one(text: str, is_item: bool) -> None:
    assert is_number_of_item(text) is is_item


@pytest.mark.parametrize(
    "text", ["Call 3 plumbers", "Call me at 5", "Ring Marta at 10.30", "Call Marta", "Remind me at 9"]
)
def test_other_numbers_are_not_dialled(text: str) -> None:
    assert dialled_number(text) is None
