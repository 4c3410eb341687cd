"""What is wrong in a form, in words that hold nothing of what stands in it."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from contextune.serve import forms

_SHOWN = 5
_KNOWN = frozenset(
    {
        "body", "query", "app", "start", "limit",
        *(
            name
            for form in vars(forms).values()
            if isinstance(form, type) and issubclass(form, BaseModel)
            for name in form.model_fields
        ),
    }
)  # fmt: skip
"""Names that are ours. Any other on the way to a fault is one that the client made up: a place, a field."""


def faults(errors: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line for each of the first faults: where it is, and what is wrong there."""
    lines = [f"{_path(error['loc'])}: {_said(error)}" for error in errors]
    more = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return [*dict.fromkeys(lines[:_SHOWN]), *more]


def _path(steps: Sequence[str | int]) -> str:
    path = ""
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        elif step in _KNOWN:
            path += f".{step}" if path else step
    return path or "the request"


def _said(error: Mapping[str, Any]) -> str:
    if error["type"] == "json_invalid":
        return "is no JSON from here on"
    # pydantic names what it wanted; what it got it puts elsewhere
    return str(error["msg"]).removeprefix("Value error, ")
