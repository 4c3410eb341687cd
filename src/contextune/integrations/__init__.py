"""Contextune where frameworks and model APIs ask for tools; one module each, imported when it is wanted."""

from contextune.integrations.tools_for_turn import ToolsForTurn

__all__ = ["ToolsForTurn"]
