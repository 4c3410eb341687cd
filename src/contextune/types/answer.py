"""Results: hits, plans and answers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast, overload

from contextune.types.data import Contact
from contextune.types.item import Item
from contextune.types.request import Request
from contextune.types.tool import Tool


class Reasons(Sequence[str]):
    """Reasons in words, computed on first access: explaining costs more than ranking."""

    __slots__ = ("_explain", "_texts")

    def __init__(self, explain: Callable[[], Sequence[str]]) -> None:
        self._explain: Callable[[], Sequence[str]] | None = explain
        self._texts: tuple[str, ...] = ()

    def _all(self) -> tuple[str, ...]:
        if self._explain is not None:
            self._texts, self._explain = tuple(self._explain()), None
        return self._texts

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        """One reason, or a slice."""
        return self._all()[index]

    def __len__(self) -> int:
        """The number of reasons."""
        return len(self._all())

    def __eq__(self, other: object) -> bool:
        """Equal to any sequence with the same texts."""
        return isinstance(other, Sequence) and self._all() == tuple(cast("Sequence[object]", other))

    def __hash__(self) -> int:
        """Hash of the texts."""
        return hash(self._all())

    def __repr__(self) -> str:
        """The texts as a tuple."""
        return repr(self._all())


@dataclass(frozen=True, slots=True)
class ItemHit:
    """An item found for a request, with its score and the reasons in words."""

    item: Item
    score: float
    reasons: Sequence[str] = ()
    probability: float | None = None
    """That the request needs the item; None if the method does not say, or for items far behind."""


class ContextHits(list[ItemHit]):
    """The items found for a request, best first."""

    def __init__(self, hits: Iterable[ItemHit] = (), *, words_only: bool = False) -> None:
        super().__init__(hits)
        self.words_only = words_only
        """Whether they were ranked by words, uses and times, without vectors: those of the items are still
        being computed (`Tuner.preparation`), or the embedder cannot read the script of the request."""


@dataclass(frozen=True, slots=True)
class ToolHit:
    """A tool found for a request, with its score and the reasons in words."""

    tool: Tool
    score: float
    reasons: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """Where the value of an argument comes from.

    `kind` is one of item, contact, said (words of the request), time, place, profile, choice (a value
    listed in the tool's schema), frame (text built from a template) and step (the result of an earlier call).
    """

    kind: str
    item: str | None = None
    """The id of the item, or the name of the contact."""
    field: str | None = None
    words: str = ""
    """The words of the request or of the field that the value was read from."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One value of a call, its sources, and the probability that it is right."""

    value: Any = field(hash=False)
    sources: tuple[Source, ...] = ()
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Missing:
    """A required argument without a value, and the question to ask the user."""

    argument: str
    question: str
    unknown: str = ""
    """What the request says for it, if nobody and nothing stored is called that."""


Decision = Literal["act", "confirm", "ask", "none"]
"""What to do with a plan: make the call, have it confirmed, ask the user, or say that no tool serves."""


@dataclass(frozen=True, slots=True)
class Option:
    """One answer to a question: a short label, and the call it leads to."""

    label: str
    plan: "Plan"


@dataclass(frozen=True, slots=True)
class Question:
    """What to say to the user about a plan that must not be acted on yet."""

    text: str
    options: tuple[Option, ...] = ()
    """The readings to choose from, best first; a confirmation has one."""
    argument: str | None = None
    """The argument that is asked for; None if the question is about the whole call."""

    def choose(self, index: int) -> "Plan":
        """The call of an option that the user has chosen, ready unless it still lacks an argument."""
        return self.options[index].plan.accept()


@dataclass(frozen=True, slots=True)
class Plan:
    """A call, and the decision whether to make it."""

    tool: str
    """The id of the tool in its catalogue, such as `Mail/reply_to_email`."""
    arguments: Mapping[str, Argument] = field(default_factory=dict[str, Argument], hash=False)
    confidence: float = 1.0
    """Probability that this is the call that was meant."""
    missing: tuple[Missing, ...] = ()
    name: str = ""
    """The tool's own name, such as `reply_to_email`."""
    decision: Decision | None = None
    """The decision of the `Policy`; None if none has been made, as for a plan written by hand."""
    question: Question | None = None
    """What to say to the user, unless the decision is `act`."""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.tool)

    @property
    def args(self) -> dict[str, Any]:
        """The values by argument name."""
        return {name: argument.value for name, argument in self.arguments.items()}

    @property
    def ready(self) -> bool:
        """True if the decision is to make the call, and no required argument is missing."""
        return self.decision == "act" and not self.missing

    def accept(self) -> "Plan":
        """The plan after the user has agreed to it: to be acted on unless an argument is missing."""
        return self if self.missing else replace(self, decision="act", question=None)


OutcomeKind = Literal["chosen", "left", "unclear", "filled", "corrected", "talk"]
"""What a reply did: chose a call, left the question, was not clear, filled in or corrected a value, or
asked for nothing."""


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """How a request was understood as a reply to the turn before, and what to say to it."""

    kind: OutcomeKind
    text: str = ""
    """What to say, unless the plan of the answer says it."""


@dataclass(frozen=True, slots=True)
class TurnState:
    """What earlier turns left for a reply to refer to: pass `Answer.state` with the next request."""

    text: str = ""
    """The last request, as it was planned."""
    call: Plan | None = None
    """The last call, made or proposed."""
    pending: Plan | None = None
    """The call whose question has not been answered; its options are those to choose from."""
    items: tuple[str, ...] = ()
    """The ids of the items shown, in their order."""
    about: str | None = None
    """The id of the item last spoken of."""

    def showing(self, items: Sequence[str]) -> "TurnState":
        """The same, where these items were shown first: one thing, or the entries of a list."""
        rest = (item for item in self.items if item not in items)
        about = items[0] if len(items) == 1 else self.about
        return replace(self, items=(*items, *rest), about=about)


@dataclass(frozen=True, slots=True)
class Answer:
    """The full answer to a request. `seconds` holds the time each stage took."""

    request: Request
    context: tuple[ItemHit, ...] = ()
    tools: tuple[ToolHit, ...] = ()
    plan: Plan | None = None
    seconds: Mapping[str, float] = field(default_factory=dict[str, float], hash=False)
    fits: float | None = None
    """Probability that any tool of the catalogue can serve the request."""
    queries: tuple[str, ...] = ()
    """Search queries written by a language model, if one is configured."""
    words_only: bool = False
    """Whether the items were ranked without vectors, as `ContextHits.words_only` says."""
    unknown_words: tuple[str, ...] = ()
    """Words of the request that no tool and no item has: why nothing fits, if it does not."""
    people: tuple[Contact, ...] = ()
    """The contacts that the request means, best first, then those of the first items."""
    reply: TurnOutcome | None = None
    """How the request was understood as a reply; None for a request of its own."""
    state: TurnState = TurnState()
    """What the next request may refer to: pass it as `Request.state`."""
