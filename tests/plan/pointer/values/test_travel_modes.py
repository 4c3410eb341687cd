"""Means of travel that a request says, and the values that a tool takes for them."""

from datetime import datetime
from typing import Any

import pytest

from contextune.plan import PlanningInput, PointerPlanner
from contextune.tools import bundled_toolbox
from contextune.types import Request, Tool, User

DIRECTIONS = next(tool for tool in bundled_toolbox() if tool.name == "get_directions")


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("How do I get to Café Turri on foot?", "walking"),
        ("Walk me to Café Turri", "walking"),
        ("Directions to Punta Nariga by bus", "transit"),
        ("How do I get to Lugo by public transport?", "transit"),
        ("Navigate to Lugo by bike", "cycling"),
        ("Drive me to Lugo", "driving"),
        ("Directions to Lugo by car, please", "driving"),
    ],
)
def test_said_means_of_travel_is_the_mode(text: str, mode: str) -> None:
    assert plan_args(text, DIRECTIONS)["mode"] == mode


def test_place_does_not_include_the_means_of_travel() -> None:
    assert plan_args("How do I get to Punta Nariga by tram?", DIRECTIONS)["destination"] == "Punta Nariga"


@pytest.mark.parametrize("text", ["Directions to the bus station", "Directions to Lugo"])
def test_no_mode_where_none_is_said(text: str) -> None:
    assert "mode" not in plan_args(text, DIRECTIONS)


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("Directions to Lugo by train", "TRAIN"),
        ("Directions to Lugo on foot", "WALK"),
        ("Directions to Lugo by tram", None),
        ("Directions to Lugo by bike", None),
    ],
)
def test_mode_is_one_that_the_schema_allows(text: str, mode: str | None) -> None:
    tool = Tool(
        "get_directions",
        "Gives the route to a destination",
        parameters={
            "type": "object",
            "properties": {
                "destination": {"type": "string"},
                "travel_mode": {"type": "string", "enum": ["WALK", "TRAIN", "BUS", "CAR"]},
            },
            "required": ["destination"],
        },
    )
    value = plan_args(text, tool).get("travel_mode")
    assert value == mode if mode else value in (None, "WALK", "TRAIN", "BUS", "CAR")


def plan_args(text: str, tool: Tool) -> dict[str, Any]:
    request = Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5))
    plan = PointerPlanner().plan_tool(PlanningInput(request, User("ines")), tool)
    assert plan is not None
    return dict(plan.args)
