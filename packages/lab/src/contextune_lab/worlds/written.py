"""Calls that a language model writes for the requests of worlds: prompts out, answers in.

Whoever has a model answers the prompts. Its calls are judged as they stand, and, as the light planner's
second opinion, through the cascade: grounded, checked and decided on by the policy.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contextune.errors import InvalidDataError, LanguageModelError
from contextune.evaluate.outcomes import Judge
from contextune.llm import ChatReply, Draft, Message, Sampling
from contextune.plan import CascadePlanner, Feed, LanguagePlanner, PlanningInput, Readings
from contextune.plan.language_model.feed import NO_TOOL
from contextune.plan.language_model.grounding import UngroundedError
from contextune.plan.language_model.planner import call_json, parse_call
from contextune.plan.policy.readings import read_request
from contextune.types import Argument, Plan, ToolHit
from contextune_lab.worlds.ask import AskOptions, RequestResult, ask_world
from contextune_lab.worlds.load import LoadedWorld
from contextune_lab.worlds.world import World, WorldRequest


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """What a model wrote for a request."""

    tool: str | None
    """None if the model says that no tool serves."""
    args: Mapping[str, Any]
    asks: bool = False
    """Whether it would ask before the call."""

    @property
    def plan(self) -> Plan | None:
        """The call as it was written, unchecked."""
        if self.tool is None:
            return None
        arguments = {name: Argument(value) for name, value in self.args.items()}
        return Plan(self.tool, arguments, decision="ask" if self.asks else "act")

    @property
    def text(self) -> str:
        """The call in the form of the prompts."""
        return call_json(self.tool or NO_TOOL, self.args)


WrittenCalls = Mapping[str, WrittenCall]
"""Calls by the id of the request."""


def read_written_calls(files: Iterable[Path]) -> WrittenCalls:
    """Read answers, one JSON object a line.

    A line has `id` and either `answer`, the model's text, or `tool` (null if none serves), `args` and
    optionally `ask`.
    """
    calls: dict[str, WrittenCall] = {}
    for file in files:
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise InvalidDataError(f"{file}: cannot be read: {error}") from None
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
                calls[str(row["id"])] = _parse_row(row)
            except (ValueError, KeyError, TypeError) as error:
                raise InvalidDataError(
                    f"{file}, line {number}: {type(error).__name__} {error}: needs 'id' and 'answer', or "
                    "'id', 'tool' and 'args'"
                ) from None
    return calls


def _parse_row(row: Mapping[str, Any]) -> WrittenCall:
    if "answer" not in row:
        tool = row["tool"]
        return WrittenCall(None if tool is None else str(tool), dict(row["args"]), bool(row.get("ask")))
    try:
        name, args = parse_call(str(row["answer"]))
    except UngroundedError:
        return WrittenCall(None, {})
    return WrittenCall(None if name == NO_TOOL else name, args)


def judge_written(world: World, judge: Judge, calls: WrittenCalls) -> list[RequestResult]:
    """The written calls of a world as results; requests without an answer are left out."""
    results: list[RequestResult] = []
    for request in world.requests:
        if (call := calls.get(request.id)) is None:
            continue
        plan = _with_id(call.plan, world)
        right_tools = {expected.tool for expected in request.first_calls}
        has_right_tool = plan is not None and plan.tool in right_tools
        results.append(
            RequestResult(
                world.name,
                request,
                judge.outcome(request, plan),
                1 if has_right_tool else None,
                plan is not None and judge.is_right(request, _judged(plan)),
                None,
                {},
                plan,
                (),
                None,
                0.0,
            )
        )
    return results


def _judged(plan: Plan) -> Any:
    from contextune.evaluate.outcomes import JudgedCall

    return JudgedCall.of(plan)


def _with_id(plan: Plan | None, world: World) -> Plan | None:
    """The plan with the id of its tool, where the model wrote only the name."""
    if plan is None or any(tool.id == plan.tool for tool in world.tools):
        return plan
    named = [tool.id for tool in world.tools if tool.name == plan.tool]
    return Plan(named[0], plan.arguments, decision=plan.decision) if len(named) == 1 else plan


@dataclass
class CurrentRequest:
    """The request that is being asked, for planners that are told nothing but its text."""

    request: WorldRequest | None = None

    def set(self, request: WorldRequest) -> None:
        """Called before a request is asked."""
        self.request = request

    @property
    def id(self) -> str:
        """The id of the request."""
        return self.request.id if self.request else ""


@dataclass
class SilentChat:
    """Takes the place of a model that is not asked here."""

    name: str = "outside"

    def ask(
        self,
        messages: Sequence[Message],
        sampling: Sampling = Sampling(),  # noqa: B008  # frozen
        *,
        schema: Mapping[str, Any] | None = None,
    ) -> ChatReply:
        """Has no answer."""
        del messages, sampling, schema
        raise LanguageModelError("the model is not asked here")


@dataclass
class WrittenChat(SilentChat):
    """Replies once, with what the model wrote."""

    answer: str = ""
    calls: int = 0

    def ask(
        self,
        messages: Sequence[Message],
        sampling: Sampling = Sampling(),  # noqa: B008  # frozen
        *,
        schema: Mapping[str, Any] | None = None,
    ) -> ChatReply:
        """The answer, which is only written once."""
        del messages, sampling, schema
        self.calls += 1
        if self.calls > 1:
            raise LanguageModelError("only one answer was written")
        return ChatReply((Draft(self.answer),))


@dataclass(frozen=True)
class PromptExport(CascadePlanner):
    """Plans without the model, and keeps the prompt that it would read."""

    current: CurrentRequest = field(default_factory=CurrentRequest)
    rows: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """By the id of the request; of several steps, that of the first."""

    def readings(
        self, inputs: PlanningInput, tools: Sequence[ToolHit], fits: float | None = None
    ) -> Readings:
        """The readings of the light planner."""
        light = Readings() if self.light is None else read_request(self.light, inputs, tools, fits)
        offered = self.model.offered_tools(tools)
        messages = self.model.messages(inputs, offered, light)
        feed = self.model.feed or Feed()
        row = {
            "id": self.current.id,
            "in_doubt": self.in_doubt(light, tools),
            "tokens": feed.tokens(messages),
            "tools": [tool.id for tool in offered],
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "schema": self.model.schema(offered),
        }
        self.rows.setdefault(self.current.id, row)
        return light


@dataclass(frozen=True)
class WrittenCascade(CascadePlanner):
    """Plans with the light planner, and with what the model wrote where that is in doubt."""

    current: CurrentRequest = field(default_factory=CurrentRequest)
    calls: WrittenCalls = field(default_factory=dict[str, WrittenCall])
    asked: set[str] = field(default_factory=set[str])
    """Requests for which the model was needed."""
    used: set[str] = field(default_factory=set[str])
    """Those of them whose answer was a valid call of an offered tool."""

    def readings(
        self, inputs: PlanningInput, tools: Sequence[ToolHit], fits: float | None = None
    ) -> Readings:
        """The readings of the light planner, revised by the written call if they are in doubt."""
        light = Readings() if self.light is None else read_request(self.light, inputs, tools, fits)
        call = self.calls.get(self.current.id)
        if call is None or not self.in_doubt(light, tools):
            return light
        self.asked.add(self.current.id)
        chat = WrittenChat(answer=call.text)
        model = LanguagePlanner(chat, trust=self.model.trust, feed=self.model.feed)
        revised = model.revise(inputs, tools, light)
        if chat.calls == 1:
            self.used.add(self.current.id)
        return revised


def export_prompts(
    loaded: LoadedWorld, *, feed: Feed | None = None, only: Iterable[str] | None = None
) -> list[dict[str, Any]]:
    """One prompt for each request of a world, without anything of what is expected."""
    planner = PromptExport(LanguagePlanner(SilentChat(), feed=feed or Feed()))
    options = AskOptions(
        {"planner": planner}, only=None if only is None else set(only), before=planner.current.set
    )
    ask_world(loaded, options)
    return list(planner.rows.values())


def ask_with_written(
    loaded: LoadedWorld,
    calls: WrittenCalls,
    *,
    trust: float | None = None,
    threshold: float | None = None,
    only: Iterable[str] | None = None,
) -> tuple[list[RequestResult], WrittenCascade]:
    """Ask a world with the written calls where the light plan is in doubt."""
    model = LanguagePlanner(SilentChat()) if trust is None else LanguagePlanner(SilentChat(), trust=trust)
    planner = WrittenCascade(model, calls=calls)
    if threshold is not None:
        planner = WrittenCascade(model, threshold=threshold, calls=calls)
    options = AskOptions(
        {"planner": planner}, only=None if only is None else set(only), before=planner.current.set
    )
    return ask_world(loaded, options), planner
