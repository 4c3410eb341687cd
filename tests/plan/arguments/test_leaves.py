"""The leaves of nested parameters."""

from contextune import Tool
from contextune.plan.arguments.leaves import nest, tool_leaves

FLIGHT = Tool(
    "flightStatus",
    "Times and gate of a flight.",
    app="travel",
    parameters={
        "type": "object",
        "properties": {
            "verbose": {"type": "boolean"},
            "flight": {
                "type": "object",
                "properties": {"number": {"type": "string"}, "date": {"type": "string", "format": "date"}},
                "required": ["number"],
            },
            "guests": {"type": "array", "items": {"type": "string"}, "description": "who comes along"},
        },
        "required": ["flight"],
    },
)


def test_leaves_of_nested_objects_have_paths_and_required_ones_come_first() -> None:
    leaves = tool_leaves(FLIGHT)
    assert [leaf.name for leaf in leaves] == ["flight.number", "verbose", "flight.date", "guests"]
    assert [leaf.required for leaf in leaves] == [True, False, False, False]
    assert leaves[-1].is_list
    assert leaves[-1].parameter.description == "who comes along"


def test_values_are_nested_again() -> None:
    values = {("flight", "number"): "LH 12", ("flight", "date"): "2026-09-17", ("verbose",): True}
    assert nest(values) == {"flight": {"number": "LH 12", "date": "2026-09-17"}, "verbose": True}
