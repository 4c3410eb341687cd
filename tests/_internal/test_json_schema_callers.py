"""No code path from a server's schema to a user's value can be stalled by that schema."""

import json
import sys
from contextlib import suppress
from typing import Any

import pytest
from tests.paths import MCP_SERVERS

from contextune._internal.json_schema import CompiledSchema
from contextune.embed import Embedder
from contextune.errors import InvalidDataError, PlanError
from contextune.llm.chat import ChatReply, Draft
from contextune.llm.structured import SchemaCheck, SchemaMismatchError
from contextune.plan import PlanningInput, tool_parameters
from contextune.plan.reading_planner import ReadingPlanner
from contextune.plan.schema import is_valid, plan_errors
from contextune.serve.mcp.upstream_tools import check_arguments
from contextune.store import SQLiteStore
from contextune.tools.loaders import McpServer, load_mcp
from contextune.tuner import Tuner
from contextune.types import Argument, Contact, Item, Plan, Request, Tool, ToolHit, User

DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"
BACKTRACKING = r"^(a+)+$"
LONG = "a" * 5000 + "!"
SCHEMAS_WITH_PATTERN: list[dict[str, Any]] = [
    {"properties": {"text": {"type": "string", "pattern": BACKTRACKING}}},
    {"patternProperties": {BACKTRACKING: {"type": "string"}}, "additionalProperties": False},
    {"propertyNames": {"pattern": BACKTRACKING}},
    {"patternProperties": {BACKTRACKING: True}, "unevaluatedProperties": False},
    {"properties": {"text": {"$schema": DRAFT_2020, "pattern": BACKTRACKING}}},
    {
        "$schema": DRAFT_2020,
        "anyOf": [{"$ref": "#/$defs/evil"}],
        "$defs": {"evil": {"properties": {"text": {"pattern": BACKTRACKING}}}},
    },
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"text": {"allOf": [{"pattern": BACKTRACKING}]}},
    },
    {"$schema": "https://json-schema.org/draft/2019-09/schema", "patternProperties": {BACKTRACKING: {}}},
]


def check_everywhere(schema: dict[str, Any]) -> None:
    """Run each caller that checks a user's value by a server's schema."""
    value = {"text": LONG, LONG: "x"}
    with suppress(InvalidDataError):
        CompiledSchema(schema).violations(value)
    tool = Tool("send", "Sends a text", "evil", {"type": "object", **schema})
    plan_errors(Plan(tool.id, {"text": Argument(LONG, (), 1.0)}, name="send"), tool)
    for parameter in tool_parameters(tool):
        is_valid(LONG, parameter)
    planning_input = PlanningInput(Request(f"Send {LONG[:2000]}", "ines"), User("ines"))
    ReadingPlanner().plan(planning_input, [ToolHit(tool, 1.0)])
    with suppress(SchemaMismatchError):
        SchemaCheck(schema).filter_drafts(ChatReply((Draft(json.dumps(value)),)), "a model")
    with suppress(PlanError):
        check_arguments(tool, value)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("schema", SCHEMAS_WITH_PATTERN, ids=lambda schema: json.dumps(schema)[:60])
def test_no_caller_backtracks(schema: dict[str, Any]) -> None:
    check_everywhere(schema)


@pytest.mark.timeout(60)
def test_malicious_server_cannot_stall_planning(store: SQLiteStore, word_embedder: Embedder) -> None:
    server = McpServer("plain", command=sys.executable, args=(str(MCP_SERVERS / "plain.py"), "evil"))
    (tool,) = load_mcp(server).tools
    assert tool.parameters["properties"]["text"]["pattern"] == BACKTRACKING
    store.put_user(User("ines", contacts=(Contact("Rui", phone="a" * 40 + "!"),)))
    fields = {"title": "Rui", "content": "a" * 40 + "! " + "a" * 60, "modified": "2024-05-13T09:00"}
    store.put_items("ines", [Item("n1", "Notes", fields)])
    tuner = Tuner(store, embedder=word_embedder, tools=[tool])
    plan = tuner.answer(Request(f"Send “{'a' * 40}!” to Rui", "ines")).plan
    assert plan is None or all("!" not in str(value) for value in plan.args.values())


@pytest.mark.timeout(60)
def test_no_caller_runs_exponential_references() -> None:
    definitions: dict[str, Any] = {"a40": {"type": "object"}}
    for level in range(40):
        definitions[f"a{level}"] = {"allOf": [{"$ref": f"#/$defs/a{level + 1}"}] * 2}
    doubling = {"$defs": definitions, "$ref": "#/$defs/a0"}
    tool = Tool("send", "Sends a text", "evil", {"type": "object", **doubling})
    plan = Plan(tool.id, {"text": Argument("hi", (), 1.0)}, name="send")
    assert any("takes too long to check" in error for error in plan_errors(plan, tool))
    with pytest.raises(PlanError, match="'evil/send' was not called: the schema takes too long to check"):
        check_arguments(tool, {"text": "hi"})
