"""What any planner offers."""

from collections.abc import Sequence
from typing import Protocol

from contextune.plan.planning_input import PlanningInput
from contextune.types import Plan, ToolHit


class Planner(Protocol):
    """Makes a call out of a request, what it hangs on, and the tools that can serve it."""

    def plan(
        self, situation: PlanningInput, tools: Sequence[ToolHit], fits: float | None = None
    ) -> Plan | None:
        """The call to make, or None where none can be made.

        `tools` come best first; `fits` is how probable it is that any of them serves.
        """
        ...
