"""Several steps in words: the calls, and where the values of each come from."""

import json
from collections.abc import Mapping
from dataclasses import replace

from contextune.plan import why
from contextune.plan.steps import Pointer
from contextune.types import Argument, Item, Plan


def call(plan: Plan) -> str:
    """The call as code has it, with what is known only later as `<step 1.id>`."""
    return f"{plan.api}({', '.join(f'{name}={_written(value)}' for name, value in plan.args.items())})"


def _written(value: object) -> str:
    return repr(value) if isinstance(value, Pointer) else json.dumps(value, ensure_ascii=False)


def reasons(plan: Plan, items: Mapping[str, Item]) -> list[tuple[str, str]]:
    """For each argument what it was taken from, as `why.reasons`, and which earlier step it hangs on."""
    return [(name, _said(plan, name, argument, items)) for name, argument in plan.arguments.items()]


def _said(plan: Plan, name: str, argument: Argument, items: Mapping[str, Item]) -> str:
    back = next((source for source in argument.sources if source.kind == "step"), None)
    rest = tuple(source for source in argument.sources if source.kind != "step")
    if isinstance(argument.value, Pointer):
        gives = f"what step {argument.value.step + 1} gives back"
        return f"{gives}, “{back.words}”" if back and back.words else gives
    alone = replace(plan, arguments={name: replace(argument, sources=rest)})
    told = why.reasons(alone, items)[0][1]
    if back is None:
        return told
    return f"“{back.words}”, as before: {told}" if rest else f"“{back.words}”, as before"
