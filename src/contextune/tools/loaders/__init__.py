"""Loaders: one module per format; `load_tools` detects which one a source needs."""

from contextune.tools.definitions.schemas import load_schemas
from contextune.tools.loaders.detect import load_tools
from contextune.tools.loaders.functions import load_functions
from contextune.tools.loaders.jsonl import load_jsonl, tool_to_json
from contextune.tools.loaders.openapi import load_openapi
from contextune.tools.mcp.config import McpServer
from contextune.tools.mcp.live_catalog import LiveCatalog
from contextune.tools.mcp.load import load_mcp

__all__ = [
    "LiveCatalog",
    "McpServer",
    "load_functions",
    "load_jsonl",
    "load_mcp",
    "load_openapi",
    "load_schemas",
    "load_tools",
    "tool_to_json",
]
