"""`PermittedTools`: the permissions of a caller as a filter of tools.

A module of its own: servers are listed before the modules of tools are loaded.
"""

from collections.abc import Callable
from dataclasses import dataclass

from contextune.serve.mcp.permissions import ToolPermissions
from contextune.tools import ToolFilter
from contextune.types import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class PermittedTools(ToolFilter):
    """Accepts the tools that a caller may use."""

    permissions: ToolPermissions
    is_usable: Callable[[Tool], bool] | None = None
    """Whether a tool is still offered as it is defined here; None if all are."""

    def __call__(self, tool: Tool) -> bool:
        """Whether the caller may use this tool."""
        return (self.is_usable is None or self.is_usable(tool)) and self.permissions(tool.id)
