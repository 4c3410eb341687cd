"""Evaluate a plan against the expected call: AST match, exact match, hallucination.

AST match: the right tool, all required arguments right, no unknown arguments. Values are compared after
normalisation (a contact's name, address and phone number are equal); free text only has to be present and of
the right type; optional arguments may differ. Exact match: every argument is right. Hallucination: the plan
calls an unknown tool or passes an unknown argument.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from contextune.plan.schema import Parameter, is_valid, tool_parameters
from contextune.plan.values import NO_CONTACTS, ContactLookup, normalize_value
from contextune.types import Plan, Tool

ANY_TEXT = "*"
"""An expected value that any non-empty free text matches."""
_OMITTED = ""
"""Among the expected values of an argument: it may be omitted."""


@dataclass(frozen=True)
class ExpectedCall:
    """The right call, with all right values of each argument."""

    tool: str
    """The name of the tool."""
    args: Mapping[str, Sequence[Any]]

    @classmethod
    def from_args(cls, tool: str, args: Mapping[str, Any]) -> "ExpectedCall":
        """An expected call with one right value for each argument."""
        return cls(tool, {name: [value] for name, value in args.items()})


@dataclass(frozen=True, slots=True)
class PlanVerdict:
    """The result of an evaluation; `wrong` lists the arguments that prevent an exact match."""

    ast: bool
    exact: bool
    hallucinated: bool
    wrong: tuple[str, ...] = ()


def judge_plan(
    plan: Plan | None, expected: ExpectedCall, tools: Mapping[str, Tool], people: ContactLookup = NO_CONTACTS
) -> PlanVerdict:
    """Compare a plan with the expected call; `tools` are all tools by name."""
    if plan is None:
        return PlanVerdict(ast=False, exact=False, hallucinated=False)
    tool = tools.get(plan.name)
    hallucinated = is_hallucinated(plan, tools)
    if tool is None or plan.name != expected.tool:
        return PlanVerdict(ast=False, exact=False, hallucinated=hallucinated)
    wrong = tuple(_wrong_arguments(plan.args, expected, tool, people))
    required = frozenset(parameter.name for parameter in tool_parameters(tool) if parameter.required)
    typed = all(
        is_valid(plan.args[p.name], p)
        for p in tool_parameters(tool)
        if p.name in plan.args and p.name not in expected.args
    )
    ast = not hallucinated and typed and not required.intersection(wrong)
    return PlanVerdict(ast=ast, exact=ast and not wrong, hallucinated=hallucinated, wrong=wrong)


def is_hallucinated(plan: Plan, tools: Mapping[str, Tool]) -> bool:
    """Whether the plan calls an unknown tool or passes an argument the tool does not have."""
    if (tool := tools.get(plan.name)) is None:
        return True
    return not plan.arguments.keys() <= {parameter.name for parameter in tool_parameters(tool)}


def judge_plans(
    plans: Sequence[Plan],
    expected: Sequence[ExpectedCall],
    tools: Mapping[str, Tool],
    people: ContactLookup = NO_CONTACTS,
) -> PlanVerdict:
    """Compare several plans with as many expected calls, in any order."""
    hallucinated = any(is_hallucinated(plan, tools) for plan in plans)
    if len(plans) != len(expected):
        return PlanVerdict(ast=False, exact=False, hallucinated=hallucinated)
    verdicts = [[judge_plan(plan, call, tools, people) for call in expected] for plan in plans]
    return PlanVerdict(
        ast=_has_pairing([[verdict.ast for verdict in row] for row in verdicts]),
        exact=_has_pairing([[verdict.exact for verdict in row] for row in verdicts]),
        hallucinated=hallucinated,
    )


def _wrong_arguments(
    args: Mapping[str, Any], expected: ExpectedCall, tool: Tool, people: ContactLookup
) -> list[str]:
    """The arguments that are absent, have another value, or were not expected."""
    wrong = [name for name in args if name not in expected.args]
    declared = {parameter.name: parameter for parameter in tool_parameters(tool)}
    wrong += [p.name for p in declared.values() if p.required and p.name not in {*args, *expected.args}]
    for name, allowed in expected.args.items():
        if name not in args:
            if _OMITTED not in allowed:
                wrong.append(name)
        elif not any(_value_matches(args[name], value, declared.get(name), people) for value in allowed):
            wrong.append(name)
    return wrong


def _value_matches(value: Any, wanted: Any, parameter: Parameter | None, people: ContactLookup) -> bool:
    if wanted == ANY_TEXT and parameter is not None:
        return is_valid(value, parameter) and value not in ("", [], None)
    if isinstance(wanted, Mapping) and isinstance(value, Mapping):
        return _object_matches(cast("Mapping[str, Any]", value), cast("Mapping[str, Any]", wanted), people)
    if value == wanted and type(value) is type(cast("object", wanted)):
        return True
    if isinstance(value, list) and isinstance(wanted, list):
        return _list_matches(cast("list[Any]", value), cast("list[Any]", wanted), people)
    expected = normalize_value(wanted, parameter, people)
    return expected is not None and normalize_value(value, parameter, people) == expected


def _object_matches(value: Mapping[str, Any], wanted: Mapping[str, Any], people: ContactLookup) -> bool:
    """Compare objects: like arguments, each field comes with its allowed values."""
    if not value.keys() <= wanted.keys():
        return False
    for name, allowed in wanted.items():
        values = cast("list[Any]", allowed) if isinstance(allowed, list) else [allowed]
        if name not in value:
            if _OMITTED not in values:
                return False
        elif not any(_value_matches(value[name], option, None, people) for option in values):
            return False
    return True


def _list_matches(value: list[Any], wanted: list[Any], people: ContactLookup) -> bool:
    if len(value) != len(wanted):
        return False
    if all(isinstance(part, Mapping) for part in (*value, *wanted)):
        return all(_value_matches(a, b, None, people) for a, b in zip(value, wanted, strict=True))
    return normalize_value(value, None, people) == normalize_value(wanted, None, people)


def _has_pairing(matches: Sequence[Sequence[bool]], used: frozenset[int] = frozenset()) -> bool:
    """Whether rows and columns can be paired one to one (perfect bipartite matching)."""
    if not matches:
        return True
    return any(
        ok and column not in used and _has_pairing(matches[1:], used | {column})
        for column, ok in enumerate(matches[0])
    )
