"""Items that strangers send: long texts, long runs of spaces, times near the end of the calendar."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from contextune.plan.arguments.candidates import value_candidates
from contextune.plan.arguments.leaves import tool_leaves
from contextune.plan.bounded_items import MAX_FIELD, bounded_item, clamp_time
from contextune.plan.planning_input import PlanningInput
from contextune.plan.times.phrases import find_times
from contextune.plan.times.resolve import candidate_times
from contextune.reading.texts import Names
from contextune.tools import bundled_toolbox
from contextune.types import Item, ItemHit, Request, User

NOW = datetime(2024, 5, 16, 17, 40)
REMINDER = next(tool for tool in bundled_toolbox() if tool.name == "create_reminder")
EXTREME = [
    "0001-01-01T00:00:00",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59",
    "9999-12-31T23:59-12:00",
]
TEXTS = [
    "move the Guild meeting an hour later",
    "remind me the day before the Guild meeting",
    "remind me an hour after the Guild meeting",
    "push the Guild meeting by three weeks and two days",
    "move it 99999999 hours later",
    "remind me 9000 years before the Guild meeting",
    "as soon as the Guild meeting is over, the week after",
]


def inputs(text: str, item: Item, time: datetime = NOW) -> PlanningInput:
    user = User("ines", zone=ZoneInfo("Pacific/Auckland"))
    return PlanningInput(Request(text, "ines", time), user, [ItemHit(item, 1.0)])


def event(start: str) -> Item:
    return Item("e", "Calendar", {"event_name": "Guild meeting", "start_time": start, "notes": "by 9 pm"})


def test_ordinary_item_is_unchanged() -> None:
    item = event("2024-05-17T19:00:00")
    assert bounded_item(item) is item
    assert inputs("move it", item).items[0] is item


def test_long_texts_and_runs_are_cut() -> None:
    item = Item("n", "Notes", {"title": "a" + " " * 9_000 + "b", "content": "x" * 90_000, "tags": ["." * 99]})
    fields = bounded_item(item).fields
    assert len(fields["title"]) < 50
    assert len(fields["content"]) == MAX_FIELD
    assert len(fields["tags"][0]) < 99
    assert inputs("show it", item).items[0].fields == fields


@pytest.mark.parametrize("start", EXTREME)
@pytest.mark.parametrize("text", TEXTS)
def test_times_near_the_ends_of_the_calendar_do_not_overflow(text: str, start: str) -> None:
    planning = inputs(text, event(start))
    items = planning.items
    assert candidate_times(find_times(text, planning.now), planning.now, items, planning.user.zone)
    assert value_candidates(planning, tool_leaves(REMINDER), Names(planning.user))


@pytest.mark.parametrize("time", EXTREME)
@pytest.mark.parametrize("text", TEXTS)
def test_requests_near_the_ends_of_the_calendar_do_not_overflow(text: str, time: str) -> None:
    planning = inputs(text, event("2024-05-17T19:00:00"), datetime.fromisoformat(time))
    assert planning.time_phrases is not None
    assert candidate_times(planning.times, planning.now, planning.items, planning.user.zone)


def test_leap_days_are_clamped() -> None:
    assert clamp_time(datetime(9996, 2, 29)) == datetime(8000, 2, 29)
    assert clamp_time(datetime(4, 2, 29)) == datetime(1200, 2, 29)
