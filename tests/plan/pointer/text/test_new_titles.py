"""Titles of new reminders: never an item's that the request does not refer to."""

from dataclasses import replace
from datetime import datetime

import pytest

from contextune.plan import PlanningInput, PointerPlanner
from contextune.plan.calls.doubts.reasons import MAX_PROBABILITY, doubt
from contextune.tools import bundled_toolbox
from contextune.types import Item, ItemHit, Request, User

TOOL = next(tool for tool in bundled_toolbox() if tool.name == "create_reminder")
NOW = datetime(2026, 3, 5, 10, 5)
ITEMS = (
    Item.event(name="Moy – six to do", start="2026-03-05T09:00", end="2026-03-05T13:00"),
    Item.event(name="Clare v Dublin", start="2026-03-14T13:15", end="2026-03-14T15:00"),
)


def inputs_for(text: str) -> PlanningInput:
    hits = [ItemHit(item, 1 - number / 10) for number, item in enumerate(ITEMS)]
    return PlanningInput(Request(text, user="ines", time=NOW), User("ines"), hits)


@pytest.mark.parametrize(
    ("text", "title", "time"),
    [
        ("Set an alarm for six", "Alarm", "2026-03-06T06:00"),
        ("Set an alarm for 6:45 tomorrow", "Alarm", "2026-03-06T06:45"),
        ("Set a timer for ten minutes", "Timer", "2026-03-05T10:15"),
        ("Remind me at 3", "Reminder", "2026-03-05T15:00"),
        ("Wake me at six", "Wake up", "2026-03-06T06:00"),
        ("Remind me 20 minutes before Clare v Dublin", "Clare v Dublin", "2026-03-14T12:55"),
    ],
)
def test_title_is_said_or_plain(text: str, title: str, time: str) -> None:
    plan = PointerPlanner().plan_tool(inputs_for(text), TOOL)
    assert plan is not None
    assert plan.args == {"title": title, "due_time": time}


def test_reminder_of_nothing_is_in_doubt() -> None:
    for text, is_sure in (
        ("Remind me at 3", False),
        ("We lose the cot. Alarm me at ten tomorrow", False),
        ("Set an alarm for six", True),
        ("Remind me at 3 pm to wash that", False),
        ("Remind me at 3 pm to drop it off", False),
        ("Remind me at 3 pm to wash that jersey", True),
    ):
        inputs = inputs_for(text)
        plan = PointerPlanner().plan_tool(inputs, TOOL)
        assert plan is not None
        assert (doubt(replace(plan, confidence=0.95), TOOL, inputs).confidence > MAX_PROBABILITY) is is_sure
