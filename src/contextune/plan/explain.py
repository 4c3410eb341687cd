"""A plan in words: the call as code, and where each argument comes from."""

import json
from collections.abc import Mapping

from contextune.plan.multi_step.steps import Pointer
from contextune.search.tokenize import identifier_words
from contextune.types import Argument, Item, Plan, Source


def call(plan: Plan) -> str:
    """The call as code, with the result of an earlier step as `<step 1.id>`."""
    return f"{plan.name}({', '.join(f'{name}={_literal(value)}' for name, value in plan.args.items())})"


def _literal(value: object) -> str:
    return repr(value) if isinstance(value, Pointer) else json.dumps(value, ensure_ascii=False)


def reasons(plan: Plan, items: Mapping[str, Item]) -> list[tuple[str, str]]:
    """For each argument, what it was taken from; `items` are those the plan may point at, by id."""
    return [(name, _reason(argument, items)) for name, argument in plan.arguments.items()]


def _reason(argument: Argument, items: Mapping[str, Item]) -> str:
    step = next((source for source in argument.sources if source.kind == "step"), None)
    others = [source for source in argument.sources if source.kind != "step"]
    if isinstance(argument.value, Pointer):
        result = f"what step {argument.value.step + 1} gives back"
        return f"{result}, “{step.words}”" if step and step.words else result
    reason = "; ".join(dict.fromkeys(_source(source, items) for source in others)) or "nothing said where"
    if step is None:
        return reason
    return f"“{step.words}”, as before: {reason}" if others else f"“{step.words}”, as before"


def _source(source: Source, items: Mapping[str, Item]) -> str:
    item = items.get(source.item or "")
    field = " ".join(identifier_words(source.field or ""))
    there = f"{field} of “{item.title}”" if item and field else f"“{item.title}”" if item else ""
    match source.kind:
        case "item":
            return f"“{source.words}” in the {there}" if source.words else there
        case "contact":
            return f"{source.item}, {source.words}" if source.words else f"contact {source.item}"
        case "said":
            return f"“{source.words}” was said"
        case "time":
            said = f"“{source.words}”" if source.words else ""
            return ", ".join(part for part in (there, said) if part) or "the day of the request"
        case "place":
            return f"the user's place “{source.field}”"
        case "profile":
            return f"the user's {field}"
        case "choice":
            return f"one of the values there are: {source.words}"
        case _:
            return f"worded from {there}" if there else "worded from what was said"
