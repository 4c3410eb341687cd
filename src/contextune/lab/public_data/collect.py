"""What a benchmark's files give: a toolset, and the requests that were left out of it."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

from contextune.errors import InvalidDataError
from contextune.lab.public_data.toolset import LabelledRequest, Toolset, distinct
from contextune.types import Tool

UNKNOWN = "a tool it needs is unknown"
UNNAMED = "no tool is named for it"
TEXTLESS = "it has no text"
TESTED = "the test part asks it too"


@dataclass(frozen=True, slots=True)
class SkippedRequest:
    """A request that was left out, and why; `detail` names what was in the way."""

    id: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, eq=False)
class PublicBenchmark:
    """A benchmark as read: its toolset, and the requests that are not in it."""

    toolset: Toolset
    skipped: tuple[SkippedRequest, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many requests were left out for each reason."""
        return dict(Counter(one.reason for one in self.skipped))


class ToolsetBuilder:
    """Tools and requests as they are read; each tool is taken once under its key."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._tools: list[Tool] = []
        self._places: dict[Hashable, int] = {}
        self._queries: dict[str, LabelledRequest] = {}
        self._skipped: list[SkippedRequest] = []

    def put(self, key: Hashable, tool: Callable[[], Tool]) -> int:
        """The place of the tool with this key; it is only made when the key is new."""
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = len(self._tools)
            self._tools.append(tool())
        return place

    def place(self, key: Hashable) -> int | None:
        """Where the tool with this key is, if there is one."""
        return self._places.get(key)

    def ask(self, name: str, text: str, tools: Iterable[int], split: str, where: str) -> None:
        """Take a request in; one without words is left out."""
        if name in self._queries:
            raise InvalidDataError(f"{where}: another request has the id {name!r} too: give each its own")
        if text.strip():
            self._queries[name] = LabelledRequest(name, text, frozenset(tools), split)
        else:
            self.skip(name, TEXTLESS)

    def asked(self, name: str) -> bool:
        """Whether a request of this id was taken in."""
        return name in self._queries

    def skip(self, name: str, reason: str, detail: str = "") -> None:
        """Leave a request out."""
        self._skipped.append(SkippedRequest(name, reason, detail))

    def published(self) -> PublicBenchmark:
        """All there is."""
        toolset = Toolset(self._name, tuple(distinct(self._tools)), tuple(self._queries.values()))
        return PublicBenchmark(toolset, tuple(self._skipped))
