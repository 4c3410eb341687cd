"""The filter of the tools that a caller may use."""

from dataclasses import dataclass

from contextune.serve.mcp.permissions import ToolPermissions
from contextune.tools import ToolFilter
from contextune.types import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class PermittedTools(ToolFilter):
    """Accepts the tools that a caller may use."""

    permissions: ToolPermissions

    def __call__(self, tool: Tool) -> bool:
        """Whether the caller may use this tool."""
        return self.permissions(tool.id)
