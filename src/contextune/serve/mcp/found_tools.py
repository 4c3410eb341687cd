"""Tools that were found, as an MCP client is given them."""

from typing import Any

from pydantic import Field

from contextune.serve.mcp.tool import ToolOutput, hints
from contextune.tools import ToolMatches
from contextune.tuner import SERVED
from contextune.types import Tool


class FoundTool(ToolOutput):
    """A tool as its server describes it."""

    name: str = Field(description="What to call it by.")
    title: str | None = None
    description: str
    input_schema: dict[str, Any] = Field(serialization_alias="inputSchema", description="What it takes.")
    annotations: dict[str, bool] | None = Field(
        default=None, description="What its server says of its effects."
    )
    why: list[str] | None = Field(default=None, description="Why it was found.")

    @classmethod
    def of(cls, tool: Tool, why: list[str] | None = None) -> "FoundTool":
        """As it is in the catalogue."""
        return cls(
            name=tool.id,
            title=tool.title or None,
            description=tool.description,
            input_schema={"type": "object", **tool.parameters},
            annotations=hints(tool.annotations) or None,
            why=why,
        )


class FoundTools(ToolOutput):
    """The tools that fit best, best first."""

    tools: list[FoundTool]
    fits: float | None = Field(
        default=None, description="How probable it is that any tool there is serves this."
    )
    note: str | None = Field(default=None, description="What else to know.")

    @classmethod
    def of(cls, found: ToolMatches, *notes: str, why: bool = False) -> "FoundTools":
        """What was found, and a word of doubt where probably none of it serves; with reasons if wanted."""
        said = " ".join(filter(None, (doubt(found), *notes)))
        return cls(
            tools=[FoundTool.of(hit.tool, list(hit.reasons) if why else None) for hit in found.hits],
            fits=None if found.fits is None else round(found.fits, 2),
            note=said or None,
        )


def doubt(found: ToolMatches) -> str:
    """What to say where probably no tool serves; nothing where one does."""
    if not found.hits:
        return "There is no tool to choose from: go on without one."
    if not unlikely(found.fits):
        return ""
    return (
        "Probably none of the tools there are serves this; these are the nearest."
        " Search in other words, or go on without a tool."
    )


def unlikely(fits: float | None) -> bool:
    """Whether probably no tool serves, where that is known."""
    return fits is not None and fits < SERVED
