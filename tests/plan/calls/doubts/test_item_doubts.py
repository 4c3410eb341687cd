"""Doubts about the item of a call."""

from datetime import datetime

import pytest

from contextune.plan import PlanningInput
from contextune.plan.calls.doubts.items import deletes_something_else
from contextune.tools import bundled_toolbox
from contextune.types import Argument, Item, ItemHit, Plan, Request, Source, User

DELETE = next(tool for tool in bundled_toolbox() if tool.name == "delete_reminder")
ORCHIDS = Item.reminder(title="Water the orchids", due="2026-03-06T08:00", created="2026-03-01T19:00")


@pytest.mark.parametrize(
    ("text", "is_doubted"),
    [
        ("Delete the reminder about the sunscreen", True),
        ("Delete the reminder to buy sunscreen", True),
        ("Delete the reminder about the orchids", False),
        ("Delete the reminder about the orchds", False),
        ("Delete the reminder for tomorrow", False),
        ("Delete that reminder", False),
    ],
)
def test_item_without_a_word_of_its_topic_is_not_deleted_unasked(text: str, is_doubted: bool) -> None:
    request = Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5))
    inputs = PlanningInput(request, User("ines"), [ItemHit(ORCHIDS, 1.0)])
    title = Argument(ORCHIDS.title, (Source("item", ORCHIDS.id, "title"),), 1.0)
    plan = Plan(DELETE.id, {"title": title}, 0.9, (), DELETE.name)
    assert deletes_something_else(plan, DELETE, inputs) is is_doubted
