"""Counts with their nouns."""

import pytest

from contextune._internal.plural import pluralize


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 items"),
        (1, "1 item"),
        (2, "2 items"),
        (1200, "1,200 items"),
        (1.0, "1 item"),
        (0.5, "0.5 items"),
    ],
)
def test_pluralize(number: float, text: str) -> None:
    assert pluralize(number, "item") == text
