"""Numbers with units, in the unit of an argument."""

from typing import Any

import pytest

from contextune.plan.arguments.quantities import find_currencies, find_quantities, in_unit_of
from contextune.plan.schema import parameter_of


@pytest.mark.parametrize(
    ("text", "name", "schema", "value"),
    [
        ("five miles", "distance_km", {"type": "number"}, 8.04672),
        ("800 m", "distance", {"type": "number", "description": "Distance in kilometres"}, 0.8),
        ("350 °F", "temperature", {"type": "integer", "description": "In degrees Celsius"}, 176.666667),
        ("21 degrees", "target", {"type": "number", "description": "Target temperature in °C"}, 21),
        ("2 GB", "memory_mb", {"type": "integer"}, 2048),
        ("half an hour", "length_minutes", {"type": "integer"}, 30),
        ("2 seconds", "fade_ms", {"type": "integer"}, 2000),
        ("30%", "level", {"type": "integer", "description": "Volume in percent"}, 30),
        ("30%", "brightness", {"type": "number", "maximum": 1}, 0.3),
        ("two and a half litres", "volume", {"type": "number", "description": "Litres"}, 2.5),
        ("$1,250.50", "amount", {"type": "number"}, 1250.5),
        ("600 euros", "max_price", {"type": "number", "description": "In euros"}, 600),
        ("600 dollars", "max_price", {"type": "number", "description": "In euros"}, None),
        ("3 kg", "distance_km", {"type": "number"}, None),
        ("two thousand three hundred and five", "count", {"type": "integer"}, 2305),
    ],
)
def test_quantities_are_converted_to_the_unit_of_an_argument(
    text: str, name: str, schema: dict[str, Any], value: float | None
) -> None:
    (quantity,) = find_quantities(text)
    assert in_unit_of(quantity, parameter_of(name, schema, required=True)) == pytest.approx(value)


def test_versions_identifiers_and_clock_times_have_no_numbers() -> None:
    assert find_quantities("2.4.1 at 6:30 for P-991, 10.0.4.17 and 2026-09-17") == ()


def test_currencies_are_found_with_and_without_an_amount() -> None:
    assert [code for code, _, _ in find_currencies("250 dollars to euros, or £20")] == ["USD", "EUR", "GBP"]
