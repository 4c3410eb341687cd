"""McpServer, and reading them from the `mcp.json` of Claude, Cursor or VS Code."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from contextune.errors import InvalidDataError
from contextune.tools.catalog import RefusedTool
from contextune.tools.definitions.documents import read_document
from contextune.tools.definitions.validation import (
    ToolCollector,
    as_list,
    as_mapping,
    describe_type,
    validate_server_name,
)

_VARIABLE = re.compile(r"\$\{([^}]{0,500})\}")


def _empty() -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class McpServer:
    """An MCP server: a command to start, or the URL of a running one. `name` becomes the app of its tools.

    `args`, `env`, `url` and `headers` may contain secrets, so they are never shown or stored.
    """

    name: str = ""
    command: str = ""
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=_empty, repr=False, hash=False)
    cwd: str | None = None
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=_empty, repr=False, hash=False)

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.url):
            raise InvalidDataError("needs either a command or a url")
        if self.url and not re.match(r"https?://[^/]", self.url, re.IGNORECASE):
            raise InvalidDataError("its url must start with http:// or https://")

    @property
    def key(self) -> str:
        """The name, and a digest of the command or URL, which may contain secrets."""
        launch = json.dumps([self.command, self.args, self.cwd, self.url])
        digest = blake2b(launch.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        return f"{self.name} {digest}"

    @property
    def label(self) -> str:
        """For messages: the name, or the part of the address that is not secret."""
        return self.name or urlsplit(self.url).hostname or self.command


def read_mcp_config(source: Path | Mapping[str, Any]) -> tuple[list[McpServer], list[RefusedTool]]:
    """The servers of an `mcp.json` or of its content, and the entries that cannot be used.

    `${NAME}` is replaced by an environment variable, `${NAME:-default}` by one that may be unset.
    """
    content = as_mapping(read_document(source) if isinstance(source, Path) else source) or {}
    entries = as_mapping(content.get("mcpServers", content.get("servers")))
    if entries is None:
        where = f"{source}: " if isinstance(source, Path) else ""
        raise InvalidDataError(f"{where}has no `mcpServers` or `servers` object")
    collector = ToolCollector()
    servers: list[McpServer] = []
    for name, entry in entries.items():
        with collector.attempt(name):
            servers.append(_server(validate_server_name(name), entry))
    return servers, list(collector.result().refused)


def _server(name: str, value: object) -> McpServer:
    entry = as_mapping(value)
    if entry is None:
        raise InvalidDataError(f"is {describe_type(value)}, not an object")
    if entry.get("disabled") is True or entry.get("enabled") is False:
        raise InvalidDataError("is disabled in the file")
    if entry.get("type") == "sse" or entry.get("transport") == "sse":
        raise InvalidDataError("uses SSE, which MCP has deprecated: use its streamable HTTP URL")
    url = entry.get("url", entry.get("serverUrl", ""))
    cwd = entry.get("cwd")
    return McpServer(
        name,
        command=_string(entry.get("command", ""), "command"),
        args=tuple(_string(arg, "args") for arg in _list(entry.get("args", []), "args")),
        env=_string_map(entry.get("env", {}), "env"),
        cwd=None if cwd is None else _string(cwd, "cwd"),
        url=_string(url, "url"),
        headers=_string_map(entry.get("headers", {}), "headers"),
    )


def _list(value: object, what: str) -> list[Any]:
    elements = as_list(value)
    if elements is None:
        raise InvalidDataError(f"its `{what}` is {describe_type(value)}, not a list")
    return elements


def _string_map(value: object, what: str) -> dict[str, str]:
    members = as_mapping(value)
    if members is None:
        raise InvalidDataError(f"its `{what}` is {describe_type(value)}, not an object")
    return {name: _string(text, f"{what}.{name}") for name, text in members.items() if text is not None}


def _string(value: object, what: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InvalidDataError(f"its `{what}` is {describe_type(value)}, not a string")
    return _VARIABLE.sub(_expand, str(value))


def _expand(match: re.Match[str]) -> str:
    name, separator, default = match[1].partition(":-")
    name = name.removeprefix("env:")  # as VS Code writes it
    if name in os.environ:
        return os.environ[name]
    if not separator:
        raise InvalidDataError(f"needs the environment variable {name!r}, which is not set")
    return default
