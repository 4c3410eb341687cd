"""Catalog: the tools an assistant has, by unique id, in a stable order."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

from contextune.errors import InvalidDataError
from contextune.types import Tool


@dataclass(frozen=True, slots=True)
class RefusedTool:
    """A tool that could not be loaded, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class LoadedTools:
    """The tools of a file or server, and those that could not be loaded."""

    tools: tuple[Tool, ...]
    refused: tuple[RefusedTool, ...] = ()


class Catalog(Sequence[Tool]):
    """An immutable sequence of tools with unique ids."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._by_id: dict[str, Tool] = {}
        for tool in tools:
            if self._by_id.setdefault(tool.id, tool) != tool:
                raise InvalidDataError(
                    f"two different tools have the id {tool.id!r}: give their servers different names"
                )
        self._tools = tuple(self._by_id.values())
        self._identities: dict[str, str] = {}

    @overload
    def __getitem__(self, index: int) -> Tool: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Tool, ...]: ...
    def __getitem__(self, index: int | slice) -> Tool | tuple[Tool, ...]:
        """The tool at a position, or the tools of a slice."""
        return self._tools[index]

    def __len__(self) -> int:
        """The number of tools."""
        return len(self._tools)

    def __iter__(self) -> Iterator[Tool]:
        """Iterate over the tools in order."""
        return iter(self._tools)

    def at(self, positions: Sequence[int]) -> list[Tool]:
        """The tools at some positions."""
        return [self[position] for position in positions]

    def tool(self, name: str) -> Tool:
        """The tool with this id, or with this name if only one server has it."""
        if name in self._by_id:
            return self._by_id[name]
        return only_tool(name, self._by_name.get(name, ()))

    def duplicates(self, tool: Tool) -> list[Tool]:
        """The same tool on other servers."""
        others = [other for other in self._by_name.get(tool.name, ()) if other.id != tool.id]
        identity = tool.identity if others else ""
        return [other for other in others if self._identity(other) == identity]

    @cached_property
    def _by_name(self) -> Mapping[str, Sequence[Tool]]:
        by_name: dict[str, list[Tool]] = defaultdict(list)
        for tool in self._tools:
            by_name[tool.name].append(tool)
        return dict(by_name)

    def _identity(self, tool: Tool) -> str:
        """`tool.identity`, cached: all tools of one name are compared with each other."""
        if tool.id not in self._identities:
            self._identities[tool.id] = tool.identity
        return self._identities[tool.id]


def only_tool(name: str, matches: Sequence[Tool]) -> Tool:
    """The only one of the tools with this name; raise `InvalidDataError` if there are none or several."""
    if len(matches) == 1:
        return matches[0]
    if matches:
        ids = ", ".join(repr(tool.id) for tool in matches[:3])
        raise InvalidDataError(f"more than one tool is named {name!r}: use an id, such as {ids}")
    raise InvalidDataError(f"there is no tool {name!r} in the catalogue")
