"""Which tools may be found."""

from collections.abc import Collection
from dataclasses import dataclass

from contextune.errors import InvalidRequestError
from contextune.types import Tool


@dataclass(frozen=True, slots=True)
class ToolFilter:
    """Which tools may be found. None leaves a thing open; an annotation a tool does not make is not met."""

    servers: Collection[str] | None = None
    read_only: bool | None = None
    destructive: bool | None = None

    def __post_init__(self) -> None:
        if isinstance(self.servers, str):  # a text is a collection of its letters, and "" is in every text
            raise InvalidRequestError(f"servers={self.servers!r} is one text: give a list of names")

    def __call__(self, tool: Tool) -> bool:
        """Whether this tool may be found."""
        said = tool.annotations
        return (
            (self.servers is None or tool.app in self.servers)
            and (self.read_only is None or bool(said.read_only) == self.read_only)
            and (self.destructive is None or may_destroy(tool) == self.destructive)
        )


def may_destroy(tool: Tool) -> bool:
    """A tool that says nothing of itself may well destroy something, unless it only reads."""
    said = tool.annotations
    return not said.read_only and said.destructive is not False
