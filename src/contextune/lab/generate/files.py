"""What is made, as files: written whole or not at all, so that a run that is broken off leaves no halves."""

import json
from functools import cache
from pathlib import Path
from typing import Any, cast

from contextune.datasets import Persona, parse_persona, persona_json, read_persona
from contextune.errors import InvalidDataError
from contextune.tools.toolbox import bundled_toolbox
from contextune.types import Tool

ANSWERS = ".answers"
"""The folder, within that of what is made, in which answers are remembered."""


def write_whole(file: Path, text: str) -> None:
    """The file with this text; until that is written, it stays as it was."""
    new = file.with_name(f".{file.name}.new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(text, encoding="utf-8")
        new.replace(file)
    except OSError as error:
        raise InvalidDataError(f"{file}: cannot be written: {error.strerror}; name another folder") from None


def write_persona(folder: Path, persona: Persona) -> Path:
    """The file of a persona in a folder; what could not be read again is not written."""
    data = persona_json(persona)
    file = folder / f"{persona.id}.json"
    parse_persona(data, source=str(file))
    write_whole(file, persona_text(data))
    return file


def persona_text(data: dict[str, Any]) -> str:
    """A persona as JSON with a line for each contact, item and query, as people read it."""
    parts = [f"{_line(name)}: {_lines(value)}" for name, value in data.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def read_made(folder: Path) -> list[Persona]:
    """The personas that are in a folder already; none, if there is no such folder yet."""
    return [read_persona(file) for file in sorted(folder.glob("*.json"))] if folder.is_dir() else []


@cache
def bundled_tools() -> tuple[Tool, ...]:
    """The toolbox in the package, read once."""
    return tuple(bundled_toolbox())


def _lines(value: object) -> str:
    if isinstance(value, list) and value:
        rows = [_line(one) for one in cast("list[object]", value)]
        return "[\n " + ",\n ".join(rows) + "\n]"
    many = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    if many and all(isinstance(one, dict) for one in many.values()):
        return "{\n " + ",\n ".join(f"{_line(name)}: {_line(one)}" for name, one in many.items()) + "\n}"
    return _line(cast("object", value))


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
