"""The shown sentence has the answer of a world, in other words but with the same numbers."""

import pytest

from contextune_lab.worlds.answers import has_answer


@pytest.mark.parametrize(
    ("shown", "wanted"),
    [
        ("Fri 9 Oct, 15:15–16:00, the surgery", "3:15"),
        ("Sat 10 Oct, 07:10, from Heathrow, flight AB422", "Saturday 10 October, 7.10, AB 422"),
        ("She will need all her inhalers and the spacer, please.", "all inhalers and the spacer"),
        ("The deposit is £1,240 a week in November", "£1,240"),
        ("Come at 4 pm, not before.", "4 pm"),
        ("two copies of the photo", "2 copies"),
    ],
)
def test_lenient_match(shown: str, wanted: str) -> None:
    assert has_answer(shown, wanted)


@pytest.mark.parametrize(
    ("shown", "wanted"),
    [
        ("Fri 9 Oct, 15:30, the surgery", "3:15"),
        ("The deposit is £1,420 a week", "£1,240"),
        ("We talked about the weather", "all inhalers and the spacer"),
        ("", "yes"),
    ],
)
def test_other_numbers_and_other_words_do_not_match(shown: str, wanted: str) -> None:
    assert not has_answer(shown, wanted)
