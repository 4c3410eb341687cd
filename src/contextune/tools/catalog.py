"""The tools an assistant has: each under its own id, in an order that does not change by itself."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

from contextune.errors import InvalidDataError
from contextune.types import Tool


@dataclass(frozen=True, slots=True)
class RefusedTool:
    """A tool that could not be taken in, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class LoadedTools:
    """What a file or server gave: the tools, and those that were refused while the rest were taken."""

    tools: tuple[Tool, ...]
    refused: tuple[RefusedTool, ...] = ()


class Catalog(Sequence[Tool]):
    """Tools in the order given; immutable, so that whatever was built from it stays right."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._by_id: dict[str, Tool] = {}
        for tool in tools:
            if self._by_id.setdefault(tool.id, tool) != tool:
                raise InvalidDataError(
                    f"two different tools are called {tool.id!r}: give their servers different names"
                )
        self._tools = tuple(self._by_id.values())
        self._marks: dict[str, str] = {}

    @overload
    def __getitem__(self, index: int) -> Tool: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Tool, ...]: ...
    def __getitem__(self, index: int | slice) -> Tool | tuple[Tool, ...]:
        """By place."""
        return self._tools[index]

    def __len__(self) -> int:
        """How many tools there are."""
        return len(self._tools)

    def __iter__(self) -> Iterator[Tool]:
        """In their order."""
        return iter(self._tools)

    def tool(self, name: str) -> Tool:
        """The tool of this id; or of this name, if only one server has it."""
        if name in self._by_id:
            return self._by_id[name]
        named = self._named.get(name, ())
        if len(named) == 1:
            return named[0]
        if named:
            several = ", ".join(repr(tool.id) for tool in named[:3])
            raise InvalidDataError(f"more than one tool is called {name!r}: say which of {several}")
        raise InvalidDataError(f"there is no tool {name!r} in the catalogue")

    def twins(self, tool: Tool) -> list[Tool]:
        """The same tool as other servers offer it."""
        others = [other for other in self._named.get(tool.name, ()) if other.id != tool.id]
        mark = tool.identity if others else ""
        return [other for other in others if self._mark(other) == mark]

    @cached_property
    def _named(self) -> Mapping[str, Sequence[Tool]]:
        found: dict[str, list[Tool]] = defaultdict(list)
        for tool in self._tools:
            found[tool.name].append(tool)
        return dict(found)

    def _mark(self, tool: Tool) -> str:
        """Its identity, worked out once: among many of one name each is compared with each."""
        if tool.id not in self._marks:
            self._marks[tool.id] = tool.identity
        return self._marks[tool.id]
