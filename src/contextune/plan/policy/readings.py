"""`Readings`: the calls that a request may mean, each with its probability; what a policy decides on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from contextune.plan.planning_input import Planner, PlanningInput
from contextune.search import tokenize
from contextune.types import Plan, ToolHit


@dataclass(frozen=True, slots=True)
class Readings:
    """The calls that a request may mean; `Plan.confidence` is the probability of each.

    The first is the one to act on. A planner may put a call first that is not the most probable one: the
    policy then asks.
    """

    plans: tuple[Plan, ...] = ()
    none: float = 0.0
    """Probability that no tool here serves the request."""
    shows_first: bool = False
    """Whether the first call is only proposed, since its user should see what is in it."""
    asks_first: bool = False
    """Whether the request says another reading as well, so that the user chooses: two people of a name."""
    left_out: tuple[str, ...] = ()
    """Words of the request that the first call leaves out, if they are too many to make it unasked."""
    language: str | None = None
    """The language of the request, if plans are not made for it."""
    unknown_words: tuple[str, ...] = ()
    """Words of the request that no tool and no item has."""
    refused: bool | None = None
    """Whether the request is refused, if that has been decided already."""

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[Plan, float]], none: float = 0.0) -> "Readings":
        """Readings from calls and their probabilities, most probable first."""
        plans = [replace(plan, confidence=probability) for plan, probability in pairs]
        return cls(tuple(sorted(plans, key=lambda plan: -plan.confidence)), none)

    @classmethod
    def of_plan(cls, plan: Plan | None, fits: float | None = None) -> "Readings":
        """The only reading of a planner that knows no others; `fits`: probability that any tool serves."""
        return cls(() if plan is None else (plan,), 0.0 if fits is None else 1.0 - fits)

    def within_one(self) -> "Readings":
        """The readings in the same proportions, with probabilities that add up to at most 1 with `none`."""
        total, left = sum(plan.confidence for plan in self.plans), max(0.0, 1.0 - self.none)
        if total <= left:
            return self
        plans = tuple(replace(plan, confidence=plan.confidence * left / total) for plan in self.plans)
        return replace(self, plans=plans)

    def others(self) -> tuple[Plan, ...]:
        """The readings beside the first that are different calls, most probable first.

        A value that is only a part of another's is no other reading.
        """
        different: list[Plan] = []
        for plan in sorted(self.plans[1:], key=lambda plan: -plan.confidence):
            if not any(
                _is_same_call(plan, other) or _is_part(plan, other) for other in (self.plans[0], *different)
            ):
                different.append(plan)
        return tuple(different)


@runtime_checkable
class ReadingsPlanner(Planner, Protocol):
    """A planner that returns all readings of a request instead of the best one alone."""

    def readings(
        self, inputs: PlanningInput, tools: Sequence[ToolHit], fits: float | None = None
    ) -> Readings:
        """The readings of a request; the parameters are those of `Planner.plan`."""
        ...


def read_request(
    planner: Planner, inputs: PlanningInput, tools: Sequence[ToolHit], fits: float | None = None
) -> Readings:
    """All readings of a planner that has several, else its only one."""
    if isinstance(planner, ReadingsPlanner):
        return planner.readings(inputs, tools, fits)
    return Readings.of_plan(planner.plan(inputs, tools, fits), fits)


def is_namesake(plan: Plan, other: Plan) -> bool:
    """Whether two calls differ in one argument, whose values share a word: Jan Novak and Jan Peters."""
    if plan.tool != other.tool or plan.args.keys() != other.args.keys():
        return False
    values = [(value, other.args[name]) for name, value in plan.args.items() if value != other.args[name]]
    if len(values) != 1 or not all(isinstance(value, str) for value in values[0]):
        return False
    first, second = (frozenset(tokenize(str(value).partition("@")[0])) for value in values[0])
    return bool(first & second)


def _is_same_call(plan: Plan, other: Plan) -> bool:
    return (plan.tool, plan.args) == (other.tool, other.args)


def _is_part(plan: Plan, other: Plan) -> bool:
    """Whether two calls differ in one value, which is a span of a text and part of the other, or the reverse.

    "Meadow Lane" in "Camera Repairs, 14 Meadow Lane" is no other place; two notes whose titles begin alike
    are two notes.
    """
    if plan.tool != other.tool or plan.args.keys() != other.args.keys():
        return False
    names = [name for name, value in plan.args.items() if value != other.args[name]]
    if len(names) != 1:
        return False
    first, second = plan.arguments[names[0]], other.arguments[names[0]]
    part, whole = sorted((first, second), key=lambda argument: len(str(argument.value)))
    if not isinstance(part.value, str) or not isinstance(whole.value, str):
        return False
    is_span = any(source.kind == "item" and source.words for source in part.sources)
    words, text = (" ".join(tokenize(argument.value)) for argument in (part, whole))
    return is_span and bool(words) and f" {words} " in f" {text} "
