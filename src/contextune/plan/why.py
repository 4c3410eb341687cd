"""Where the values of a plan come from, in words."""

import json
from collections.abc import Mapping

from contextune.search.words import identifier_words
from contextune.types import Argument, Item, Plan, Source


def call(plan: Plan) -> str:
    """The call as code has it."""
    values = [f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in plan.args.items()]
    return f"{plan.api}({', '.join(values)})"


def reasons(plan: Plan, items: Mapping[str, Item]) -> list[tuple[str, str]]:
    """For each argument what it was taken from; `items` are those the plan may point at, by id."""
    return [(name, _said(argument, items)) for name, argument in plan.arguments.items()]


def _said(argument: Argument, items: Mapping[str, Item]) -> str:
    parts = [_source(source, items) for source in argument.sources]
    return "; ".join(dict.fromkeys(parts)) or "nothing said where"


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
