"""Output of a tool search, in the format of MCP's `tools/list`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field

from contextune.serve.mcp.tool import ToolOutput, mcp_annotations
from contextune.types import Tool

if TYPE_CHECKING:
    from contextune.tools import ToolMatches


class ToolEntry(ToolOutput):
    """A tool as its server describes it."""

    name: str = Field(description="Name to call the tool by.")
    title: str | None = None
    description: str
    input_schema: dict[str, Any] = Field(
        serialization_alias="inputSchema", description="Schema of the arguments."
    )
    annotations: dict[str, bool] | None = Field(
        default=None, description="Effects, as the server states them."
    )
    why: list[str] | None = Field(default=None, description="Why it was found.")

    @classmethod
    def from_tool(cls, tool: Tool, why: list[str] | None = None) -> "ToolEntry":
        """The entry of a catalogue's tool; `why` are the reasons for its rank."""
        return cls(
            name=tool.id,
            title=tool.title or None,
            description=tool.description,
            input_schema={"type": "object", **tool.parameters},
            annotations=mcp_annotations(tool.annotations) or None,
            why=why,
        )


class ToolSearchResult(ToolOutput):
    """The tools that fit best, best first."""

    tools: list[ToolEntry]
    fits: float | None = Field(
        default=None, description="How probable it is that any tool there is serves this."
    )
    note: str | None = Field(default=None, description="What else to know.")

    @classmethod
    def from_matches(cls, matches: "ToolMatches", *notes: str, why: bool = False) -> "ToolSearchResult":
        """The matches with a note if probably none fits; `why` adds reasons."""
        note = " ".join(filter(None, (doubt_note(matches), *notes)))
        return cls(
            tools=[ToolEntry.from_tool(hit.tool, list(hit.reasons) if why else None) for hit in matches.hits],
            fits=None if matches.fits is None else round(matches.fits, 2),
            note=note or None,
        )


def doubt_note(matches: "ToolMatches") -> str:
    """A note to the model if probably no tool fits, else an empty string."""
    if not matches.hits:
        return "There is no tool to choose from: go on without one."
    if not matches.none_fits:
        return ""
    return (
        "Probably none of the tools there are serves this; these are the nearest."
        f"{unknown_words_note(matches.unknown_words)}"
        " Search in other words, or go on without a tool."
    )


def unknown_words_note(words: Sequence[str]) -> str:
    """A sentence with the words of the request that no tool's text has, after a space; empty without any."""
    return f" No tool mentions: {', '.join(words)}." if words else ""
