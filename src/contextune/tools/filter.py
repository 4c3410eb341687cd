"""ToolFilter: restrict a search to some servers, or by what tools declare about their effects."""

from collections.abc import Collection
from dataclasses import dataclass

from contextune.errors import InvalidRequestError
from contextune.types import Tool


@dataclass(frozen=True, slots=True)
class ToolFilter:
    """Restricts which tools a search may return. None means no restriction.

    A tool without annotations counts as not read-only and possibly destructive.
    """

    servers: Collection[str] | None = None
    read_only: bool | None = None
    destructive: bool | None = None

    def __post_init__(self) -> None:
        if isinstance(self.servers, str):  # a string is a collection of characters too
            raise InvalidRequestError(f"servers must be a list of names, not the string {self.servers!r}")

    def __call__(self, tool: Tool) -> bool:
        """Whether a search may return this tool."""
        annotations = tool.annotations
        return (
            (self.servers is None or tool.app in self.servers)
            and (self.read_only is None or bool(annotations.read_only) == self.read_only)
            and (self.destructive is None or may_be_destructive(tool) == self.destructive)
        )


def may_be_destructive(tool: Tool) -> bool:
    """True unless the tool declares itself read-only or not destructive."""
    annotations = tool.annotations
    return not annotations.read_only and annotations.destructive is not False
