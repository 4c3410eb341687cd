"""Plans of several steps, in which a step may use the result of an earlier one.

Results do not exist yet when a plan is made. A `Pointer` stands for such a value; it can be serialised, shown
to the user and checked before anything is called.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from contextune.errors import PlanError
from contextune.plan.schema import check_plan
from contextune.types import Decision, Missing, Plan, Tool

Path = tuple[str | int, ...]
_STEP = "$step"
_STRICTNESS: tuple[Decision, ...] = ("act", "confirm", "ask", "none")


@dataclass(frozen=True, slots=True, repr=False)
class Pointer:
    """A reference to the result of an earlier step, or to a part of it."""

    step: int
    """The index of the step, from 0."""
    path: Path = ()
    """Keys of objects and indexes of lists; empty for the whole result."""

    def __post_init__(self) -> None:
        if not _is_index(self.step):
            raise PlanError(f"invalid step {self.step!r}: pass an index, 0 or more")
        for part in self.path:
            if not isinstance(part, str) and not _is_index(part):
                raise PlanError(f"invalid path part {part!r}: pass a key or a list index, 0 or more")

    def __repr__(self) -> str:
        """As users see it, counted from 1; unusual keys are quoted, so that they cannot fake other text."""
        names = [f"[{part}]" if isinstance(part, int) else f".{_plain(part)}" for part in self.path]
        return f"<step {self.step + 1}{''.join(names)}>"

    def to_json(self) -> dict[str, Any]:
        """Serialise to JSON."""
        return {_STEP: self.step, "path": list(self.path)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Pointer":
        """Parse the form that `to_json` writes."""
        path = data.get("path", ())
        if _STEP not in data or not isinstance(path, list | tuple):
            raise PlanError(f"invalid pointer {data!r}: write it as {{'{_STEP}': 0, 'path': ['id']}}")
        return cls(data[_STEP], tuple(cast("Sequence[Any]", path)))


def _is_index(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _plain(name: str) -> str:
    return name if name.isidentifier() else repr(name)


@dataclass(frozen=True, slots=True)
class Steps:
    """The calls to make, in order. Pointers refer to earlier steps only."""

    plans: tuple[Plan, ...]
    parts: tuple[str, ...] = ()
    """The part of the request that each step serves; empty if unknown."""

    def __post_init__(self) -> None:
        if not self.plans:
            raise PlanError("no steps: pass at least one plan")
        if self.parts and len(self.parts) != len(self.plans):
            raise PlanError(f"{len(self.parts)} parts for {len(self.plans)} steps: pass one for each")
        for index, plan in enumerate(self.plans):
            for name, argument in plan.arguments.items():
                _check_value(argument.value, index, name)

    def __len__(self) -> int:
        """The number of steps."""
        return len(self.plans)

    def __iter__(self) -> Iterator[Plan]:
        """The plans, in order."""
        return iter(self.plans)

    @property
    def ready(self) -> bool:
        """Whether the decision on every step is to make the call."""
        return all(plan.ready for plan in self.plans)

    @property
    def decision(self) -> Decision | None:
        """The strictest decision on a step: one doubtful step keeps the others back; None if undecided."""
        decisions = [plan.decision for plan in self.plans]
        return None if None in decisions else max(filter(None, decisions), key=_STRICTNESS.index)

    @property
    def confidence(self) -> float:
        """Probability that every step is right."""
        return math.prod(plan.confidence for plan in self.plans)

    def to_json(self) -> list[dict[str, Any]]:
        """Serialise the calls to JSON, with pointers as `Pointer.to_json` writes them."""
        return [{"api": plan.name, "args": json_args(plan)} for plan in self.plans]


def _check_value(value: object, index: int, name: str) -> None:
    if isinstance(value, Pointer):
        if value.step >= index:
            raise PlanError(
                f"{name!r} of step {index + 1} points at step {value.step + 1}: point at an earlier step"
            )
    elif isinstance(value, Mapping):
        _check_within(cast("Mapping[Any, object]", value).values(), index, name)
    elif isinstance(value, list | tuple):
        _check_within(cast("Sequence[object]", value), index, name)


def _check_within(values: object, index: int, name: str) -> None:
    for value in cast("Sequence[object]", values):
        if isinstance(value, Pointer):
            raise PlanError(
                f"{name!r} of step {index + 1} contains a pointer: a pointer must be the whole argument"
            )
        _check_value(value, index, name)


def pointers(plan: Plan) -> dict[str, Pointer]:
    """The pointers among the arguments, by name."""
    return {
        name: argument.value
        for name, argument in plan.arguments.items()
        if isinstance(argument.value, Pointer)
    }


def json_args(plan: Plan) -> dict[str, Any]:
    """The arguments of a plan as JSON, with serialised pointers."""
    return {
        name: value.to_json() if isinstance(value, Pointer) else value for name, value in plan.args.items()
    }


def check_step(plan: Plan, tool: Tool) -> Plan:
    """Return the plan if it fits the tool's schema; pointers are checked once they are resolved."""
    pending = pointers(plan)
    declared = cast("Mapping[str, Any]", tool.parameters.get("properties") or {})
    if unknown := [name for name in pending if name not in declared]:
        raise PlanError(f"the plan does not fit {tool.id!r}: {tool.name} has no argument {unknown[0]!r}")
    rest = {name: argument for name, argument in plan.arguments.items() if name not in pending}
    later = tuple(Missing(name, "") for name in pending)
    check_plan(replace(plan, arguments=rest, missing=plan.missing + later), tool)
    return plan


def check_steps(steps: Steps, find_tool: Callable[[str], Tool]) -> Steps:
    """Return the steps if each fits its tool, else raise; `find_tool` returns the tool with an id or name."""
    for plan in steps:
        check_step(plan, find_tool(plan.tool))
    return steps
