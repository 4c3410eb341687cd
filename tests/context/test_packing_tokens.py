"""The estimate of tokens: rather too high than too low."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextune.context.packing import estimate_tokens


@pytest.mark.parametrize(
    ("text", "real"),  # by the tokenizer of SmolLM2
    [
        ("", 0),
        ("<item 1>\nemail: Kiln slots 2024-05-16 19:00\n</item>\n", 33),
        ("今日の会議は午後三時に始まります", 30),
        ("Встреча в четверг в семь вечера на студии", 28),
        ("प्रयोगशाला में बैठक", 25),
        ("ประชุมวันพฤหัสบดี", 33),
        ("🎉🎉 party 🥳", 10),
        ("Oisín Leyden Nwosu Sjölund Quốc Gonçalves", 23),
    ],
)
def test_not_below_a_real_tokenizer(text: str, real: int) -> None:
    assert real <= estimate_tokens(text) <= 3 * real


@given(st.text(), st.text())
def test_a_part_is_never_more_than_the_whole(one: str, other: str) -> None:
    assert max(map(estimate_tokens, (one, other))) <= estimate_tokens(one + other)


def test_half_a_character() -> None:
    assert estimate_tokens("caf\udce9") == 4
