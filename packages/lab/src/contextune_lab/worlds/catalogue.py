"""The tools that a world is asked with: its own names, or other names for the same tools."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from contextune.evaluate.outcomes import JudgedCall
from contextune.types import Plan, Tool


@dataclass(frozen=True)
class OriginalNames:
    """What a renamed tool and its arguments are called in the catalogue that requests are written for."""

    tool: str
    """The tool's id."""
    arguments: Mapping[str, str]
    """Original names of arguments by the new ones."""


@dataclass(frozen=True, eq=False)
class ToolCatalogue:
    """Tools, and how to translate calls of them into the names that requests are written for."""

    tools: Sequence[Tool]
    originals: Mapping[str, OriginalNames] = field(default_factory=dict[str, OriginalNames])
    """By id of the renamed tool; empty if nothing is renamed."""
    name: str = ""
    """Of the variant; empty for the original names."""

    def tool_id(self, tool: str) -> str:
        """The original id of a tool."""
        return self.originals[tool].tool if tool in self.originals else tool

    def call(self, plan: Plan) -> JudgedCall:
        """The call of a plan in the original names."""
        if plan.tool not in self.originals:
            return JudgedCall.of(plan)
        names = self.originals[plan.tool]
        return JudgedCall(
            names.tool, {names.arguments.get(name, name): value for name, value in plan.args.items()}
        )
