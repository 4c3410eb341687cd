"""Plans by a language model, out of what it wrote in a training run for requests it had not seen.

Asking the model again would take hours on a machine without a GPU; what it wrote is read by the same planner.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextune.bench.plan import NOTHING
from contextune.errors import InvalidDataError, LanguageModelError
from contextune.llm import Draft, Message, Reply, Sampling
from contextune.packed import read_packed
from contextune.plan.ground import UngroundedError
from contextune.plan.llm import LanguagePlanner, read_call
from contextune.plan.pointer import PointerPlanner
from contextune.plan.situation import Situation
from contextune.train.plan_examples import Asked
from contextune.types import Argument, Hit, Plan, Tool

Answers = Mapping[tuple[str, str], str]
"""By request and row."""


def read_answers(file: Path) -> Answers:
    """What `contextune.train.plan_writer` kept, plain or packed."""
    try:
        rows = [json.loads(line) for line in read_packed(file).decode().splitlines()]
        return {(str(row["name"]), str(row["row"])): str(row["answer"]) for row in rows}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidDataError(
            f"{str(file)!r} holds no written plans: {error}; contextune.train.plan_writer makes some"
        ) from None


@dataclass
class _Once:
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
    ) -> Reply:
        self.asked += 1
        if self.asked > 1:
            raise LanguageModelError("it was asked once")
        return Reply((Draft(self.answer),))


@dataclass
class WrittenPlans:
    """Plans by what was written; `light` has the light planner of each fold, for what cannot be called."""

    answers: Answers
    light: Mapping[int, PointerPlanner]
    without: int = 0
    """How many plans were made without the model: what it wrote could not be called."""

    def __call__(self, row: str, one: Asked, seen: Situation, tools: Sequence[Hit[Tool]]) -> Plan | None:
        """The plan of one row for one request."""
        answer = self.answers.get((one.name, row))
        if answer is None:
            raise InvalidDataError(f"nothing was written for {one.name} in the row {row!r}")
        if row == NOTHING:
            return _from_memory(answer)
        chat = _Once(answer)
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
