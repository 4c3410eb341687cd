"""Plans from the recorded answers of a language model, made in a training run on unseen personas.

Querying the model again would take hours without a GPU. The recorded answers go through the same planner. As
written, they are measured too: grounding replaces what cannot be called, so the planner never hallucinates,
but the model does.

The model chose among the tools that were retrieved then. Where others are retrieved today, its answer says
nothing about the model: such answers are stale, and `contextune_lab.train.llm.plan_answers` makes them again.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextune._internal.assets import read_decompressed
from contextune.errors import InvalidDataError, LanguageModelError
from contextune.llm import ChatReply, Draft, Message, Sampling
from contextune.plan.language_model.grounding import UngroundedError
from contextune.plan.language_model.planner import MAX_TOOLS, LanguagePlanner, parse_call
from contextune.plan.planning_input import Planner, PlanningInput
from contextune.types import Argument, Plan, ToolHit
from contextune_lab.bench.quality.plan.persona_plans import (
    CONTEXT_BY_ROW,
    GUIDED_ROWS,
    NO_RETRIEVAL,
    TUNED,
    PlanFunction,
    ToolChooser,
)
from contextune_lab.train.planned_requests import PlannedRequest


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """What a model wrote, and the names of the tools it was offered, best first; None if not recorded."""

    text: str
    tools: tuple[str, ...] | None = None

    def is_stale(self, offered: Sequence[str], known: Collection[str]) -> bool:
        """Whether other tools are offered today.

        Where the tools were not recorded, only an answer with a known tool that is not offered today is
        known to be stale. An unknown tool is the model's invention.
        """
        if self.tools is not None:
            return self.tools != tuple(offered)
        try:
            api, _ = parse_call(self.text)
        except UngroundedError:
            return False
        return api in known and api not in offered


WrittenAnswers = Mapping[tuple[str, str], RecordedAnswer]
"""Answers by (request name, row)."""


def read_written_plans(file: Path) -> WrittenAnswers:
    """Read the answers recorded by `contextune_lab.train.llm.plan_writer`, plain or compressed."""
    try:
        rows = [json.loads(line) for line in read_decompressed(file).decode().splitlines()]
        return {
            (str(row["name"]), str(row["row"])): RecordedAnswer(
                str(row["answer"]), tuple(map(str, row["tools"])) if row.get("tools") is not None else None
            )
            for row in rows
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidDataError(
            f"{file}: not a file of written plans: {error!r} (create one with"
            " contextune_lab.train.llm.plan_writer, or answer the prompts of bench plan --prompts)"
        ) from None


def has_table_rows(answers: WrittenAnswers) -> bool:
    """Whether the file has answers for the rows of the paper's table, not only for other prompts."""
    return any(row in CONTEXT_BY_ROW for _, row in answers)


def recorded_rows(answers: WrittenAnswers, requests: Sequence[PlannedRequest]) -> dict[str, str]:
    """The rows of the table with their context; guided ones only if every request has an answer."""
    guided = {
        row: context
        for row, context in GUIDED_ROWS.items()
        if all((request.name, row) in answers for request in requests)
    }
    return {**CONTEXT_BY_ROW, **guided}


def guided_choosers(choosers: Mapping[str, ToolChooser]) -> dict[str, ToolChooser]:
    """The choosers, and for guided rows that of the row they extend."""
    return {**choosers, **dict.fromkeys(GUIDED_ROWS, choosers[TUNED])}


def stale_answers(
    answers: WrittenAnswers,
    requests: Sequence[PlannedRequest],
    choosers: Mapping[str, ToolChooser],
    known: Collection[str],
) -> dict[str, list[str]]:
    """The requests whose recorded answer is stale, by row; `known` are the names of all tools.

    Only retrieval can change what is offered: without it, and with the right tool, nothing is stale.
    """
    rows = [row for row in choosers if row != NO_RETRIEVAL]
    return {
        row: [
            request.name
            for request in requests
            if (answer := answers.get((request.name, row)))
            and answer.is_stale([hit.tool.name for hit in choosers[row](request)[:MAX_TOOLS]], known)
        ]
        for row in rows
    }


def raw_plans(answers: WrittenAnswers) -> PlanFunction:
    """Plan with the calls exactly as written, in every row; None if an answer is no call."""
    return lambda row, request, _, __: unchecked_plan(_answer(answers, request, row).text)


def _answer(answers: WrittenAnswers, request: PlannedRequest, row: str) -> RecordedAnswer:
    answer = answers.get((request.name, row))
    if answer is None:
        raise InvalidDataError(f"no recorded answer for {request.name} in row {row!r}")
    return answer


@dataclass
class RecordedChat:
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
    """Plan with recorded answers; invalid calls are those of `fallback`."""

    answers: WrittenAnswers
    fallback: Planner
    fallbacks: int = 0
    """Number of plans that fell back because the recorded call was invalid."""

    def __call__(
        self, row: str, request: PlannedRequest, planning_input: PlanningInput, tools: Sequence[ToolHit]
    ) -> Plan | None:
        """The plan of one row for one request."""
        answer = _answer(self.answers, request, row).text
        if row == NO_RETRIEVAL:
            return unchecked_plan(answer)
        chat = RecordedChat(answer)
        plan = LanguagePlanner(chat, self.fallback, feed=None).plan(planning_input, tools)
        self.fallbacks += chat.calls > 1
        return plan


def unchecked_plan(answer: str) -> Plan | None:
    """The call exactly as written, without grounding."""
    try:
        api, arguments = parse_call(answer)
    except UngroundedError:
        return None
    return Plan(api, {name: Argument(value) for name, value in arguments.items()})
