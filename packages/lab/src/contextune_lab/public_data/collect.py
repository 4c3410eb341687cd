"""Collect a toolset and the skipped requests while reading a benchmark."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

from contextune.errors import InvalidDataError
from contextune.types import Tool
from contextune_lab.public_data.toolset import LabelledRequest, Toolset, distinct_names

UNKNOWN_TOOL = "unknown tool"
NO_TOOL = "no tool"
NO_TEXT = "no text"
ALSO_IN_TEST = "also in the test split"


@dataclass(frozen=True, slots=True)
class SkippedRequest:
    """A skipped request and the reason; `detail` names the cause, such as an unknown tool."""

    id: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, eq=False)
class PublicBenchmark:
    """A benchmark: its toolset and the requests that were skipped."""

    toolset: Toolset
    skipped: tuple[SkippedRequest, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Number of skipped requests by reason."""
        return dict(Counter(request.reason for request in self.skipped))


class ToolsetBuilder:
    """Collects tools and requests; each tool is added once under its key."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._tools: list[Tool] = []
        self._places: dict[Hashable, int] = {}
        self._queries: dict[str, LabelledRequest] = {}
        self._skipped: list[SkippedRequest] = []

    def add_tool(self, key: Hashable, tool: Callable[[], Tool]) -> int:
        """The place of the tool with this key; `tool` is called only for a new key."""
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = len(self._tools)
            self._tools.append(tool())
        return place

    def place_of(self, key: Hashable) -> int | None:
        """The place of the tool with this key, if there is one."""
        return self._places.get(key)

    def add_request(self, name: str, text: str, tools: Iterable[int], split: str, where: str) -> None:
        """Add a request; one without text is skipped."""
        if name in self._queries:
            raise InvalidDataError(f"{where}: duplicate request id {name!r}")
        if text.strip():
            self._queries[name] = LabelledRequest(name, text, frozenset(tools), split)
        else:
            self.skip(name, NO_TEXT)

    def has_request(self, name: str) -> bool:
        """Whether a request with this id was added."""
        return name in self._queries

    def skip(self, name: str, reason: str, detail: str = "") -> None:
        """Skip a request."""
        self._skipped.append(SkippedRequest(name, reason, detail))

    def build(self) -> PublicBenchmark:
        """The benchmark collected so far."""
        toolset = Toolset(self._name, tuple(distinct_names(self._tools)), tuple(self._queries.values()))
        return PublicBenchmark(toolset, tuple(self._skipped))
