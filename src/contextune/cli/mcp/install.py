"""`contextune mcp install`: enter the server in the configuration of an assistant that starts MCP servers."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from contextune._internal.postgres_url import is_postgres
from contextune.cli.mcp.jsonc import load_jsonc, remove_member, set_member
from contextune.cli.options import PolicySettings, ServersFile, StoreName, UserName, open_store, resolve_user
from contextune.errors import InvalidDataError, InvalidRequestError

BACKUP_SUFFIX = ".contextune-backup"


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


def install(
    name: Annotated[str, typer.Argument(metavar="CLIENT", help=f"One of {', '.join(CLIENTS)}.")],
    user: UserName = None,
    store: StoreName = None,
    catalog: ServersFile = None,
    tools: Annotated[
        Path | None,
        typer.Option(envvar="CONTEXTUNE_CATALOG", help="Catalogue of the tools to plan calls for."),
    ] = None,
    policy: PolicySettings = "",
    entry: Annotated[str, typer.Option(help="Name of the entry.")] = "contextune",
    config: Annotated[
        Path | None, typer.Option(help="The configuration file; default: the client's own.")
    ] = None,
    show: Annotated[
        bool, typer.Option("--print", help="Print the file as it would be, and write nothing.")
    ] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the entry instead.")] = False,
) -> None:
    """Enter this server in the configuration of an assistant, or remove it.

    Serves the data of --user (default: the only user of the store), the servers of --catalog, or both.
    Comments and other entries stay as they are; the file as it was is kept beside it, as
    NAME.contextune-backup.
    """
    from contextune.cli import output

    assistant = client(name)
    path = (config or assistant.path()).expanduser().resolve()  # a link to a file elsewhere stays one
    text = _read(path, assistant, chosen=config is not None)
    keys = (assistant.key, entry)
    if remove:
        edited = _edit(path, lambda: remove_member(text, keys))
    else:
        arguments, env = _server_arguments(user, store, catalog, tools, policy)
        value = assistant.entry([*_program(), "mcp", *arguments], env)
        if _member(_edit(path, lambda: load_jsonc(text)), keys) == value:
            output.err.print(f"{entry} is in {path} already: nothing to change", markup=False, soft_wrap=True)
            return
        edited = _edit(path, lambda: set_member(text, keys, value))
    if show:
        typer.echo(edited, nl=not edited.endswith("\n"))
        return
    backup = _write(path, edited)
    done = f"Removed {entry} from" if remove else f"Entered {entry} in"
    output.err.print(f"{done} {path}", markup=False, highlight=False, soft_wrap=True)
    if backup:
        output.err.print(f"The file as it was: {backup}", markup=False, highlight=False, soft_wrap=True)
    if not remove:
        output.err.print(f"{assistant.title}: {assistant.next_step}", markup=False, highlight=False)


def _server_arguments(
    user: str | None, store: str | None, catalog: Path | None, tools: Path | None, policy: str
) -> tuple[list[str], dict[str, str]]:
    """Options of `contextune mcp`, with absolute paths, and variables for what may hold a password."""
    arguments: list[str] = []
    env: dict[str, str] = {}
    if user or not catalog:
        with open_store(store) as opened:
            owner = resolve_user(opened, user)
            opened.user(owner)
        arguments += ["--user", owner]
        if store and is_postgres(store):
            env["CONTEXTUNE_STORE"] = store
        elif store:
            arguments += ["--store", str(Path(store).expanduser().absolute())]
    for option, path in (("--catalog", catalog), ("--tools", tools)):
        if path:
            if not path.is_file():
                raise InvalidRequestError(f"there is no file {str(path)!r} for {option}")
            arguments += [option, str(path.absolute())]
    if policy:
        arguments += ["--policy", policy]
    return arguments, env


def _program() -> list[str]:
    """The command that starts this program in any folder, with an absolute path."""
    suffix = ".exe" if sys.platform == "win32" else ""
    script = Path(sys.executable).with_name(f"contextune{suffix}")
    return [str(script)] if script.is_file() else [sys.executable, "-m", "contextune"]


def _read(path: Path, assistant: McpClient, *, chosen: bool) -> str:
    if not path.parent.is_dir():
        remedy = "name a file in an existing folder" if chosen else "start it once, or pass --config FILE"
        raise InvalidRequestError(f"no {assistant.title} here: there is no folder {path.parent} ({remedy})")
    try:
        return path.read_bytes().decode("utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidDataError(f"{path}: cannot be read: {error}") from None


def _edit(path: Path, edit: "Callable[[], Any]") -> Any:
    try:
        return edit()
    except InvalidDataError as error:
        raise InvalidDataError(f"{path}: {error} (nothing was changed)") from None


def _member(data: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        data = cast("dict[str, Any]", data).get(key) if isinstance(data, dict) else None
    return data


def _write(path: Path, text: str) -> Path | None:
    """Replace the file in one step; return where the old one was kept."""
    backup = path.with_name(path.name + BACKUP_SUFFIX) if path.exists() else None
    try:
        if backup:
            shutil.copy2(path, backup)
        with tempfile.NamedTemporaryFile("wb", dir=path.parent, prefix=path.name, delete=False) as new:
            new.write(text.encode())
        try:
            if backup:
                shutil.copymode(path, new.name)
            Path(new.name).replace(path)
        except OSError:
            Path(new.name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InvalidDataError(f"cannot write {path}: {error.strerror}; nothing was changed") from None
    return backup
