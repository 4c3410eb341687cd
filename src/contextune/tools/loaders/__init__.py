"""Whatever tools are written down in → tools. One module a format; `load_tools` guesses which."""

from pathlib import Path

from contextune.errors import InvalidDataError
from contextune.tools.catalog import LoadedTools
from contextune.tools.documents import parse_json, read_document, read_text
from contextune.tools.loaders.functions import load_functions
from contextune.tools.loaders.jsonl import load_jsonl, tool_json
from contextune.tools.loaders.openapi import load_openapi
from contextune.tools.mcp.config import McpServer
from contextune.tools.mcp.live_catalog import LiveCatalog
from contextune.tools.mcp.load import is_url, load_mcp
from contextune.tools.schemas import load_schemas
from contextune.tools.toolbox import read_toolbox
from contextune.tools.validation import ToolCollector, items, kind_of, mapping

__all__ = [
    "LiveCatalog",
    "McpServer",
    "load_functions",
    "load_jsonl",
    "load_mcp",
    "load_openapi",
    "load_schemas",
    "load_tools",
    "tool_json",
]

_LINES = (".jsonl", ".ndjson")


def load_tools(source: str | Path, *, app: str | None = None) -> LoadedTools:
    """The tools of a file in any format Contextune reads, or of the MCP server at a URL.

    `app` is where tools belong that do not say it themselves. The servers of an `mcp.json` are started.
    """
    if is_url(source):
        return load_mcp(str(source), app=app)
    path = Path(source)
    if path.is_dir():
        raise InvalidDataError(f"{path}: is a folder: name a file in it")
    if set(path.suffixes[-2:]) & set(_LINES) or _is_lines(path):
        return load_jsonl(path, app or "")
    content = read_document(path)
    found = mapping(content) or {}
    if "openapi" in found:
        return load_openapi(path, app)
    if "swagger" in found:
        raise InvalidDataError(f"{path}: is Swagger {found['swagger']}: convert it to OpenAPI 3 first")
    if mapping(found.get("mcpServers", found.get("servers"))) is not None:
        return load_mcp(path, app=app)
    if _is_toolbox(content):
        return _toolbox(path)
    if items(content) is not None or found.keys() & {"tools", "result", "name", "function"}:
        try:
            return load_schemas(content, app or "")  # pyright: ignore[reportArgumentType]  # it looks for itself
        except InvalidDataError as error:
            raise InvalidDataError(f"{path}: {error}") from None
    raise InvalidDataError(
        f"{path}: holds {kind_of(content)} that is no toolbox, mcp.json, OpenAPI document or list of tools"
    )


def _is_lines(path: Path) -> bool:
    """Whether it is one JSON value a line, whatever the name says."""
    lines = [line for line in read_text(path).splitlines() if line.strip()][:2]
    try:
        return len(lines) == 2 and all(mapping(parse_json(line)) is not None for line in lines)
    except ValueError:
        return False


def _is_toolbox(content: object) -> bool:
    first = mapping((items(content) or [None])[0])
    return first is not None and "app" in first and "name" not in first


def _toolbox(path: Path) -> LoadedTools:
    taking = ToolCollector()
    for tool in read_toolbox(path):
        with taking.each(tool.id):
            taking.add(tool)
    return taking.loaded()
