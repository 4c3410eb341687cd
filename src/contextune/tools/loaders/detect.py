"""load_tools: detect the format of a file, URL or Python value, and load its tools."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from contextune.errors import InvalidDataError
from contextune.tools.catalog import LoadedTools
from contextune.tools.definitions.documents import parse_json, read_document, read_text
from contextune.tools.definitions.schemas import load_schemas
from contextune.tools.definitions.validation import ToolCollector, as_list, as_mapping, describe_type
from contextune.tools.loaders.functions import load_functions
from contextune.tools.loaders.jsonl import load_jsonl
from contextune.tools.loaders.openapi import load_openapi
from contextune.tools.mcp.approvals import ApprovalFile
from contextune.tools.mcp.config import McpServer
from contextune.tools.mcp.load import is_url, load_mcp
from contextune.tools.toolbox import read_toolbox

_JSON_LINES = (".jsonl", ".ndjson")

ToolSource = (
    str
    | Path
    | McpServer
    | Mapping[str, Any]
    | Callable[..., object]
    | Iterable[Callable[..., object]]
    | Iterable[Mapping[str, Any]]
)


def load_tools(
    source: ToolSource, *, app: str | None = None, approvals: ApprovalFile | None = None
) -> LoadedTools:
    """Load tools from any supported source.

    - a file: OpenAPI 3, `mcp.json`, JSON Lines, a YAML toolbox, or schemas of OpenAI, Anthropic or MCP
    - the URL of an MCP server, or an `McpServer`
    - the content of such a file as a mapping, or a list of tool schemas
    - a Python function, or a list of them

    `app` is the application of tools that do not name one. The servers of an `mcp.json` are started; with
    `approvals`, their tools that have changed since they were approved are refused.
    """
    if isinstance(source, McpServer) or is_url(source):
        return load_mcp(cast("McpServer | str", source), app=app, approvals=approvals)
    if isinstance(source, str | Path):
        return _load_file(Path(source), app, approvals)
    if isinstance(source, Mapping):
        return _load_document(cast("Mapping[str, Any]", source), None, app, approvals)
    entries = [source] if callable(source) else list(source)
    if entries and all(map(callable, entries)):
        return load_functions(*cast("list[Callable[..., object]]", entries), app=app or "")
    return load_schemas(cast("list[Mapping[str, Any]]", entries), app or "")


def _load_file(path: Path, app: str | None, approvals: ApprovalFile | None) -> LoadedTools:
    if path.is_dir():
        raise InvalidDataError(f"{path}: is a folder: pass a file in it")
    if set(path.suffixes[-2:]) & set(_JSON_LINES) or _is_json_lines(path):
        return load_jsonl(path, app or "")
    return _load_document(read_document(path), path, app, approvals)


def _load_document(
    content: object, path: Path | None, app: str | None, approvals: ApprovalFile | None
) -> LoadedTools:
    """Load parsed JSON or YAML; `path` is the file it is from, if any."""
    members = as_mapping(content) or {}
    where = f"{path}: " if path else ""
    if "openapi" in members:
        return load_openapi(path or members, app)
    if "swagger" in members:
        raise InvalidDataError(f"{where}is Swagger {members['swagger']}: convert it to OpenAPI 3 first")
    if as_mapping(members.get("mcpServers", members.get("servers"))) is not None:
        return load_mcp(path or members, app=app, approvals=approvals)
    if path and _is_toolbox(content):
        return _load_toolbox(path)
    if as_list(content) is not None or members.keys() & {"tools", "result", "name", "function"}:
        try:
            return load_schemas(cast("Mapping[str, Any]", content), app or "")
        except InvalidDataError as error:
            raise InvalidDataError(f"{where}{error}") from None
    raise InvalidDataError(
        f"{where}contains {describe_type(content)}, not a toolbox, mcp.json, OpenAPI or list of tools"
    )


def _is_json_lines(path: Path) -> bool:
    """Whether the first two lines are JSON objects, whatever the file's name."""
    lines = [line for line in read_text(path).splitlines() if line.strip()][:2]
    try:
        return len(lines) == 2 and all(as_mapping(parse_json(line)) is not None for line in lines)
    except ValueError:
        return False


def _is_toolbox(content: object) -> bool:
    first = as_mapping((as_list(content) or [None])[0])
    return first is not None and "app" in first and "name" not in first


def _load_toolbox(path: Path) -> LoadedTools:
    collector = ToolCollector()
    for tool in read_toolbox(path):
        with collector.attempt(tool.id):
            collector.add(tool)
    return collector.result()
