"""Items that a request hardly needs are left out."""

from contextune import Item
from contextune.context import LEAST_NEEDED, needed_items
from contextune.types import ItemHit

NOTE = Item.note(title="Packing list", modified="2026-09-01")


def test_improbable_items_are_left_out_and_unknown_ones_kept() -> None:
    likely, unlikely, unknown = (
        ItemHit(NOTE, 1.0, (), probability) for probability in (LEAST_NEEDED, LEAST_NEEDED / 2, None)
    )
    assert needed_items([likely, unlikely, unknown]) == [likely, unknown]


def test_the_least_probability_can_be_chosen() -> None:
    assert needed_items([ItemHit(NOTE, 1.0, (), 0.4)], 0.5) == []
