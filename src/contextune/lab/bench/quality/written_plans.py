"""Plans by a language model, out of what it wrote in a training run for requests it had not seen.

Asking the model again would take hours on a machine without a GPU; what it wrote is read by the same planner.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextune._internal.compression import read_packed
from contextune.errors import InvalidDataError, LanguageModelError
from contextune.lab.bench.quality.plans import NOTHING
from contextune.lab.train.rankers.argument_examples import PlannedRequest
from contextune.llm import ChatReply, Draft, Message, Sampling
from contextune.plan.language_model.grounding import UngroundedError
from contextune.plan.language_model.planner import LanguagePlanner, read_call
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.planner import PointerPlanner
from contextune.types import Argument, Plan, ToolHit

Answers = Mapping[tuple[str, str], str]
"""By request and row."""


def read_answers(file: Path) -> Answers:
    """What `contextune.lab.train.llm.plan_writer` kept, plain or packed."""
    try:
        rows = [json.loads(line) for line in read_packed(file).decode().splitlines()]
        return {(str(row["name"]), str(row["row"])): str(row["answer"]) for row in rows}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidDataError(
            f"{str(file)!r} holds no written plans: {error}; contextune.lab.train.llm.plan_writer makes some"
        ) from None


@dataclass
class _RecordedPlanner:
    """Says the one thing that was written."""

    answer: str
    name: str = "written"
    asked: int = 0

    def ask(
        self,
        messages: Sequence[Message],  # noqa: ARG002
        sampling: Sampling = Sampling(),  # noqa: ARG002, B008  # frozen
        *,
        schema: Mapping[str, Any] | None = None,  # noqa: ARG002
    ) -> ChatReply:
        self.asked += 1
        if self.asked > 1:
            raise LanguageModelError("it was asked once")
        return ChatReply((Draft(self.answer),))


@dataclass
class WrittenPlans:
    """Plans by what was written; `light` has the light planner of each fold, for what cannot be called."""

    answers: Answers
    light: Mapping[int, PointerPlanner]
    without: int = 0
    """How many plans were made without the model: what it wrote could not be called."""

    def __call__(
        self, row: str, one: PlannedRequest, seen: PlanningInput, tools: Sequence[ToolHit]
    ) -> Plan | None:
        """The plan of one row for one request."""
        answer = self.answers.get((one.name, row))
        if answer is None:
            raise InvalidDataError(f"nothing was written for {one.name} in the row {row!r}")
        if row == NOTHING:
            return _from_memory(answer)
        chat = _RecordedPlanner(answer)
        plan = LanguagePlanner(chat, self.light[one.fold]).plan(seen, tools)
        self.without += chat.asked > 1
        return plan


def _from_memory(answer: str) -> Plan | None:
    """A call as it was written, without anything to hold it against."""
    try:
        api, given = read_call(answer)
    except UngroundedError:
        return None
    return Plan(api, {name: Argument(value) for name, value in given.items()})
