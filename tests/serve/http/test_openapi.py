"""The OpenAPI document has examples for every route; they are valid, and the service answers them so."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator
from tests.serve.conftest import LiveService

from contextune.serve.http import openapi_examples
from contextune.serve.http.openapi_examples import load_examples

WRITE = "CONTEXTUNE_WRITE_EXAMPLES" in os.environ
FILE = Path(openapi_examples.__file__).with_suffix(".json")


@pytest.fixture(scope="module")
def document(service: LiveService) -> dict[str, Any]:
    with service.anonymous_client() as client:
        return client.get("/openapi.json").json()


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def examples_of(content: dict[str, Any]) -> list[Any]:
    return [example["value"] for part in content.values() for example in part.get("examples", {}).values()]


def test_every_route_has_examples(document: dict[str, Any]) -> None:
    routes = dict(operations(document))
    assert len(routes) >= 15
    for name, operation in routes.items():
        if "requestBody" in operation:
            assert examples_of(operation["requestBody"]["content"]), name
        for parameter in operation.get("parameters", ()):
            assert "example" in parameter, (name, parameter["name"])
        for status, response in operation["responses"].items():
            if status == "200":
                assert examples_of(response["content"]), name


def test_examples_are_valid(document: dict[str, Any]) -> None:
    for name, operation in operations(document):
        contents = [response.get("content", {}) for response in operation["responses"].values()]
        for content in [operation.get("requestBody", {}).get("content", {}), *contents]:
            for part in content.values():
                schema = {**part.get("schema", {}), "components": document["components"]}
                for example in part.get("examples", {}).values():
                    assert faults(schema, example["value"]) == [], name


def test_service_answers_the_examples(service: LiveService, document: dict[str, Any]) -> None:
    examples = [cast("dict[str, Any]", dict(example)) for example in load_examples()]
    with service.client("example") as client:
        for example in examples:
            name = f"{example['method']} {example['path']}"
            reply = client.request(
                example["method"], example["path"], json=example["request"], params=example["params"]
            )
            assert reply.status_code == example["status"], (name, reply.text)
            body = read(reply.text) if reply.content else None
            if WRITE:
                example["response"] = body
            else:
                assert type(body) is type(example["response"]), name
            if isinstance(body, dict):
                operation = document["paths"][example["path"]][example["method"].lower()]
                schema = operation["responses"][str(example["status"])]["content"]["application/json"][
                    "schema"
                ]
                assert faults({**schema, "components": document["components"]}, body) == [], name
    if WRITE:
        FILE.write_text(json.dumps(examples, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def faults(schema: dict[str, Any], value: Any) -> list[str]:
    return [error.message for error in cast("Any", Draft202012Validator)(schema).iter_errors(value)]


def read(text: str) -> Any:
    """JSON, or the first lines of the metrics."""
    return json.loads(text) if text.startswith("{") else "\n".join(text.splitlines()[:3]) + "\n"
