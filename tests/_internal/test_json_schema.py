"""Values are held against what others wrote, and nobody waits for it."""

import json
import sys
from contextlib import suppress
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.paths import MCP_SERVERS

from contextune._internal.json_schema import LONGEST_TEXT, checker, matches
from contextune.embed import Embedder
from contextune.errors import PlanError
from contextune.llm.chat import ChatReply, Draft
from contextune.llm.structured import SchemaCheck, SchemaMismatchError
from contextune.plan import PlanningInput, faults, parameters
from contextune.plan.pointer.planner import PointerPlanner
from contextune.plan.schema import fits
from contextune.serve.mcp.gateway import check_arguments
from contextune.store import SQLiteStore
from contextune.tools.loaders import McpServer, load_mcp
from contextune.tuner import Tuner
from contextune.types import Argument, Contact, Item, Plan, Request, Tool, ToolHit, User

# each of them keeps an engine that goes back busy for longer than anybody lives
EVIL = r"^(a+)+$"
SERVERS = MCP_SERVERS
LONG = "a" * 5000 + "!"
SLOW = [
    (EVIL, LONG),
    (r"(x+x+)+y", "x" * 5000),
    (r"^(\w+\s?)*$", "word " * 1000 + "!"),
    (r"^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 5000),
    (r"^([a-zA-Z0-9])(([\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}[a-z]{2,3}$", "a" * 5000),
    (r"(.*a){12}", "a" * 11 + "b" * 5000),
]
LARGE = [
    r"(?:\w{0,50}){0,50}$",
    r"((a{0,99}){0,99}){0,99}",
    r"a{100}?{100}{100}",
    r"\p{L}{5000}",
    r"[\w[a]]{2000}",
    r"(?x)a{ 1000 }{ 1000 }",
    "a" * 100_000,
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("pattern", "text"), SLOW)
def test_a_pattern_that_is_slow_on_purpose(pattern: str, text: str) -> None:
    assert matches(pattern, text) is False


@pytest.mark.timeout(60)
@pytest.mark.parametrize("pattern", LARGE)
def test_a_pattern_that_is_large_on_purpose_is_not_run(pattern: str) -> None:
    assert matches(pattern, "a" * 1000) is None


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"^\d{4}-\d{2}-\d{2}$", "2024-05-16", True),
        (r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$", "no", False),
        (r"^\w{1,64}$", "über_alles", True),
        (r"b", "abc", True),  # a pattern may stand anywhere, unless it says otherwise
        (r"^\/v\d+\/", "/v2/items", True),
        (r"^[A-Z]{2}\u002d\d+$", "AB-12", True),
        (r"^(?!no)", "no", None),  # looking ahead is for the server to judge
        (r"(.)\1", "ab", None),
        (r"(", "(", None),
        (r"b", "b" * (LONGEST_TEXT + 1), None),
    ],
)
def test_patterns(pattern: str, text: str, found: bool | None) -> None:
    assert matches(pattern, text) is found


SHAPES: list[dict[str, Any]] = [
    {"properties": {"text": {"type": "string", "pattern": EVIL}}},
    {"patternProperties": {EVIL: {"type": "string"}}, "additionalProperties": False},
    {"propertyNames": {"pattern": EVIL}},
    {"patternProperties": {EVIL: True}, "unevaluatedProperties": False},
    {"properties": {"text": {"$schema": Draft202012Validator.META_SCHEMA["$id"], "pattern": EVIL}}},
    {
        "$schema": Draft202012Validator.META_SCHEMA["$id"],
        "anyOf": [{"$ref": "#/$defs/evil"}],
        "$defs": {"evil": {"properties": {"text": {"pattern": EVIL}}}},
    },
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"text": {"allOf": [{"pattern": EVIL}]}},
    },
    {"$schema": "https://json-schema.org/draft/2019-09/schema", "patternProperties": {EVIL: {}}},
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("schema", SHAPES, ids=lambda schema: json.dumps(schema)[:60])
def test_wherever_a_pattern_stands(schema: dict[str, Any]) -> None:
    """By every way there is from a tool of a server that means harm to a value of the user's."""
    given = {"text": LONG, LONG: "x"}
    list(checker(schema).iter_errors(given))
    tool = Tool("send", "Sends a text", "evil", {"type": "object", **schema})
    faults(Plan("send", {"text": Argument(LONG, (), 1.0)}, 1.0, (), tool.id), tool)
    for parameter in parameters(tool):
        fits(LONG, parameter)
    situation = PlanningInput(Request(f"Send {LONG[:2000]}", "ines"), User("ines"))
    PointerPlanner().plan(situation, [ToolHit(tool, 1.0)])
    with suppress(SchemaMismatchError):
        SchemaCheck(schema).fitting(ChatReply((Draft(json.dumps(given)),)), "a model")
    with suppress(PlanError):
        check_arguments(tool, given)


@pytest.mark.timeout(60)
def test_a_server_that_means_harm(store: SQLiteStore, word_embedder: Embedder) -> None:
    """From its list of tools to a plan: what does not match is not sent, and nobody waits."""
    server = McpServer("plain", command=sys.executable, args=(str(SERVERS / "plain.py"), "evil"))
    (tool,) = load_mcp(server).tools
    assert tool.parameters["properties"]["text"]["pattern"] == EVIL
    store.put_user(User("ines", contacts=(Contact("Rui", phone="a" * 40 + "!"),)))
    fields = {"title": "Rui", "content": "a" * 40 + "! " + "a" * 60, "modified": "2024-05-13T09:00"}
    store.put_items("ines", [Item("n1", "Notes", fields)])
    tuner = Tuner(store, embedder=word_embedder, tools=[tool])
    plan = tuner.answer(Request(f"Send “{'a' * 40}!” to Rui", "ines")).plan
    assert plan is None or all("!" not in str(value) for value in plan.args.values())


def test_schemas_are_held_to_as_before() -> None:
    schema = {
        "type": "object",
        "properties": {"pattern": {"type": "string", "pattern": "^[a-z]+$"}, "$schema": {"type": "string"}},
        "patternProperties": {"^x-": {"type": "integer"}},
        "additionalProperties": False,
    }

    def wrong(**given: Any) -> list[str]:
        return [error.message for error in checker(schema).iter_errors(given)]

    assert wrong(pattern="abc", **{"x-size": 3, "$schema": "any"}) == []
    assert wrong(pattern="ABC") == ["'ABC' does not match '^[a-z]+$'"]
    assert wrong(**{"x-size": "three"}) == ["'three' is not of type 'integer'"]
    assert wrong(y=1) == ["Additional properties are not allowed ('y' was unexpected)"]
    assert wrong(**{"$schema": 1}) == ["1 is not of type 'string'"]
    whole: dict[str, Any] = {"properties": {"a": {}}, "unevaluatedProperties": False}
    assert [error.validator for error in checker(whole).iter_errors({"b": 1})] == ["unevaluatedProperties"]


def test_nothing_is_fetched() -> None:
    with pytest.raises(Exception, match=r"[Uu]nresolvable"):
        checker({"$ref": "http://127.0.0.1:9/schema"}).is_valid({})
