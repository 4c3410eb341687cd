"""Several calls in an order, where a later one may take what an earlier one gives back.

What an earlier step gives is not there yet when the plan is made. So it is pointed at: a `Pointer` stands
where the value will be, and can be written down, shown and checked before anything is called.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from contextune.errors import PlanError
from contextune.plan.schema import check
from contextune.types import Missing, Plan, Tool

Path = tuple[str | int, ...]
_STEP = "$step"


@dataclass(frozen=True, slots=True, repr=False)
class Pointer:
    """What a step gives back, or a part of it: names lead into objects, numbers from 0 into lists."""

    step: int
    """The place of the step among all of them."""
    path: Path = ()
    """Empty for all of it."""

    def __post_init__(self) -> None:
        if not _is_place(self.step):
            raise PlanError(f"{self.step!r} is no step: steps are counted from 0")
        for part in self.path:
            if not isinstance(part, str) and not _is_place(part):
                raise PlanError(f"{part!r} leads nowhere: a path is of names and of places from 0")

    def __repr__(self) -> str:
        """As it is shown to people, who count from one; nothing in it can dress up as something else."""
        names = [f"[{part}]" if isinstance(part, int) else f".{_plain(part)}" for part in self.path]
        return f"<step {self.step + 1}{''.join(names)}>"

    def to_json(self) -> dict[str, Any]:
        """To be written down."""
        return {_STEP: self.step, "path": list(self.path)}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "Pointer":
        """What was written down."""
        path = found.get("path", ())
        if _STEP not in found or not isinstance(path, list | tuple):
            raise PlanError(f"{found!r} is no pointer: write it as {{'{_STEP}': 0, 'path': ['id']}}")
        return cls(found[_STEP], tuple(cast("Sequence[Any]", path)))


def _is_place(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _plain(name: str) -> str:
    return name if name.isidentifier() else repr(name)


@dataclass(frozen=True, slots=True)
class Steps:
    """The calls to make, one after the other. A pointer leads back only, to a step that exists."""

    plans: tuple[Plan, ...]
    said: tuple[str, ...] = ()
    """What of the request each serves; nothing where that is not known."""

    def __post_init__(self) -> None:
        if not self.plans:
            raise PlanError("there are no steps: give at least one plan")
        if self.said and len(self.said) != len(self.plans):
            raise PlanError(
                f"{len(self.said)} parts were said for {len(self.plans)} steps: give one for each"
            )
        for place, plan in enumerate(self.plans):
            for name, argument in plan.arguments.items():
                _check_value(argument.value, place, name)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.plans)

    def __iter__(self) -> Iterator[Plan]:
        """In their order."""
        return iter(self.plans)

    @property
    def ready(self) -> bool:
        """Whether there is nothing left to ask."""
        return all(plan.ready for plan in self.plans)

    def to_json(self) -> list[dict[str, Any]]:
        """To be written down: the calls, with pointers as `Pointer.to_json` has them."""
        return [{"api": plan.name, "args": written(plan)} for plan in self.plans]


def _check_value(value: object, place: int, name: str) -> None:
    if isinstance(value, Pointer):
        if value.step >= place:
            raise PlanError(
                f"{name!r} of step {place + 1} points at step {value.step + 1}:"
                " a step takes only what an earlier one gives"
            )
    elif isinstance(value, Mapping):
        _check_within(cast("Mapping[Any, object]", value).values(), place, name)
    elif isinstance(value, list | tuple):
        _check_within(cast("Sequence[object]", value), place, name)


def _check_within(values: object, place: int, name: str) -> None:
    for value in cast("Sequence[object]", values):
        if isinstance(value, Pointer):
            raise PlanError(f"{name!r} of step {place + 1} holds a pointer: point with the whole argument")
        _check_value(value, place, name)


def pointers(plan: Plan) -> dict[str, Pointer]:
    """Those of its arguments that are not known yet, by name."""
    return {name: one.value for name, one in plan.arguments.items() if isinstance(one.value, Pointer)}


def written(plan: Plan) -> dict[str, Any]:
    """The values of a plan as JSON takes them."""
    return {
        name: value.to_json() if isinstance(value, Pointer) else value for name, value in plan.args.items()
    }


def check_step(plan: Plan, tool: Tool) -> Plan:
    """The plan itself, once what is known of it fits the tool; the rest is checked when it is there."""
    found = pointers(plan)
    known = cast("Mapping[str, Any]", tool.parameters.get("properties") or {})
    if strange := [name for name in found if name not in known]:
        raise PlanError(f"the plan does not fit {tool.id!r}: {strange[0]!r} is no argument of {tool.name}")
    rest = {name: one for name, one in plan.arguments.items() if name not in found}
    later = tuple(Missing(name, "") for name in found)
    check(replace(plan, arguments=rest, missing=plan.missing + later), tool)
    return plan


def check_steps(steps: Steps, tool_of: Callable[[str], Tool]) -> Steps:
    """The steps themselves, once each fits its tool; `tool_of` knows tools by id or name."""
    for plan in steps:
        check_step(plan, tool_of(plan.tool))
    return steps
