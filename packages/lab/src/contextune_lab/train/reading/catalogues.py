"""Catalogues that name the bundled tools otherwise, so that the reading model learns no names by heart.

Each has tools of other servers, and a map from calls of the bundled toolbox to calls of its own.
"""

# arrays and tensors of untyped libraries
# pyright: basic, reportArgumentType=false, reportDeprecated=false

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from contextune._internal.assets import lab_asset, read_decompressed
from contextune.errors import InvalidDataError
from contextune.types import Tool
from contextune_lab.worlds.light import server_tools
from contextune_lab.worlds.world import WorldCall

FILE = "training/catalogues.jsonl.gz"
_ALL = "*"
"""A value that stands for any text."""


@dataclass(frozen=True, eq=False)
class TrainingCatalogue:
    """Tools, and for each bundled tool that has a counterpart, its id and the forms of its arguments."""

    name: str
    tools: Sequence[Tool]
    mapping: Mapping[str, Mapping[str, Any]]

    def counterpart(self, tool: str) -> str | None:
        """The id of the tool that does what a bundled one does."""
        return self.mapping[tool]["tool"] if tool in self.mapping else None

    def translate(self, call: WorldCall) -> WorldCall | None:
        """A call of a bundled tool in this catalogue; None if it has no such tool or no such value."""
        counterpart = self.mapping.get(call.tool)
        if counterpart is None:
            return None
        arguments: dict[str, Any] = {}
        for name, value in call.args.items():
            form = counterpart["args"].get(name)
            if form is not None and not _place(arguments, form, value):
                return None
        for path, value in (counterpart.get("extra") or {}).items():
            _set(arguments, path, value)
        return WorldCall(counterpart["tool"], arguments)


def read_catalogues(file: Path | None = None) -> dict[str, TrainingCatalogue]:
    """The catalogues of a file by name, by default the bundled ones."""
    file = file or lab_asset(FILE, "the training catalogues")
    try:
        rows = [json.loads(line) for line in read_decompressed(file).decode().splitlines()]
        return {
            row["name"]: TrainingCatalogue(row["name"], server_tools(row["servers"]), row["map"])
            for row in rows
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidDataError(f"{file}: not a file of training catalogues: {error}") from None


def _place(arguments: dict[str, Any], form: str | Mapping[str, Any], value: Any) -> bool:
    """Put a value where an argument's form says; false if the form cannot hold it."""
    if isinstance(form, str):
        arguments[form] = value
    elif "split" in form:
        date, time = form["split"]
        if isinstance(value, str) and "T" in value:
            arguments[date], arguments[time] = value.split("T")[0], value.split("T")[1][:5]
        elif value == _ALL:
            return False
        else:
            arguments[date] = value
    elif "nested" in form:
        _set(arguments, form["nested"], value)
    elif form.get("list"):
        _set(arguments, form["name"], cast("list[Any]", value) if isinstance(value, list) else [value])
    else:
        _set(arguments, form["name"], value)
    return True


def _set(arguments: dict[str, Any], path: str, value: Any) -> None:
    *outer, last = path.split(".")
    for name in outer:
        arguments = arguments.setdefault(name, {})
    arguments[last] = value
