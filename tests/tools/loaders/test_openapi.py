"""OpenAPI documents: one tool per operation, with references inlined."""

import json
from pathlib import Path
from typing import Any

import pytest

from contextune.errors import InvalidDataError
from contextune.tools import LoadedTools
from contextune.tools.loaders import load_openapi, load_tools
from contextune.types import Annotations, Tool

PETS = """
openapi: 3.0.3
info:
  title: Pet shop
  description: |
    Sells pets, e.g. Dogs. Opens at nine.
  version: 1.0.0
paths:
  /pets/{petId}:
    parameters:
      - {name: petId, in: path, schema: {type: integer}, description: Which pet.}
      - {name: trace, in: header, schema: {type: string}}
    get:
      operationId: showPet
      tags: [pets, other]
      summary: Show a pet.
      description: Tells all that is known of it.
      parameters:
        - {name: trace, in: header, required: true, schema: {type: boolean}}
        - {name: Authorization, in: header, required: true, schema: {type: string}}
        - {name: session, in: cookie, required: true, schema: {type: string}}
        - $ref: '#/components/parameters/since'
    delete:
      summary: Sell a pet
    put:
      operationId: changePet
      description: Changes a pet.
      requestBody: {$ref: '#/components/requestBodies/pet'}
  /pets:
    post:
      operationId: addPet
      requestBody:
        content:
          text/plain: {schema: {type: string}}
          application/json; charset=utf-8: {schema: {$ref: '#/components/schemas/NewPet'}}
    head: {operationId: countPets}
components:
  parameters:
    since:
      name: since
      in: query
      description: From when.
      schema: {type: string, format: date, example: 2024-05-16}
  requestBodies:
    pet:
      required: true
      content:
        application/json: {schema: {$ref: '#/components/schemas/NewPet'}}
  schemas:
    NewPet:
      allOf:
        - $ref: '#/components/schemas/Named'
        - type: object
          properties:
            petId: {type: integer, nullable: true}
            id: {type: string, readOnly: true}
            weight: {type: number, minimum: 0, exclusiveMinimum: true}
            no: {type: string, nullable: true, enum: [yes, no]}
            mother: {$ref: '#/components/schemas/Pet'}
        - required: [weight, id]
    Named:
      required: [name]
      properties: {name: {type: string}}
    Pet:
      type: object
      description: An animal.
      properties:
        mother: {$ref: '#/components/schemas/Pet'}
        name: {type: string}
"""


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    file = tmp_path / "pets.yaml"
    file.write_text(PETS)
    return file


def by_name(loaded: LoadedTools) -> dict[str, Tool]:
    return {tool.name: tool for tool in loaded.tools}


def load_operation(definition: Any, **more: Any) -> LoadedTools:
    """Load an operation between two valid ones."""
    paths: dict[str, Any] = {"/before": {"get": {}}, "/it": {"post": definition}, "/after": {"get": {}}}
    loaded = load_openapi({"openapi": "3.1.0", "info": {"title": "T"}, "paths": paths, **more})
    assert {"get_before", "get_after"} <= by_name(loaded).keys()
    return loaded


def body(schema: Any, required: bool = True, **more: Any) -> dict[str, Any]:
    content = {"content": {"application/json": {"schema": schema}}, "required": required}
    return {"requestBody": {**content, **more}}


def test_operations_become_tools(pets: Path) -> None:
    loaded = load_tools(pets)
    assert loaded == load_openapi(pets)
    assert loaded.refused == ()
    assert [tool.id for tool in loaded.tools] == [
        "pets/showPet",
        "Pet shop/changePet",
        "Pet shop/delete_pets_by_petId",
        "Pet shop/addPet",
        "Pet shop/countPets",
    ]
    tools = by_name(loaded)
    assert tools["showPet"].description == "Show a pet. Tells all that is known of it."
    assert tools["showPet"].about == "Sells pets, e.g. Dogs."
    assert tools["showPet"].annotations == tools["countPets"].annotations == Annotations(read_only=True)
    assert tools["delete_pets_by_petId"].annotations == Annotations(destructive=True)
    assert tools["changePet"].annotations == Annotations()
    assert {tool.app for tool in load_tools(pets, app="shop").tools} == {"shop"}


def test_parameters(pets: Path) -> None:
    assert by_name(load_openapi(pets))["showPet"].parameters == {
        "type": "object",
        "properties": {
            "petId": {"type": "integer", "description": "Which pet."},
            "trace": {"type": "boolean"},
            "since": {
                "type": "string",
                "format": "date",
                "examples": ["2024-05-16"],
                "description": "From when.",
            },
        },
        "required": ["petId", "trace"],
    }


def test_body_fields_are_merged_with_parameters(pets: Path) -> None:
    tools = by_name(load_openapi(pets))
    changed, added = tools["changePet"].parameters, tools["addPet"].parameters
    assert changed["required"] == ["petId", "name", "weight"]
    assert added["required"] == []
    assert "id" not in changed["properties"]
    assert (
        changed["properties"]["body_petId"] == added["properties"]["petId"] == {"type": ["integer", "null"]}
    )
    assert changed["properties"]["weight"] == {"type": "number", "exclusiveMinimum": 0}
    assert changed["properties"]["no"] == {"type": ["string", "null"], "enum": ["yes", "no", None]}


def test_recursive_schema_ends(pets: Path) -> None:
    mother = by_name(load_openapi(pets))["addPet"].parameters["properties"]["mother"]
    assert mother["properties"]["mother"] == {"type": "object", "description": "An animal."}
    assert "$ref" not in json.dumps(mother)


def test_body_that_is_not_an_object_is_one_field() -> None:
    for schema in ({"type": "array", "items": {"type": "string"}}, {"oneOf": [{"type": "string"}]}, {}):
        parameters = by_name(load_operation(body(schema, description="All of it.")))["post_it"].parameters
        assert parameters["properties"] == {"body": {**schema, "description": "All of it."}}
        assert parameters["required"] == ["body"]


def test_property_may_have_the_name_of_a_keyword() -> None:
    schema = {"type": "object", "properties": {"$ref": {"type": "string"}, "items": {"type": "string"}}}
    parameters = by_name(load_operation(body(schema)))["post_it"].parameters
    assert parameters["properties"] == schema["properties"]


def test_exponential_references_are_limited() -> None:
    schemas: dict[str, Any] = {"s0": {"type": "string"}}
    for number in range(1, 40):
        part = {"$ref": f"#/components/schemas/s{number - 1}"}
        schemas[f"s{number}"] = {"type": "object", "properties": {"a": part, "b": part, "c": part, "d": part}}
    loaded = load_operation(body({"$ref": "#/components/schemas/s39"}), components={"schemas": schemas})
    assert len(json.dumps(by_name(loaded)["post_it"].parameters)) < 1_000_000


INVALID: dict[str, tuple[Any, str]] = {
    "outside": (body({"$ref": "pets.yaml#/Pet"}), "outside of the document, to 'pets.yaml#/Pet'"),
    "a url": (body({"properties": {"a": {"$ref": "https://example.org/x"}}}), "outside of the document"),
    "missing": (body({"$ref": "#/components/schemas/None"}), "which is not in the document"),
    "not a schema": (body({"$ref": "#/info/title"}), "a string, not an object"),
    "no reference": (body({"$ref": 7}), "outside of the document, to 7"),
    "a type": (body({"properties": {"a": {"type": "file"}}}), "not a valid JSON Schema"),
    "a schema": (body("text"), "one of its schemas is a string"),
    "properties": (body({"properties": {"a": 1}}), "one of its schemas is a number"),
    "parameters": ({"parameters": {"a": 1}}, "its parameters are an object, not a list"),
    "a parameter": ({"parameters": [{"name": "a"}]}, "no `in`"),
    "null": (None, "is null, not an operation"),
    "a list": ([], "is a list, not an operation"),
    "words": ({"summary": 3}, "its summary must be a string"),
    "in circles": ({"requestBody": {"$ref": "#/paths/~1it/post/requestBody"}}, "points to itself"),
    "an id that is none": ({"operationId": 5}, "has no name"),
    "an id again": ({"operationId": "get_before"}, "more than once"),
}


@pytest.mark.parametrize(("definition", "reason"), INVALID.values(), ids=INVALID.keys())
def test_invalid_operation_is_refused_and_the_rest_are_loaded(definition: Any, reason: str) -> None:
    (refused,) = load_operation(definition).refused
    assert refused.name == ("get_before" if "more than once" in reason else "POST /it")
    assert reason in refused.reason


def test_invalid_path_is_refused() -> None:
    paths: dict[str, Any] = {
        "/a": {"$ref": "elsewhere.yaml"},
        "/b": [],
        "/c": {"$ref": "#/components/pathItems/c"},
    }
    components = {"pathItems": {"c": {"get": {"operationId": "found"}}}}
    loaded = load_openapi({"openapi": "3.1.0", "paths": paths, "components": components})
    assert [tool.id for tool in loaded.tools] == ["found"]
    assert [refused.name for refused in loaded.refused] == ["/a", "/b"]


@pytest.mark.parametrize(
    "document", [{}, {"openapi": "2.0"}, {"openapi": "3.0.0", "paths": []}, {"openapi": None}]
)
def test_other_documents_are_an_error(document: Any) -> None:
    with pytest.raises(InvalidDataError, match=r"not an OpenAPI 3 document|not an object"):
        load_openapi(document)
