"""Python functions → tools: docstring styles, types, methods, and functions that cannot be tools."""

import functools
from collections.abc import Callable
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from contextune.tools.loaders import load_functions
from contextune.types import Tool


class Place(BaseModel):
    """Somewhere on Earth."""

    latitude: float
    longitude: float = Field(description="East is positive.")


class Unit(Enum):
    C = "c"
    F = "f"


def google(city: str, days: int = 3) -> str:
    """Get the forecast.

    It is made every morning.

    Args:
        city: The town
            to look at.
        days (int): How many days.

    Returns:
        What the sky will do.
    """
    return f"{city} {days}"


def numpy(city: str, days: int = 3) -> str:
    """Get the forecast.

    It is made every morning.

    Parameters
    ----------
    city : str
        The town
        to look at.
    days : int, optional
        How many days.

    Returns
    -------
    str
        What the sky will do.
    """
    return f"{city} {days}"


def sphinx(city: str, days: int = 3) -> str:
    """Get the forecast.

    It is made every morning.

    :param city: The town
        to look at.
    :param int days: How many days.
    :returns: What the sky will do.
    """
    return f"{city} {days}"


def load_one(function: Callable[..., Any]) -> Tool:
    loaded = load_functions(function)
    assert loaded.refused == ()
    return loaded.tools[0]


@pytest.mark.parametrize("function", [google, numpy, sphinx])
def test_docstring_styles(function: Callable[..., Any]) -> None:
    tool = load_one(function)
    assert tool.name == function.__name__
    assert tool.description == "Get the forecast.\n\nIt is made every morning."
    assert tool.parameters == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "The town to look at."},
            "days": {"type": "integer", "default": 3, "description": "How many days."},
        },
        "required": ["city"],
        "additionalProperties": False,
    }


def test_parameter_types() -> None:
    def book(
        where: Place,
        day: date,
        seats: Annotated[int, Field(description="How many.", ge=1)],
        unit: Unit = Unit.C,
        *,
        kind: Literal["day", "night"] = "day",
        tags: list[str] | None = None,
        _trace: object = object(),
    ) -> None:
        """Book a seat.

        :param where: The spot.
        :param seats: Not this one.
        """

    schema = load_one(book).parameters
    properties = schema["properties"]
    assert schema["$defs"]["Place"]["properties"]["longitude"]["description"] == "East is positive."
    assert properties["where"] == {"$ref": "#/$defs/Place", "description": "The spot."}
    assert properties["day"] == {"type": "string", "format": "date"}
    assert properties["seats"] == {"type": "integer", "minimum": 1, "description": "How many."}
    assert properties["kind"]["enum"] == ["day", "night"]
    assert properties["unit"]["default"] == "c"
    assert properties["tags"]["default"] is None
    assert properties["_trace"] == {}
    assert schema["required"] == ["where", "day", "seats"]


class Oven:
    """Something with methods."""

    def heat(self, degrees: int) -> int:
        """Heat it."""
        return degrees

    @classmethod
    def make(cls, name: str) -> str:
        """Make one."""
        return name

    @staticmethod
    def clean(self_: str) -> str:
        """Clean it."""
        return self_


async def wait(seconds: float) -> None:
    """Wait a while."""


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return inner


@pytest.mark.parametrize(
    ("function", "name", "parameters"),
    [
        (Oven().heat, "heat", ["degrees"]),
        (Oven.heat, "heat", ["degrees"]),
        (Oven.make, "make", ["name"]),
        (Oven.clean, "clean", ["self_"]),
        (wait, "wait", ["seconds"]),
        (logged(google), "google", ["city", "days"]),
        (functools.partial(google, days=1), "google", ["city", "days"]),
    ],
)
def test_methods_and_wrapped_functions(
    function: Callable[..., Any], name: str, parameters: list[str]
) -> None:
    tool = load_one(function)
    assert tool.name == name
    assert list(tool.parameters["properties"]) == parameters
    assert tool.description
    assert "self" not in tool.parameters.get("required", [])


def test_only_the_receiver_is_skipped() -> None:
    def run(context: str, self: int) -> None:
        """Run."""
        del context, self

    assert list(load_one(run).parameters["properties"]) == ["context", "self"]


def test_functions_that_cannot_be_tools_are_refused() -> None:
    def several(*names: str) -> None: ...
    def named(**options: str) -> None: ...
    def by_position(first: str, /) -> None: ...
    def strange(oven: Oven) -> None: ...
    def unknown(oven: Any) -> None: ...

    unknown.__annotations__["oven"] = "Nowhere"
    functions: list[Callable[..., object]] = [several, named, by_position, google, strange, unknown]
    loaded = load_functions(*functions, lambda: 0, Oven, google, print, app="x")
    assert [tool.id for tool in loaded.tools] == ["x/google"]
    reasons = {refused.name: refused.reason for refused in loaded.refused}
    assert "*names" in reasons["x/several"]
    assert "**options" in reasons["x/named"]
    assert "'first' by position only" in reasons["x/by_position"]
    assert "Oven" in reasons["x/strange"]
    assert "Nowhere" in reasons["x/unknown"]
    assert "not a named function" in reasons["x/#7"]
    assert "not a named function" in reasons["x/#8"]
    assert "more than once" in reasons["x/google"]
    assert "*args" in reasons[f"x/{print.__name__}"]  # Ray replaces it by a function of its own
    assert len(reasons) == 9
