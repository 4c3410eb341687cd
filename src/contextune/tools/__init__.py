"""What an assistant can call."""

from contextune.tools.toolbox import bundled_toolbox, read_toolbox

__all__ = ["bundled_toolbox", "read_toolbox"]
