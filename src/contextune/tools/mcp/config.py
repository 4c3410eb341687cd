"""Which MCP servers there are: `mcp.json` as Claude, Cursor and VS Code write it."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from contextune.errors import InvalidDataError
from contextune.tools.catalog import RefusedTool
from contextune.tools.documents import read_document
from contextune.tools.validation import ToolCollector, checked_name, items, kind_of, mapping

_VARIABLE = re.compile(r"\$\{([^}]*)\}")


def _nothing() -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class McpServer:
    """An MCP server: a command to start, or the address of one that runs. `name` is the app of its tools.

    `env`, `url` and `headers` may hold secrets, so none of them is shown or kept.
    """

    name: str = ""
    command: str = ""
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=_nothing, repr=False, hash=False)
    cwd: str | None = None
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=_nothing, repr=False, hash=False)

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.url):
            raise InvalidDataError("needs a command to start it, or the url of where it runs, and not both")
        if self.url and not re.match(r"https?://[^/]", self.url, re.IGNORECASE):
            raise InvalidDataError("its url begins with neither http:// nor https://")

    @property
    def called(self) -> str:
        """What to call it in a message: its name, or what of its address is no secret."""
        return self.name or urlsplit(self.url).hostname or self.command


def read_servers(source: Path | Mapping[str, Any]) -> tuple[list[McpServer], list[RefusedTool]]:
    """The servers of an mcp.json, or of what stands in one; and those that are not usable as they stand.

    `${NAME}` stands for a variable of the environment, `${NAME:-otherwise}` for one that may be missing.
    """
    content = mapping(read_document(source) if isinstance(source, Path) else source) or {}
    named = mapping(content.get("mcpServers", content.get("servers")))
    if named is None:
        where = f"{source}: " if isinstance(source, Path) else ""
        raise InvalidDataError(f"{where}names no servers: they stand under `mcpServers`, each by its name")
    taking = ToolCollector()
    servers: list[McpServer] = []
    for name, given in named.items():
        with taking.each(name):
            servers.append(_server(checked_name(name), given))
    return servers, list(taking.loaded().refused)


def _server(name: str, given: object) -> McpServer:
    entry = mapping(given)
    if entry is None:
        raise InvalidDataError(f"is {kind_of(given)}, not a mapping")
    if entry.get("disabled") is True or entry.get("enabled") is False:
        raise InvalidDataError("is switched off in the file")
    if entry.get("type") == "sse" or entry.get("transport") == "sse":
        raise InvalidDataError("speaks SSE, which MCP has given up: use its address for streamable HTTP")
    url = entry.get("url", entry.get("serverUrl", ""))
    cwd = entry.get("cwd")
    return McpServer(
        name,
        command=_text(entry.get("command", ""), "command"),
        args=tuple(_text(arg, "args") for arg in _list(entry.get("args", []), "args")),
        env=_texts(entry.get("env", {}), "env"),
        cwd=None if cwd is None else _text(cwd, "cwd"),
        url=_text(url, "url"),
        headers=_texts(entry.get("headers", {}), "headers"),
    )


def _list(value: object, what: str) -> list[Any]:
    found = items(value)
    if found is None:
        raise InvalidDataError(f"its `{what}` is {kind_of(value)}, not a list")
    return found


def _texts(value: object, what: str) -> dict[str, str]:
    found = mapping(value)
    if found is None:
        raise InvalidDataError(f"its `{what}` is {kind_of(value)}, not a mapping")
    return {name: _text(text, f"{what}.{name}") for name, text in found.items() if text is not None}


def _text(value: object, what: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InvalidDataError(f"its `{what}` is {kind_of(value)}, not a text")
    return _VARIABLE.sub(_variable, str(value))


def _variable(found: re.Match[str]) -> str:
    name, default, otherwise = found[1].partition(":-")
    name = name.removeprefix("env:")  # as VS Code writes it
    if name in os.environ:
        return os.environ[name]
    if not default:
        raise InvalidDataError(f"needs the environment variable {name!r}, which is not set")
    return otherwise
