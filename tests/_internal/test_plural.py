"""Numbers in sentences."""

import pytest

from contextune._internal.plural import pluralize


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, "0 items"),
        (1, "1 item"),
        (2, "2 items"),
        (1200, "1,200 items"),
        (1.0, "1 item"),
        (0.5, "0.5 items"),
    ],
)
def test_one_and_several(number: float, said: str) -> None:
    assert pluralize(number, "item") == said
