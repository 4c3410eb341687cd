"""`LazyCatalog`: the tools of a large catalogue, read when they are needed."""

from collections.abc import Iterator, Sequence
from typing import Protocol, overload

from contextune.tools.catalog import Catalog, only_tool
from contextune.types import Tool

_PAGE = 1000


class ToolSource(Protocol):
    """Where the tools are: `CatalogFile` or `PostgresCatalog`."""

    def count(self) -> int:
        """The number of tools."""
        ...

    def page(self, after: int, size: int) -> Sequence[tuple[int, Tool]]:
        """The next `size` tools after a place, each with its place."""
        ...

    def tool_with_id(self, id: str) -> Tool | None:  # noqa: A002
        """The tool with this id, if there is one."""
        ...

    def tools_named(self, name: str) -> Sequence[Tool]:
        """The tools of all servers with this name, in order."""
        ...


class LazyCatalog(Catalog):
    """A catalogue that reads its tools from a source."""

    def __init__(self, source: ToolSource) -> None:
        self._source = source

    @overload
    def __getitem__(self, index: int) -> Tool: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Tool, ...]: ...
    def __getitem__(self, index: int | slice) -> Tool | tuple[Tool, ...]:
        """The tool at a position, or the tools of a slice; reads all tools before it."""
        return tuple(self)[index]

    def __len__(self) -> int:
        """The number of tools."""
        return self._source.count()

    def __iter__(self) -> Iterator[Tool]:
        """Iterate over the tools in order, reading a page at a time."""
        place = -1
        while page := self._source.page(place, _PAGE):
            yield from (tool for _, tool in page)
            place = page[-1][0]

    def tool(self, name: str) -> Tool:
        """The tool with this id, or with this name if only one server has it."""
        return self._source.tool_with_id(name) or only_tool(name, self._source.tools_named(name))

    def duplicates(self, tool: Tool) -> list[Tool]:
        """The same tool on other servers."""
        others = self._source.tools_named(tool.name)
        return [other for other in others if other.id != tool.id and other.identity == tool.identity]
