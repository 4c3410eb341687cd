"""Pydantic validation errors as messages that never repeat the input, which may be personal data."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Location = Sequence[str | int]
"""Path to the invalid value: field names and list indexes."""


def validation_messages(
    errors: Sequence[Mapping[str, Any]],
    format_location: Callable[[Location], str],
    max_messages: int | None = None,
) -> list[str]:
    """One message per error, as `location: problem`; above `max_messages` the rest is counted only."""
    messages = [f"{format_location(error['loc'])}: {_problem(error)}" for error in errors]
    if max_messages is None or len(messages) <= max_messages:
        return list(dict.fromkeys(messages))
    return [*dict.fromkeys(messages[:max_messages]), f"and {len(messages) - max_messages} more"]


def _problem(error: Mapping[str, Any]) -> str:
    if error["type"] == "json_invalid":  # pydantic's message may quote the input
        return "invalid JSON from here on"
    return str(error["msg"]).removeprefix("Value error, ")
