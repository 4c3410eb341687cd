"""Examples of requests and responses for every route of the OpenAPI document.

They are one session of a user, in order, in `openapi_examples.json`. A test sends the requests to a service,
checks the responses, and writes them anew if the environment variable `CONTEXTUNE_WRITE_EXAMPLES` is set.
"""

import json
from functools import cache
from importlib.resources import files
from typing import Any

from typing_extensions import TypedDict


class RouteExample(TypedDict):
    """An example of one route; `request` and `response` are null where there is no body."""

    summary: str
    method: str
    path: str
    params: dict[str, Any]
    request: Any
    status: int
    response: Any


@cache
def load_examples() -> tuple[RouteExample, ...]:
    """The examples in the order in which they can be sent."""
    return tuple(
        json.loads(files("contextune.serve.http").joinpath("openapi_examples.json").read_text("utf-8"))
    )


def add_examples(document: dict[str, Any]) -> dict[str, Any]:
    """Add the examples to an OpenAPI document, in place."""
    for example in load_examples():
        operation = document["paths"].get(example["path"], {}).get(example["method"].lower())
        if operation is None:
            continue
        if example["request"] is not None:
            _add(operation["requestBody"]["content"], "application/json", example, "request")
        for parameter in operation.get("parameters", ()):
            if parameter["name"] in example["params"]:
                parameter["example"] = example["params"][parameter["name"]]
        if example["response"] is not None:
            content = operation["responses"][str(example["status"])].setdefault("content", {})
            kind = "text/plain" if isinstance(example["response"], str) else "application/json"
            _add(content, kind, example, "response")
    return document


def _add(content: dict[str, Any], kind: str, example: RouteExample, part: str) -> None:
    named = content.setdefault(kind, {}).setdefault("examples", {})
    named[f"example{len(named) + 1}"] = {"summary": example["summary"], "value": example[part]}
