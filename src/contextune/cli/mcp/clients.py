"""Assistants that start MCP servers: where their configuration is, and what an entry looks like."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextune.errors import InvalidRequestError


@dataclass(frozen=True, slots=True)
class McpClient:
    """An assistant."""

    title: str
    key: str
    """The member of its configuration that holds the servers."""
    path: Callable[[], Path]
    """Its configuration file for this user."""
    typed: bool = False
    """Whether an entry names its transport."""
    next_step: str = "Restart it to connect."

    def entry(self, command: list[str], env: Mapping[str, str]) -> dict[str, Any]:
        """The entry of a server that this command starts."""
        transport = {"type": "stdio"} if self.typed else {}
        variables = {"env": dict(env)} if env else {}
        return {**transport, "command": command[0], "args": command[1:], **variables}


def client(name: str) -> McpClient:
    """The assistant of this name."""
    if name not in CLIENTS:
        raise InvalidRequestError(f"unknown client {name!r}: choose one of {', '.join(CLIENTS)}")
    return CLIENTS[name]


def _application_folder(name: str) -> Path:
    """The folder of an application's settings, which depends on the platform."""
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming") / name
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / name
    return _xdg_folder() / name


def _xdg_folder() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def _claude_code() -> Path:
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home()) / ".claude.json"


def _zed() -> Path:
    # macOS too: Zed has no folder under Library for its settings
    folder = _application_folder("Zed") if sys.platform == "win32" else _xdg_folder() / "zed"
    return folder / "settings.json"


CLIENTS: Mapping[str, McpClient] = {
    "claude-desktop": McpClient(
        "Claude Desktop", "mcpServers", lambda: _application_folder("Claude") / "claude_desktop_config.json"
    ),
    "claude-code": McpClient(
        "Claude Code",
        "mcpServers",
        _claude_code,
        typed=True,
        next_step="Start a new session to connect; /mcp shows it.",
    ),
    "cursor": McpClient(
        "Cursor",
        "mcpServers",
        lambda: Path.home() / ".cursor" / "mcp.json",
        next_step="Restart it and switch the server on in its MCP settings.",
    ),
    "vscode": McpClient(
        "VS Code",
        "servers",
        lambda: _application_folder("Code") / "User" / "mcp.json",
        typed=True,
        next_step="Start the server with “MCP: List Servers” in the command palette.",
    ),
    "zed": McpClient(
        "Zed",
        "context_servers",
        _zed,
        next_step="It connects at once; the agent panel's settings show it.",
    ),
}
