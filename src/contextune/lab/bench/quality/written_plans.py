"""Plans from the recorded answers of a language model, made in a training run on unseen personas.

Querying the model again would take hours without a GPU. The recorded answers go through the same planner.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextune._internal.compression import read_decompressed
from contextune.errors import InvalidDataError, LanguageModelError
from contextune.lab.bench.quality.plans import NO_RETRIEVAL
from contextune.lab.train.rankers.argument_examples import PlannedRequest
from contextune.llm import ChatReply, Draft, Message, Sampling
from contextune.plan.language_model.grounding import UngroundedError
from contextune.plan.language_model.planner import LanguagePlanner, parse_call
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.planner import PointerPlanner
from contextune.types import Argument, Plan, ToolHit

WrittenAnswers = Mapping[tuple[str, str], str]
"""Answers by (request name, row)."""


def read_written_plans(file: Path) -> WrittenAnswers:
    """Read the answers recorded by `contextune.lab.train.llm.plan_writer`, plain or compressed."""
    try:
        rows = [json.loads(line) for line in read_decompressed(file).decode().splitlines()]
        return {(str(row["name"]), str(row["row"])): str(row["answer"]) for row in rows}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidDataError(
            f"{file}: not a file of written plans: {error} "
            "(create one with contextune.lab.train.llm.plan_writer)"
        ) from None


@dataclass
class _RecordedChat:
    """A chat that replies once, with the recorded answer."""

    answer: str
    name: str = "written"
    calls: int = 0

    def ask(
        self,
        messages: Sequence[Message],  # noqa: ARG002
        sampling: Sampling = Sampling(),  # noqa: ARG002, B008  # frozen
        *,
        schema: Mapping[str, Any] | None = None,  # noqa: ARG002
    ) -> ChatReply:
        self.calls += 1
        if self.calls > 1:
            raise LanguageModelError("only one answer was recorded")
        return ChatReply((Draft(self.answer),))


@dataclass
class WrittenPlans:
    """Plan with recorded answers; `fallback` has a pointer planner per fold, for invalid calls."""

    answers: WrittenAnswers
    fallback: Mapping[int, PointerPlanner]
    fallbacks: int = 0
    """Number of plans that fell back because the recorded call was invalid."""

    def __call__(
        self, row: str, request: PlannedRequest, planning_input: PlanningInput, tools: Sequence[ToolHit]
    ) -> Plan | None:
        """The plan of one row for one request."""
        answer = self.answers.get((request.name, row))
        if answer is None:
            raise InvalidDataError(f"no recorded answer for {request.name} in row {row!r}")
        if row == NO_RETRIEVAL:
            return _unchecked_plan(answer)
        chat = _RecordedChat(answer)
        plan = LanguagePlanner(chat, self.fallback[request.fold]).plan(planning_input, tools)
        self.fallbacks += chat.calls > 1
        return plan


def _unchecked_plan(answer: str) -> Plan | None:
    """The call exactly as written, without grounding."""
    try:
        api, arguments = parse_call(answer)
    except UngroundedError:
        return None
    return Plan(api, {name: Argument(value) for name, value in arguments.items()})
