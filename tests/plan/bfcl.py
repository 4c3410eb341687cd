"""The single-turn data of BFCL, as tools and expected calls."""

import json
from collections.abc import Iterator
from typing import Any, cast

from tests.paths import SHARED_DATA

from contextune.plan.judge import ExpectedCall
from contextune.types import Tool

FOLDER = SHARED_DATA / "bfcl"
_TYPES: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "float": {"type": "number"},
    "boolean": {"type": "boolean"},
    "array": {"type": "array"},
    "tuple": {"type": "array"},
    "dict": {"type": "object"},
    "any": {},
}


def tools() -> dict[str, Tool]:
    found: dict[str, Tool] = {}
    for line in (FOLDER / "tools.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        properties = {
            p["name"]: {**_TYPES[p["type"]], "description": p["description"]} for p in row["parameters"]
        }
        required = [p["name"] for p in row["parameters"] if p["required"]]
        schema = {"type": "object", "properties": properties, "required": required}
        found[row["id"]] = Tool(row["name"], row["description"], parameters=schema)
    return found


def right_calls() -> Iterator[tuple[dict[str, Tool], list[ExpectedCall]]]:
    """For every request the tools it may call, by name, and the right calls."""
    known = tools()
    for line in (FOLDER / "queries.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        # of two tools of one name, the one that is meant stays
        mine = {known[name].name: known[name] for name in (*row["candidates"], *row["relevant"])}
        yield mine, [ExpectedCall(api, args) for call in row["possible_answer"] for api, args in call.items()]


def first(allowed: Any) -> Any:
    """One right value out of those there are; inside objects each field has its own."""
    if isinstance(allowed, dict):
        fields = cast("dict[str, Any]", allowed)
        picked = {name: pick(several) for name, several in fields.items()}
        return {name: value for name, value in picked.items() if value != ""}
    if isinstance(allowed, list):
        return [first(part) for part in cast("list[Any]", allowed)]
    return allowed


def pick(several: Any) -> Any:
    """The first value that is not "may be left out"."""
    if not isinstance(several, list):
        return first(several)
    values = cast("list[Any]", several)
    return first(next((value for value in values if value != ""), ""))
