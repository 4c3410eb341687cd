"""Plans to execute, and callbacks that confirm them."""

from typing import Any

from contextune.types import Argument, Missing, Plan, Tool


def plan(api: str, missing: tuple[Missing, ...] = (), tool: str = "", **args: Any) -> Plan:
    arguments = {name: Argument(value) for name, value in args.items()}
    return Plan(tool or api, arguments, missing=missing, name=api)


def yes(plan: Plan, tool: Tool) -> bool:
    return True
