"""Reminders relative to an event that the request names."""

from dataclasses import replace
from datetime import datetime

import pytest

from contextune.plan import PlanningInput, PointerPlanner
from contextune.plan.calls.doubts.reasons import MAX_PROBABILITY, doubt
from contextune.plan.pointer.times.event_times import event_time
from contextune.tools import bundled_toolbox
from contextune.types import Item, ItemHit, Request, User

TOOLS = {tool.name: tool for tool in bundled_toolbox()}
NOW = datetime(2026, 3, 5, 10, 5)
KNEE = Item.event(name="Knee 3/6", start="2026-03-05T19:15", end="2026-03-05T20:00")
MATCH = Item.event(name="Clare v Dublin", start="2026-03-14T13:15", end="2026-03-14T15:00")
SURGERY = Item.event(name="Mamá cataract, left", start="2026-03-10T08:15", end="2026-03-10T12:00")
DROPS = Item.reminder(title="mamá drops", due="2026-03-09T09:00", created="2026-03-01T09:00")


def inputs_for(text: str) -> PlanningInput:
    hits = [ItemHit(item, 1 - number / 10) for number, item in enumerate((DROPS, KNEE, MATCH, SURGERY))]
    return PlanningInput(Request(text, user="ines", time=NOW), User("ines"), hits)


@pytest.mark.parametrize(
    ("text", "title", "time"),
    [
        ("Remind me after the knee appointment to buy tape", "Buy tape", "2026-03-05T20:00"),
        ("Remind me to buy tape after the knee appointment", "Buy tape", "2026-03-05T20:00"),
        ("Remind me as soon as the Clare match is over to ring Dad", "Ring Dad", "2026-03-14T15:00"),
        ("Remind me to ring Dad once the Clare match is over", "Ring Dad", "2026-03-14T15:00"),
        ("Remind me half an hour before Clare v Dublin to pack", "Pack", "2026-03-14T12:45"),
        ("Remind me two days before mamá's cataract to pack", "Pack", "2026-03-08T08:15"),
        ("Remind me the evening before mamá's cataract to pack", "Pack", "2026-03-09T19:00"),
        ("Remind me the day before the Clare match to pack", "Pack", "2026-03-13T13:15"),
    ],
)
def test_time_relative_to_a_named_event(text: str, title: str, time: str) -> None:
    plan = PointerPlanner().plan_tool(inputs_for(text), TOOLS["create_reminder"])
    assert plan is not None
    assert plan.args == {"title": title, "due_time": time}


@pytest.mark.parametrize(
    ("text", "is_said"),
    [
        ("Remind me an hour before the Clare match to pack", True),
        ("Remind me after the Clare match to ring Dad", True),
        ("Remind me the evening before the Clare match to pack", False),
        ("Remind me before the Clare match to pack", False),
    ],
)
def test_guessed_hour_is_in_doubt(text: str, is_said: bool) -> None:
    inputs, tool = inputs_for(text), TOOLS["create_reminder"]
    event = event_time(inputs)
    assert event is not None
    assert event.is_said is is_said
    plan = PointerPlanner().plan_tool(inputs, tool)
    assert plan is not None
    doubted = doubt(replace(plan, confidence=0.95), tool, inputs)
    assert (doubted.confidence > MAX_PROBABILITY) is is_said


@pytest.mark.parametrize(
    "text",
    [
        "Remind me after the dentist to buy tape",  # no such event
        "Remind me when I get home to feed the dog",
        "Remind me after lunch to walk the dog",
        "Remind me the day before the Clare match at eight to pack",  # says the hour itself
        "Move the knee appointment after the Clare match",
    ],
)
def test_no_event_time(text: str) -> None:
    assert event_time(inputs_for(text)) is None
