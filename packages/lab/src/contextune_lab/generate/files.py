"""Persona files: atomic writes, and reading what exists."""

import json
from functools import cache
from pathlib import Path
from typing import Any, cast

from contextune.datasets import Persona, parse_persona, persona_json, read_persona
from contextune.errors import InvalidDataError
from contextune.tools.toolbox import bundled_toolbox
from contextune.types import Tool

ANSWERS = ".answers"
"""Subfolder of the output folder that caches answers."""


def write_atomic(file: Path, text: str) -> None:
    """Write a file atomically."""
    temporary = file.with_name(f".{file.name}.new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(file)
    except OSError as error:
        raise InvalidDataError(
            f"{file}: cannot be written: {error.strerror}; choose another folder"
        ) from None


def write_persona(folder: Path, persona: Persona) -> Path:
    """Write a persona to a folder, after checking that it can be read back."""
    data = persona_json(persona)
    file = folder / f"{persona.id}.json"
    parse_persona(data, source=str(file))
    write_atomic(file, persona_text(data))
    return file


def persona_text(data: dict[str, Any]) -> str:
    """A persona as readable JSON: one line per contact, item and query."""
    parts = [f"{_line(name)}: {_lines(value)}" for name, value in data.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def read_existing(folder: Path) -> list[Persona]:
    """The personas in a folder; empty if it does not exist."""
    return [read_persona(file) for file in sorted(folder.glob("*.json"))] if folder.is_dir() else []


@cache
def bundled_tools() -> tuple[Tool, ...]:
    """The bundled toolbox, read once."""
    return tuple(bundled_toolbox())


def _lines(value: object) -> str:
    if isinstance(value, list) and value:
        rows = [_line(entry) for entry in cast("list[object]", value)]
        return "[\n " + ",\n ".join(rows) + "\n]"
    mapping = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    if mapping and all(isinstance(entry, dict) for entry in mapping.values()):
        return (
            "{\n " + ",\n ".join(f"{_line(name)}: {_line(entry)}" for name, entry in mapping.items()) + "\n}"
        )
    return _line(cast("object", value))


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
