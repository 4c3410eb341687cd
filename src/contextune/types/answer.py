"""What is found for a request, the call to make, and why."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast, overload

from contextune.types.data import Item
from contextune.types.request import Request
from contextune.types.tool import Tool


class Reasons(Sequence[str]):
    """Why something was found, worked out when first looked at: finding is quicker than explaining."""

    __slots__ = ("_explain", "_said")

    def __init__(self, explain: Callable[[], Sequence[str]]) -> None:
        self._explain: Callable[[], Sequence[str]] | None = explain
        self._said: tuple[str, ...] = ()

    def _all(self) -> tuple[str, ...]:
        if self._explain is not None:
            self._said, self._explain = tuple(self._explain()), None
        return self._said

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        """One of them, or some."""
        return self._all()[index]

    def __len__(self) -> int:
        """How many there are."""
        return len(self._all())

    def __eq__(self, other: object) -> bool:
        """Equal to whatever says the same."""
        return isinstance(other, Sequence) and self._all() == tuple(cast("Sequence[object]", other))

    def __hash__(self) -> int:
        """Of what they say."""
        return hash(self._all())

    def __repr__(self) -> str:
        """As a tuple of words."""
        return repr(self._all())


@dataclass(frozen=True, slots=True)
class ItemHit:
    """An item found for a request, with its score and the reasons in words."""

    item: Item
    score: float
    reasons: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ToolHit:
    """A tool found for a request, with its score and the reasons in words."""

    tool: Tool
    score: float
    reasons: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """Where a value was read: in a field of an item or contact, in words that were said, or both together.

    `kind` is one of item, contact, said, time, place, profile, choice (one of the values a schema names),
    frame (words put together by a pattern) and step (an earlier call of several has or gives it).
    """

    kind: str
    item: str | None = None
    """The id of the item, or the name of the contact."""
    field: str | None = None
    words: str = ""
    """Those of the request, or of the field, that it was read from."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One value of a call, where it comes from, and how probable it is that it is right."""

    value: Any = field(hash=False)
    sources: tuple[Source, ...] = ()
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Missing:
    """An argument the call cannot do without and nothing says: what to ask the user for it."""

    argument: str
    question: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The call to make. With something `missing` it is not to be made before the user has been asked."""

    tool: str
    """The id of the tool in its catalogue, such as `Mail/reply_to_email`."""
    arguments: Mapping[str, Argument] = field(default_factory=dict[str, Argument], hash=False)
    confidence: float = 1.0
    missing: tuple[Missing, ...] = ()
    name: str = ""
    """The tool's own name, such as `reply_to_email`."""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.tool)

    @property
    def args(self) -> dict[str, Any]:
        """The values alone, by name."""
        return {name: argument.value for name, argument in self.arguments.items()}

    @property
    def ready(self) -> bool:
        """Whether there is nothing left to ask."""
        return not self.missing


@dataclass(frozen=True, slots=True)
class Answer:
    """All that Contextune has to say to one request. `seconds` holds the time each stage took."""

    request: Request
    context: tuple[ItemHit, ...] = ()
    tools: tuple[ToolHit, ...] = ()
    plan: Plan | None = None
    seconds: Mapping[str, float] = field(default_factory=dict[str, float], hash=False)
    fits: float | None = None
    """How probable it is that any tool of the catalogue serves the request."""
    queries: tuple[str, ...] = ()
    """What a language model wrote to search for tools with, where one was asked."""
