"""Orders that a request consists of."""

from datetime import datetime

import pytest

from contextune.plan import PlanningInput, PointerPlanner
from contextune.plan.pointer.clauses import clauses, crosses_clauses
from contextune.tools import bundled_toolbox
from contextune.types import Contact, Item, ItemHit, Request, User

TOOLS = {tool.name: tool for tool in bundled_toolbox()}
USER = User("ines", {}, contacts=(Contact("Marta Reis", "marta@example.org", "555-0150", "sister"),))
SONG = Item("s1", "Music", {"song_name": "Wait and play the fool", "artist": "Ana"})


def inputs_for(text: str) -> PlanningInput:
    request = Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5))
    return PlanningInput(request, USER, [ItemHit(SONG, 1.0)])


@pytest.mark.parametrize(
    ("text", "orders"),
    [
        ("Play Hello and turn the lights off", ["Play Hello", "turn the lights off"]),
        ("Call Marta, then order a pizza.", ["Call Marta", "order a pizza."]),
        ("Play Me and Bobby McGee", ["Play Me and Bobby McGee"]),
        ("Play wait and play the fool", ["Play wait and play the fool"]),
        ("Remind me to eat and call Marta", ["Remind me to eat and call Marta"]),
    ],
)
def test_orders_of_a_request(text: str, orders: list[str]) -> None:
    assert clauses(inputs_for(text)) == orders


def test_range_in_two_orders_crosses_them() -> None:
    inputs = inputs_for("Play Hello and turn the lights off")
    assert crosses_clauses(5, 20, inputs)
    assert not crosses_clauses(5, 10, inputs)


@pytest.mark.parametrize(
    ("text", "tool", "args"),
    [
        (
            "Play Hello by Adele and turn the lights off",
            "play_song",
            {"song_name": "Hello", "artist": "Adele"},
        ),
        (
            "Turn the lights off and play Hello by Adele",
            "play_song",
            {"song_name": "Hello", "artist": "Adele"},
        ),
        (
            "Tell Marta I'm late and turn the lights off",
            "send_email",
            {"recipient": "marta@example.org", "body": "I'm late."},
        ),
    ],
)
def test_values_end_with_their_order(text: str, tool: str, args: dict[str, str]) -> None:
    plan = PointerPlanner().plan_tool(inputs_for(text), TOOLS[tool])
    assert plan is not None
    assert plan.args == args
