"""What a tool does, read off its own words and schema, whatever it is called: `ToolProfile`."""

from contextune.tools.profiles.effects import EFFECTS, Effect, ToolEffect, tool_effect
from contextune.tools.profiles.profile import ToolProfile, tool_profile

__all__ = ["EFFECTS", "Effect", "ToolEffect", "ToolProfile", "tool_effect", "tool_profile"]
