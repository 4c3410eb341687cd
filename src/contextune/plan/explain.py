"""Explain plans to users: the call as code, and the source of each argument."""

import json
from collections.abc import Mapping

from contextune.plan.multi_step.steps import Pointer
from contextune.search.tokenize import identifier_words
from contextune.types import Argument, Item, Plan, Source


def format_call(plan: Plan) -> str:
    """Format the call as code; the result of an earlier step appears as `<step 1.id>`."""
    return f"{plan.name}({', '.join(f'{name}={_literal(value)}' for name, value in plan.args.items())})"


def _literal(value: object) -> str:
    return repr(value) if isinstance(value, Pointer) else json.dumps(value, ensure_ascii=False)


def explain_arguments(plan: Plan, items: Mapping[str, Item]) -> list[tuple[str, str]]:
    """Explain the source of each argument; `items` are the user's items by id."""
    return [(name, _reason(argument, items)) for name, argument in plan.arguments.items()]


def _reason(argument: Argument, items: Mapping[str, Item]) -> str:
    step = next((source for source in argument.sources if source.kind == "step"), None)
    others = [source for source in argument.sources if source.kind != "step"]
    if isinstance(argument.value, Pointer):
        result = f"the result of step {argument.value.step + 1}"
        return f"{result}, “{step.words}”" if step and step.words else result
    reason = "; ".join(dict.fromkeys(_source(source, items) for source in others)) or "source unknown"
    if step is None:
        return reason
    return (
        f"“{step.words}”, as in the step before: {reason}"
        if others
        else f"“{step.words}”, as in the step before"
    )


def _source(source: Source, items: Mapping[str, Item]) -> str:
    item = items.get(source.item or "")
    field = " ".join(identifier_words(source.field or ""))
    place = f"{field} of “{item.label}”" if item and field else f"“{item.label}”" if item else ""
    match source.kind:
        case "item":
            return f"“{source.words}” in the {place}" if source.words else place
        case "contact":
            return f"{source.item}, {source.words}" if source.words else f"contact {source.item}"
        case "said":
            return f"“{source.words}” in the request"
        case "time":
            quote = f"“{source.words}”" if source.words else ""
            return ", ".join(part for part in (place, quote) if part) or "the day of the request"
        case "place":
            return f"the user's place “{source.field}”"
        case "profile":
            return f"the user's {field}"
        case "choice":
            return f"one of the allowed values: {source.words}"
        case _:
            return f"composed from {place}" if place else "composed from the request"
