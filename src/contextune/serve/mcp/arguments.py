"""Check the arguments of a call by the schema of its tool."""

from collections.abc import Mapping
from typing import Any

from contextune._internal.json_schema import CompiledSchema, SchemaBudgetError
from contextune.errors import InvalidDataError, PlanError
from contextune.types import Tool

_MAX_VIOLATIONS = 5


def check_arguments(tool: Tool, arguments: Mapping[str, Any]) -> None:
    """Raise a `PlanError` for arguments that violate the tool's schema, or for a schema over budget.

    With an otherwise invalid schema, or for a very large value, the server decides. Takes up to a second of
    a core: run it in a thread.
    """
    try:
        violations = sorted(
            CompiledSchema(tool.parameters).violations(arguments),
            key=lambda violation: [*map(str, violation.path)],
        )
    except SchemaBudgetError as error:
        raise PlanError(f"{tool.id!r} was not called: {error}") from None
    except InvalidDataError:  # leave it to the server
        return
    messages = [
        f"{'.'.join(map(str, violation.path))}: {violation.message}" if violation.path else violation.message
        for violation in violations
    ]
    if messages:
        more = f"; and {len(messages) - _MAX_VIOLATIONS} more" if len(messages) > _MAX_VIOLATIONS else ""
        problems = "; ".join(messages[:_MAX_VIOLATIONS])
        raise PlanError(f"{tool.id!r} was not called, invalid arguments: {problems}{more}")
