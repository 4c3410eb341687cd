"""Numbers that a request says to dial."""

import pytest

from contextune.plan.pointer.values.dialled_numbers import dialled_number, said_numbers


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
    "text", ["Call 3 plumbers", "Call me at 5", "Ring Marta at 10.30", "Call Marta", "Remind me at 9"]
)
def test_other_numbers_are_not_dialled(text: str) -> None:
    assert dialled_number(text) is None
