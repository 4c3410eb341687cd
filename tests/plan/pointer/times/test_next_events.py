"""Questions for what comes next in the calendar."""

from datetime import datetime

import pytest

from contextune.plan import PlanningInput, PointerPlanner
from contextune.plan.calls.orders.said_tools import is_said_tool
from contextune.tools import bundled_toolbox
from contextune.types import Item, ItemHit, Request, Turn, User

TOOLS = {tool.name: tool for tool in bundled_toolbox()}
NOW = datetime(2026, 3, 5, 10, 5)
PAST = Item.event(name="Judo", start="2026-03-05T08:00", end="2026-03-05T09:00")
LATER = Item.event(name="Kiln slot", start="2026-03-09T15:00", end="2026-03-09T16:00")
SOON = Item.event(name="Swim", start="2026-03-06T15:00", end="2026-03-06T16:00")


def inputs_for(text: str, *items: Item, before: str = "") -> PlanningInput:
    history = (Turn("user", before), Turn("assistant", "Done.")) if before else ()
    request = Request(text, user="ines", time=NOW, history=history)
    return PlanningInput(request, User("ines"), [ItemHit(item, 1.0) for item in items])


@pytest.mark.parametrize("text", ["What's next?", "so what is up next", "What do I have next in my diary?"])
def test_events_of_the_next_day_with_one_are_listed(text: str) -> None:
    inputs = inputs_for(text, PAST, LATER, SOON)
    assert is_said_tool(TOOLS["list_events"], inputs)
    plan = PointerPlanner().plan_tool(inputs, TOOLS["list_events"])
    assert plan is not None
    assert plan.args == {"date": "2026-03-06"}


def test_without_events_ahead_those_of_today_are_listed() -> None:
    plan = PointerPlanner().plan_tool(inputs_for("What's next?", PAST), TOOLS["list_events"])
    assert plan is not None
    assert plan.args == {"date": "2026-03-05"}


@pytest.mark.parametrize(
    ("text", "before"),
    [("What's next?", "Play some Coltrane"), ("What's the next song?", ""), ("What's next on my list?", "")],
)
def test_next_song_or_task_is_no_event(text: str, before: str) -> None:
    assert not is_said_tool(TOOLS["list_events"], inputs_for(text, SOON, before=before))
