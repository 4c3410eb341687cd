"""JSON Schema validation: same results as the standard, in bounded time."""

from typing import Any

import pytest

from contextune._internal.json_schema import (
    MAX_TEXT,
    CompiledSchema,
    InvalidSchemaError,
    SchemaBudgetError,
    check_schema,
    is_supported_pattern,
)
from contextune.errors import InvalidDataError

BACKTRACKING = r"^(a+)+$"
LONG = "a" * 5000 + "!"
# each takes a backtracking engine exponential time
SLOW_PATTERNS = [
    (BACKTRACKING, LONG),
    (r"(x+x+)+y", "x" * 5000),
    (r"^(\w+\s?)*$", "word " * 1000 + "!"),
    (r"^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 5000),
    (r"^([a-zA-Z0-9])(([\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}[a-z]{2,3}$", "a" * 5000),
    (r"(.*a){12}", "a" * 11 + "b" * 5000),
]
LARGE_PATTERNS = [
    r"(?:\w{0,50}){0,50}$",
    r"((a{0,99}){0,99}){0,99}",
    r"a{100}?{100}{100}",
    r"\p{L}{5000}",
    r"(?x)a{ 1000 }{ 1000 }",
    "a" * 100_000,
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("pattern", "text"), SLOW_PATTERNS)
def test_backtracking_pattern_runs_in_linear_time(pattern: str, text: str) -> None:
    assert not CompiledSchema({"pattern": pattern}).is_valid(text)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("pattern", LARGE_PATTERNS)
def test_pattern_that_compiles_to_too_much_is_ignored(pattern: str) -> None:
    assert not is_supported_pattern(pattern)
    assert CompiledSchema({"pattern": pattern}).is_valid("-" * 1000)


@pytest.mark.parametrize(
    ("pattern", "text", "valid"),
    [
        (r"^\d{4}-\d{2}-\d{2}$", "2024-05-16", True),
        (r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$", "no", False),
        (r"^\w{1,64}$", "name_1", True),
        (r"^\w{1,64}$", "über_alles", False),  # ECMA-262: \w is ASCII
        (r"^[\p{L}_]{1,9}$", "über_all", True),
        (r"b", "abc", True),  # not anchored
        (r"^\/v\d+\/", "/v2/items", True),
        (r"^[A-Z]{2}\u002d\d+$", "AB-12", True),
        (r"^(?!no)", "no", True),  # look-ahead is ignored
        (r"(.)\1", "ab", True),  # and so are back-references
        (r"(", "a", True),
        (r"b", "a" * (MAX_TEXT + 1), True),  # no pattern is checked on so long a text
    ],
)
def test_patterns(pattern: str, text: str, valid: bool) -> None:
    assert CompiledSchema({"pattern": pattern}).is_valid(text) is valid


LOOKAHEAD = "^(?!x)"


LOOKAHEAD_CASES: list[tuple[dict[str, Any], Any]] = [
    ({"not": {"pattern": LOOKAHEAD}}, "a"),
    ({"oneOf": [{"pattern": LOOKAHEAD}, {"type": "string"}]}, "x"),
    ({"if": {"pattern": LOOKAHEAD}, "then": {"maxLength": 1}}, "xyz"),
    ({"patternProperties": {LOOKAHEAD: {}}, "additionalProperties": False}, {"a": 1}),
    ({"allOf": [{"patternProperties": {LOOKAHEAD: {}}}], "unevaluatedProperties": False}, {"a": 1}),
]


@pytest.mark.parametrize(("schema", "value"), LOOKAHEAD_CASES)
def test_ignored_pattern_refuses_nothing(schema: dict[str, Any], value: Any) -> None:
    assert CompiledSchema(schema).is_valid(value)


def test_other_keywords_apply_beside_an_ignored_pattern() -> None:
    schema = {"type": "string", "pattern": LOOKAHEAD, "maxLength": 3}
    assert not CompiledSchema(schema).is_valid("long text")
    assert not CompiledSchema({"pattern": "^a", "type": "string"}).is_valid(["a" * (MAX_TEXT + 1)])


def reference_chain(levels: int, *, through: str = "") -> dict[str, Any]:
    """Definitions that each refer twice to the next: 2^levels visits of the last."""
    definitions: dict[str, Any] = {f"a{levels}": {"type": "object"}}
    for level in range(levels):
        target = {"$ref": f"#/$defs/a{level + 1}"}
        part = {"properties": {through: target}} if through else target
        definitions[f"a{level}"] = {"allOf": [part, part]}
    return {"$defs": definitions, "$ref": "#/$defs/a0"}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("levels", [18, 40, 200])
def test_exponential_references_are_refused(levels: int) -> None:
    schema = reference_chain(levels)
    for check in (CompiledSchema, check_schema):
        with pytest.raises(InvalidSchemaError, match=r"too long to check: .* subschemas|chain of references"):
            check(schema)


@pytest.mark.timeout(60)
def test_exponential_references_are_refused_for_deep_values_only() -> None:
    recursive = {"allOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}
    chain = reference_chain(40, through="x")
    list_value: list[Any] = []
    object_value: dict[str, Any] = {}
    assert CompiledSchema(recursive).is_valid([[[1]]])
    assert CompiledSchema(chain).is_valid({"x": {"x": {}}})
    for _ in range(40):
        list_value, object_value = [list_value], {"x": object_value}
    for schema, deep in ((recursive, list_value), (chain, object_value)):
        with pytest.raises(InvalidSchemaError, match="takes too long to check"):
            CompiledSchema(schema).is_valid(deep)


def test_recursive_schema_checks_a_deep_tree() -> None:
    node = {
        "type": "object",
        "properties": {"left": {"$ref": "#/$defs/node"}, "right": {"$ref": "#/$defs/node"}},
        "additionalProperties": False,
    }
    tree = CompiledSchema({"$defs": {"node": node}, "$ref": "#/$defs/node"})
    value: dict[str, Any] = {}
    for _ in range(50):
        value = {"left": value, "right": {}}
    assert tree.is_valid(value)
    assert not tree.is_valid({"left": {"middle": {}}})


@pytest.mark.timeout(60)
def test_schema_and_value_have_size_limits() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InvalidDataError, match="nested more than 64 levels"):
        CompiledSchema({"items": {"$ref": "#"}}).is_valid(deep)
    nested: dict[str, Any] = {}
    for _ in range(1000):
        nested = {"items": nested}
    with pytest.raises(InvalidSchemaError, match="nested more than 64 levels"):
        CompiledSchema(nested)
    with pytest.raises(InvalidSchemaError, match="more than 10,000 subschemas"):
        CompiledSchema({"properties": {str(number): {} for number in range(20_000)}})
    with pytest.raises(InvalidSchemaError, match="too long to check"):
        CompiledSchema({"allOf": [{"pattern": f"a{number}"} for number in range(100)]})
    many = {"items": {"allOf": [{"type": "integer"}] * 1000}}
    with pytest.raises(InvalidDataError, match="a value of 10,001 parts takes too long to check"):
        CompiledSchema(many).is_valid([1] * 10_000)


LARGE_DATA: list[tuple[dict[str, Any], list[Any]]] = [
    ({"items": {"enum": [{"x": number} for number in range(5000)]}}, [{"x": 4999}] * 10_000),
    ({"items": {"const": {str(number): number for number in range(5000)}}}, [{}] * 10_000),
]


@pytest.mark.parametrize(("schema", "value"), LARGE_DATA)
def test_comparing_with_data_of_the_schema_counts(schema: dict[str, Any], value: Any) -> None:
    with pytest.raises(InvalidDataError, match="takes too long to check"):
        CompiledSchema(schema).is_valid(value)
    assert CompiledSchema({"items": {"enum": [str(n) for n in range(600)]}}).is_valid(["599"] * 10_000)


def test_many_required_names_are_over_budget() -> None:
    with pytest.raises(SchemaBudgetError, match="takes too long to check"):
        CompiledSchema({"required": [str(number) for number in range(100_000)]})


def test_computing_the_cost_has_a_budget() -> None:
    fields = {f"p{number}": {"properties": {"x": {"$ref": "#"}}} for number in range(4000)}
    compiled = CompiledSchema({"properties": fields})
    value: dict[str, Any] = {}
    for _ in range(30):
        value = {"p1": {"x": value}}
    with pytest.raises(SchemaBudgetError, match="more than 200,000 steps"):
        compiled.is_valid(value)


def test_only_the_first_of_very_many_violations_is_reported() -> None:
    compiled = CompiledSchema({"items": {"allOf": [{"minLength": 1}] * 400}})
    assert len(compiled.violations([""] * 3)) == 1200
    assert [violation.path for violation in compiled.violations([""] * 3000)] == [(0,)]
    assert compiled.violations(["x"] * 3000) == []


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"$ref": "http://127.0.0.1:9/schema"}, "unresolvable reference"),
        ({"$ref": "file:///etc/passwd"}, "unresolvable reference"),
        ({"$ref": "#/$defs/absent"}, "unresolvable reference"),
        ({"default": {"pattern": BACKTRACKING}, "$ref": "#/default"}, "unresolvable reference"),
        ({"$ref": "#"}, "refers to itself"),
        ({"allOf": [{"$ref": "#"}, {"$ref": "#"}]}, "refers to itself"),
        ({"$dynamicRef": "#node"}, "not supported"),
        ({"type": "text"}, '"text" fits none of the alternatives'),
        ({"minimum": "three"}, '"three" is not of type "number"'),
    ],
)
def test_invalid_schema_is_refused_with_a_reason(schema: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidSchemaError, match=reason):
        CompiledSchema(schema)


@pytest.mark.parametrize(
    "reference", ["#/$defs/b", "https://example.org/s#/$defs/b", "#name", "#/$defs/a~1b", "#/x-own/c"]
)
def test_references_within_the_schema(reference: str) -> None:
    integer = {"$anchor": "name", "type": "integer"}
    schema = {
        "$id": "https://example.org/s",
        "$defs": {"b": integer, "a/b": {"type": "integer"}},
        "x-own": {"c": {"type": "integer"}},
        "items": {"$ref": reference},
    }
    assert CompiledSchema(schema).is_valid([1])
    assert not CompiledSchema(schema).is_valid(["one"])


def test_unknown_dialect_is_read_as_2020_12() -> None:
    schema = {"$schema": "http://127.0.0.1:9/dialect", "prefixItems": [{"type": "integer"}]}
    check_schema(schema)
    assert not CompiledSchema(schema).is_valid(["one"])
    draft_4 = {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 3, "exclusiveMinimum": True}
    assert not CompiledSchema(draft_4).is_valid(3)


def test_check_schema_says_where_a_schema_is_invalid() -> None:
    with pytest.raises(InvalidSchemaError, match='"all" is not of type "array"') as caught:
        check_schema({"properties": {"a": {"required": "all"}}})
    assert caught.value.path == ("properties", "a", "required")


def test_violations_name_keyword_path_and_missing_property() -> None:
    schema = {
        "type": "object",
        "properties": {"pattern": {"type": "string", "pattern": "^[a-z]+$"}, "$schema": {"type": "string"}},
        "patternProperties": {"^x-": {"type": "integer"}},
        "additionalProperties": False,
    }

    def messages(**value: Any) -> list[str]:
        return [violation.message for violation in CompiledSchema(schema).violations(value)]

    assert messages(pattern="abc", **{"x-size": 3, "$schema": "any"}) == []
    assert messages(pattern="ABC") == ['"ABC" does not match "^[a-z]+$"']
    assert messages(**{"x-size": "three"}) == ['"three" is not of type "integer"']
    assert messages(y=1) == ["Additional properties are not allowed ('y' was unexpected)"]
    assert messages(**{"$schema": 1}) == ['1 is not of type "string"']
    closed: dict[str, Any] = {"properties": {"a": {}}, "unevaluatedProperties": False}
    assert [v.keyword for v in CompiledSchema(closed).violations({"b": 1})] == ["unevaluatedProperties"]
    nested = {"properties": {"a": {"items": {"required": ["b"]}}}}
    (violation,) = CompiledSchema(nested).violations({"a": [{"b": 1}, {}]})
    assert (violation.keyword, violation.missing) == ("required", "b")
    assert violation.path == ("a", 1)
    assert violation.schema_path == ("properties", "a", "items", "required")


def test_only_the_given_formats_are_checked() -> None:
    def is_even(text: str) -> bool:
        return int(text) % 2 == 0

    schema = {"properties": {"even": {"format": "even"}, "mail": {"format": "email"}}}
    compiled = CompiledSchema(schema, formats={"even": is_even})
    assert compiled.is_valid({"even": "2", "mail": "not an address"})
    assert not compiled.is_valid({"even": "3"})
    assert not compiled.is_valid({"even": "three"})  # the check raised ValueError
    assert compiled.is_valid({"even": 3})  # formats are for text
    assert CompiledSchema(schema).is_valid({"even": "3"})


def test_messages_are_in_plain_words() -> None:
    alternatives = [{"type": "integer"}, {"minimum": 2}]
    schema = {"properties": {"a": {"anyOf": [{"type": "string"}]}, "b": {"oneOf": alternatives}, "c": False}}
    messages = [
        violation.message for violation in CompiledSchema(schema).violations({"a": 1, "b": 3, "c": "x"})
    ]
    assert messages == [
        "1 fits none of the alternatives",
        "3 fits more than one of the alternatives",
        '"x" is not allowed',
    ]


def test_values_beyond_plain_json() -> None:
    class Name(str):
        __slots__ = ()

    assert CompiledSchema({"type": "string"}).is_valid(Name("Rui"))
    assert CompiledSchema({"type": "string", "maxLength": 2}).is_valid("\ud800a")
    assert CompiledSchema({"type": "integer"}).is_valid(10**40)
    with pytest.raises(InvalidDataError, match="a set cannot be checked"):
        CompiledSchema({}).is_valid({1})
