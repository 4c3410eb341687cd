"""Adapters for agent frameworks and model APIs: one module each, imported on demand."""

from contextune.integrations._finder import AssistantTurn, ToolCallTurn, UserTurn
from contextune.integrations.shortlist import Shortlist
from contextune.integrations.tools_for_turn import ToolsForTurn
from contextune.integrations.user_context import UserContext

__all__ = ["AssistantTurn", "Shortlist", "ToolCallTurn", "ToolsForTurn", "UserContext", "UserTurn"]
