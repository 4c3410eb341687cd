"""Items behind the context that a request names."""

from datetime import datetime

import pytest

from contextune.plan import PlanningInput
from contextune.plan.pointer.items.named_hits import with_named_hits
from contextune.types import ContextHits, Item, ItemHit, Request, User

READ = [Item.event(name=f"Shift {number}", start=f"2026-03-1{number}T09:00") for number in range(8)]
BOILER = Item.event(name="Boiler MOT", start="2026-03-20T09:00")
LIST = Item.note(title="Packing list", content="Boots.", modified="2026-03-01T09:00")
LATER = [Item.event(name="Boiler MOT", start="2026-05-20T09:00"), BOILER, LIST]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Move the MOT to Friday at nine", [LATER[0]]),
        ("what do I need to pack for Sunday", [LIST]),
        ("Pin the packing note", [LIST]),
        ("Cancel the shift", []),
        ("Tell Ana about the MOT", []),
    ],
)
def test_item_with_more_said_words_in_its_title_is_read_too(text: str, named: list[Item]) -> None:
    context = ContextHits([ItemHit(item, 1.0) for item in READ])
    context.further = [ItemHit(item, 0.1) for item in LATER]
    request = Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5))
    inputs = with_named_hits(PlanningInput(request, User("ines"), context), context)
    assert inputs.items == [*READ, *named]
    assert set(inputs.relative_scores) == {1.0}
