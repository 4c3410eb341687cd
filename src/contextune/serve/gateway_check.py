"""Whether arguments are what a tool takes, before its server is bothered with them."""

from collections.abc import Mapping
from typing import Any

from contextune.checking import checker
from contextune.errors import PlanError
from contextune.types import Tool

_TOLD = 5


def check_arguments(tool: Tool, args: Mapping[str, Any]) -> None:
    """Raise an error that says what is wrong with them. A schema that cannot be read checks nothing."""
    if found := _faults(tool.parameters, args):
        more = f"; and {len(found) - _TOLD} more" if len(found) > _TOLD else ""
        raise PlanError(f"{tool.id!r} was not called: {'; '.join(found[:_TOLD])}{more}")


def _faults(schema: Mapping[str, Any], args: Mapping[str, Any]) -> list[str]:
    try:
        errors = sorted(
            checker(schema).iter_errors(dict(args)), key=lambda error: list(map(str, error.absolute_path))
        )
    except Exception:  # whatever a library makes of a schema that is none: the server is the judge
        return []
    return [_said(error) for error in errors]


def _said(error: Any) -> str:
    where = ".".join(map(str, error.absolute_path))
    message = str(error.message)
    return f"{where}: {message}" if where else message
