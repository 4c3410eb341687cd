"""Misspelt words of a request."""

from datetime import datetime

import pytest

from contextune.plan import PlanningInput, PointerPlanner
from contextune.plan.pointer.items.references import added_to
from contextune.plan.pointer.spelling import is_one_edit, respelled
from contextune.tools import bundled_toolbox
from contextune.types import Item, ItemHit, Request, User

TOOLS = {tool.name: tool for tool in bundled_toolbox()}
SHOPPING = Item.note(title="Shopping list", content="- bread", modified="2026-03-01T10:00")
ORCHIDS = Item.reminder(title="Water the orchids", due="2026-03-06T08:00", created="2026-03-01T19:00")
SUNSCREEN = Item.reminder(title="Buy sunscreen", due="2026-03-07T08:00", created="2026-03-01T19:00")


@pytest.mark.parametrize("word", ["shoping", "shoppping", "shoppinf", "hsopping", "shoppign", "shoppin"])
def test_one_edit(word: str) -> None:
    assert is_one_edit(word, "shopping")
    assert is_one_edit("shopping", word)


@pytest.mark.parametrize("word", ["shopping", "shoppin1s", "sopin", "chipping"])
def test_no_or_more_edits(word: str) -> None:
    assert not is_one_edit(word, "shopping")


def test_short_and_ambiguous_words_stay() -> None:
    assert respelled("mil", ["milk", "mile"]) == "mil"
    assert respelled("batch", ["match", "patch"]) == "batch"


def test_misspelt_note_is_added_to() -> None:
    target = added_to(inputs_for("Put eggs on the shoping list", SHOPPING))
    assert target is not None
    assert target.name == "Shopping list"
    assert added_to(inputs_for("Put eggs on the chipping list", SHOPPING)) is None


def test_misspelt_title_is_the_one_that_is_meant() -> None:
    inputs = inputs_for("Delete the reminder about the sunscren", ORCHIDS, SUNSCREEN)
    plan = PointerPlanner().plan_tool(inputs, TOOLS["delete_reminder"])
    assert plan is not None
    assert plan.args == {"title": "Buy sunscreen"}


def inputs_for(text: str, *items: Item) -> PlanningInput:
    request = Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5))
    hits = [ItemHit(item, 1.0 - number / 10) for number, item in enumerate(items)]
    return PlanningInput(request, User("ines"), hits)
