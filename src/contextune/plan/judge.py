"""Whether a plan is right: AST match, exact match, and hallucination, as plans are judged in tables.

A plan matches by its AST if it calls the right API with every required argument and none that the API does
not have; closed values are equal once normalised, a contact's name, address and number being one; free text
is judged by presence and type, and optional arguments may differ. It matches exactly if every
argument does. It is hallucinated if it calls an API that is not there, or gives an argument that is not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from contextune.plan.schema import Parameter, fits, parameters
from contextune.plan.values import NOBODY, ContactLookup, normal
from contextune.types import Plan, Tool

ANY = "*"
"""Stands for free text the assistant writes itself."""
_OMITTED = ""
"""Among the values an argument may have: that it may as well be left out."""


@dataclass(frozen=True)
class ExpectedCall:
    """The right call: for each argument the values that are right."""

    api: str
    args: Mapping[str, Sequence[Any]]

    @classmethod
    def one(cls, api: str, args: Mapping[str, Any]) -> "ExpectedCall":
        """With one right value for each argument."""
        return cls(api, {name: [value] for name, value in args.items()})


@dataclass(frozen=True, slots=True)
class PlanVerdict:
    """How a plan did. `wrong` names the arguments that keep it from an exact match."""

    ast: bool
    exact: bool
    hallucinated: bool
    wrong: tuple[str, ...] = ()


def judge(
    plan: Plan | None, expected: ExpectedCall, tools: Mapping[str, Tool], people: ContactLookup = NOBODY
) -> PlanVerdict:
    """A plan against the right call; `tools` are all there are, by name."""
    if plan is None:
        return PlanVerdict(ast=False, exact=False, hallucinated=False)
    tool = tools.get(plan.name)
    imagined = hallucinated(plan, tools)
    if tool is None or plan.name != expected.api:
        return PlanVerdict(ast=False, exact=False, hallucinated=imagined)
    wrong = tuple(_wrong(plan.args, expected, tool, people))
    required = frozenset(parameter.name for parameter in parameters(tool) if parameter.required)
    typed = all(
        fits(plan.args[p.name], p)
        for p in parameters(tool)
        if p.name in plan.args and p.name not in expected.args
    )
    ast = not imagined and typed and not required.intersection(wrong)
    return PlanVerdict(ast=ast, exact=ast and not wrong, hallucinated=imagined, wrong=wrong)


def hallucinated(plan: Plan, tools: Mapping[str, Tool]) -> bool:
    """Whether the plan calls an API that is not there, or gives an argument that the API does not have."""
    if (tool := tools.get(plan.name)) is None:
        return True
    return not plan.arguments.keys() <= {parameter.name for parameter in parameters(tool)}


def judge_all(
    plans: Sequence[Plan],
    expected: Sequence[ExpectedCall],
    tools: Mapping[str, Tool],
    people: ContactLookup = NOBODY,
) -> PlanVerdict:
    """Several calls against as many right ones, in any order."""
    imagined = any(hallucinated(plan, tools) for plan in plans)
    if len(plans) != len(expected):
        return PlanVerdict(ast=False, exact=False, hallucinated=imagined)
    verdicts = [[judge(plan, one, tools, people) for one in expected] for plan in plans]
    return PlanVerdict(
        ast=_paired([[verdict.ast for verdict in row] for row in verdicts]),
        exact=_paired([[verdict.exact for verdict in row] for row in verdicts]),
        hallucinated=imagined,
    )


def _wrong(args: Mapping[str, Any], expected: ExpectedCall, tool: Tool, people: ContactLookup) -> list[str]:
    """Arguments that are not as they should be: absent, of another value, or not asked for."""
    found = [name for name in args if name not in expected.args]
    known = {parameter.name: parameter for parameter in parameters(tool)}
    found += [p.name for p in known.values() if p.required and p.name not in {*args, *expected.args}]
    for name, allowed in expected.args.items():
        if name not in args:
            if _OMITTED not in allowed:
                found.append(name)
        elif not any(_right(args[name], value, known.get(name), people) for value in allowed):
            found.append(name)
    return found


def _right(value: Any, wanted: Any, parameter: Parameter | None, people: ContactLookup) -> bool:
    if wanted == ANY and parameter is not None:
        return fits(value, parameter) and value not in ("", [], None)
    if isinstance(wanted, Mapping) and isinstance(value, Mapping):
        return _right_object(cast("Mapping[str, Any]", value), cast("Mapping[str, Any]", wanted), people)
    if value == wanted and type(value) is type(cast("object", wanted)):
        return True
    if isinstance(value, list) and isinstance(wanted, list):
        return _right_list(cast("list[Any]", value), cast("list[Any]", wanted), people)
    known = normal(wanted, parameter, people)
    return known is not None and normal(value, parameter, people) == known


def _right_object(value: Mapping[str, Any], wanted: Mapping[str, Any], people: ContactLookup) -> bool:
    """Inside an object, too, each field comes with the values it may have."""
    if not value.keys() <= wanted.keys():
        return False
    for name, allowed in wanted.items():
        several = cast("list[Any]", allowed) if isinstance(allowed, list) else [allowed]
        if name not in value:
            if _OMITTED not in several:
                return False
        elif not any(_right(value[name], one, None, people) for one in several):
            return False
    return True


def _right_list(value: list[Any], wanted: list[Any], people: ContactLookup) -> bool:
    if len(value) != len(wanted):
        return False
    if all(isinstance(part, Mapping) for part in (*value, *wanted)):
        return all(_right(a, b, None, people) for a, b in zip(value, wanted, strict=True))
    return normal(value, None, people) == normal(wanted, None, people)


def _paired(fitting: Sequence[Sequence[bool]], taken: frozenset[int] = frozenset()) -> bool:
    """Whether every row can have a column of its own."""
    if not fitting:
        return True
    return any(
        ok and column not in taken and _paired(fitting[1:], taken | {column})
        for column, ok in enumerate(fitting[0])
    )
