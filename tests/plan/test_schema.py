"""Reading parameters from JSON Schemas, and checking plans."""

import socket
from typing import Any

import pytest

from contextune.errors import PlanError
from contextune.plan.schema import check_plan, is_valid, plan_errors, tool_parameters
from contextune.tools import bundled_toolbox
from contextune.types import Argument, Missing, Plan, Tool

TOOLS = {tool.name: tool for tool in bundled_toolbox()}


def plan(api: str, missing: tuple[Missing, ...] = (), **args: Any) -> Plan:
    return Plan(api, {name: Argument(value) for name, value in args.items()}, missing=missing)


def kinds(**properties: Any) -> dict[str, str]:
    tool = Tool(
        "t", "d", parameters={"type": "object", "properties": properties, "$defs": {"P": {"enum": ["a"]}}}
    )
    return {parameter.name: parameter.kind for parameter in tool_parameters(tool)}


def test_bundled_tools_have_typed_parameters() -> None:
    found = {parameter.name: parameter for parameter in tool_parameters(TOOLS["create_event"])}
    assert {name: (one.kind, one.required) for name, one in found.items()} == {
        "event_name": ("free", True),
        "start_time": ("moment", True),
        "location": ("text", False),
        "participants": ("list", False),
    }
    assert found["event_name"].label == "event name"


def test_kinds_of_other_catalogues() -> None:
    text = {"type": "string"}
    assert kinds(
        body=text,
        subject=text,
        dueDate=text,
        start_time=text,
        mode={"enum": ["a", "b"]},
        n={"type": "integer"},
    ) == {
        "body": "free",
        "subject": "text",
        "dueDate": "day",
        "start_time": "moment",
        "mode": "choice",
        "n": "integer",
    }
    assert kinds(x={"anyOf": [{"type": "null"}, {"type": "number"}]}, y={"$ref": "#/$defs/P"}) == {
        "x": "number",
        "y": "choice",
    }
    assert kinds(x={"type": ["null", "boolean"]}, y={"type": "object"}, z={"$ref": "#/nowhere"}) == {
        "x": "boolean",
        "y": "other",
        "z": "other",
    }


def test_valid_plan_passes() -> None:
    fine = plan("create_event", event_name="Glaze", start_time="2024-05-17T18:00", participants=["Rui"])
    assert check_plan(fine, TOOLS["create_event"]) is fine


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (plan("read_note", title="x"), "calls 'read_note'"),
        (plan("create_event", event_name="x"), '"start_time" is a required'),
        (plan("create_event", event_name="x", start_time="at six"), 'is not a "date-time"'),
        (plan("create_event", event_name="x", start_time="2024-05-17"), 'is not a "date-time"'),
        (
            plan("create_event", event_name="x", start_time="2024-05-17T18:00", participants="Rui"),
            "not of type",
        ),
        (plan("create_event", event_name="x", start_time="2024-05-17T18:00", colour="red"), "no argument"),
    ],
)
def test_invalid_plan_is_refused_with_the_reason(given: Plan, fault: str) -> None:
    with pytest.raises(PlanError, match=fault):
        check_plan(given, TOOLS["create_event"])


def test_missing_argument_is_no_error() -> None:
    asked = (Missing("start_time", "When does it start?"),)
    assert plan_errors(plan("create_event", asked, event_name="x"), TOOLS["create_event"]) == []
    assert plan_errors(plan("create_event", asked), TOOLS["create_event"]) == [
        '"event_name" is a required property'
    ]
    both = plan("create_event", asked, event_name="x", start_time="2024-05-17T18:00")
    assert plan_errors(both, TOOLS["create_event"]) == ["'start_time' is both missing and given"]


def test_single_value_is_checked() -> None:
    when = tool_parameters(TOOLS["list_events"])[0]
    assert is_valid("2024-05-17", when)
    assert not is_valid("2024-05-32", when)
    assert not is_valid(17, when)


def test_remote_reference_is_not_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        nobody.setblocking(False)
        away = {"$ref": f"http://127.0.0.1:{nobody.getsockname()[1]}/schema.json"}
        properties = {"one": away, "several": {"type": "array", "items": away}}
        tool = Tool("t", "d", parameters={"type": "object", "properties": properties})
        assert not any(is_valid(value, one) for one in tool_parameters(tool) for value in ("x", ["x"]))
        with pytest.raises(PlanError, match="the parameter schema of 't' is invalid"):
            check_plan(plan("t", one="x"), tool)
        with pytest.raises(BlockingIOError):
            nobody.accept()
