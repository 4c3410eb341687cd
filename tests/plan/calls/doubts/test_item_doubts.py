"""Doubts about the item of a call."""

from datetime import datetime

import pytest

from contextune.plan import PlanningInput
from contextune.plan.calls.doubts.items import deletes_something_else, leaves_the_topic
from contextune.tools import bundled_toolbox
from contextune.types import Argument, Item, ItemHit, Plan, Request, Source, Turn, User

TOOLS = {tool.name: tool for tool in bundled_toolbox()}
DELETE = TOOLS["delete_reminder"]
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


JUDO = Item.event(name="Judo", start="2026-03-06T17:00", end="2026-03-06T18:00")
CHOIR = Item.event(name="Choir", start="2026-03-06T20:00", end="2026-03-06T21:00")
SAUNA = Item.event(name="Sauna", start="2026-03-08T20:00", end="2026-03-08T21:00")


@pytest.mark.parametrize(
    ("before", "answer", "text", "event", "is_doubted"),
    [
        ("Anything new?", "No.", "Cancel it", SAUNA, True),
        ("Is the sauna booked?", "Yes.", "Cancel it", SAUNA, False),
        ("What did I plan with Bo?", "Sauna at eight", "Move it to nine", SAUNA, False),
        ("What's on Friday?", "Two events.", "Cancel it", JUDO, True),
        ("What's on Sunday?", "One event.", "Cancel it", SAUNA, False),
        ("Anything new?", "No.", "Cancel the sauna", SAUNA, False),
    ],
)
def test_item_that_the_last_turns_do_not_name_is_not_changed_unasked(
    before: str, answer: str, text: str, event: Item, is_doubted: bool
) -> None:
    history = (Turn("user", before), Turn("assistant", answer))
    request = Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5), history=history)
    inputs = PlanningInput(request, User("ines"), [ItemHit(item, 1.0) for item in (JUDO, CHOIR, SAUNA)])
    cancel = TOOLS["cancel_event"]
    name = Argument(event.title, (Source("item", event.id, "event_name"),), 1.0)
    plan = Plan(cancel.id, {"event_name": name}, 0.9, (), cancel.name)
    assert leaves_the_topic(plan, cancel, inputs) is is_doubted
