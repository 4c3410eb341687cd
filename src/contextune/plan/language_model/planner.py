"""`LanguagePlanner`: a language model writes the call, which is then grounded and checked.

The output is constrained to a schema of the offered tools. Each value must be found in the request, the
people or the items. An invalid call is sent back to the model once, with the reason. If values of the second
call are still not found, they are asked about; if it is no call of an offered tool, or the model fails, the
fallback planner's plan is used. A valid call is as probable as its agreement with the fallback planner makes
it, and the same policy decides on it.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from contextune.context.chain_of_thought import ChainOfThought
from contextune.errors import LanguageModelError
from contextune.llm.cache import CachedChat
from contextune.llm.chat import Chat, Message, Sampling
from contextune.llm.structured import SchemaMismatchError
from contextune.plan.language_model.agreement import weigh_plan, weigh_refusal
from contextune.plan.language_model.budget import CallBudget
from contextune.plan.language_model.feed import NO_TOOL, Feed
from contextune.plan.language_model.grounding import Grounder, UngroundedError
from contextune.plan.language_model.prompt import RETRY, TOKEN_BUDGET, call_schema, plan_messages
from contextune.plan.planning_input import Planner, PlanningInput
from contextune.plan.policy.readings import Readings, read_request
from contextune.plan.schema import Parameter, plan_errors, tool_parameters
from contextune.types import Argument, Missing, Plan, Tool, ToolHit

MAX_TOOLS = 4
"""Tools that are offered to a model without a feed, best first."""
READ_TOOLS = 12
"""Tools that the planner wants to choose from."""
FREE_TEXT_MARK = "*"
"""A model writes this to have the fallback planner compose a free text; the small tuned model does."""
TRUST = 0.5
"""Default share of a model's calls that are right; measure it with `contextune bench worlds --written`."""
_NOT_OFFERED = "it is no call of one of the tools with their arguments"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LanguagePlanner:
    """Plans with any `Chat`, else with `fallback`. Thread-safe if the model is.

    A `CachedChat` stores its answers under the user of the request, so `forget(user)` erases them.
    """

    chat: Chat
    fallback: Planner | None = None
    """The light planner; a `Tuner` sets its own. Without one, a failing model means no plan."""
    tools: int = MAX_TOOLS
    """Tools that are offered without a feed."""
    budget: int = TOKEN_BUDGET
    """Tokens of items that the model reads without a feed."""
    sampling: Sampling = Sampling(max_tokens=300)  # noqa: RUF009  # frozen
    cot: ChainOfThought | None = None
    """Guides the model with a chain of thought. Values must still be found in the request or the items."""
    trust: float = TRUST
    """The share of the model's calls that are right, which decides how much its word counts."""
    feed: Feed | None = field(default_factory=Feed)
    """What the model reads; None for the short prompt that the small tuned model was trained on."""
    spending: CallBudget | None = None
    """Limits the calls and tokens of a minute; None for no limit."""

    @property
    def searched_tools(self) -> int:
        """How many tools to retrieve for a request."""
        return max(READ_TOOLS, getattr(self.fallback, "searched_tools", 0))

    def plan(self, inputs: PlanningInput, tools: Sequence[ToolHit], fits: float | None = None) -> Plan | None:
        """The model's call if it is valid, else that of the fallback planner."""
        return next(iter(self.readings(inputs, tools, fits).plans), None)

    def readings(
        self, inputs: PlanningInput, tools: Sequence[ToolHit], fits: float | None = None
    ) -> Readings:
        """The model's call if it is valid, then the readings of the fallback planner."""
        light = Readings() if self.fallback is None else read_request(self.fallback, inputs, tools, fits)
        return self.revise(inputs, tools, light)

    def revise(self, inputs: PlanningInput, tools: Sequence[ToolHit], light: Readings) -> Readings:
        """The readings of the light planner, revised by the model's answer."""
        offered = self.offered_tools(tools)
        if not offered:
            return light
        answer = self._ask(inputs, offered, light)
        if answer is None:
            return light
        if answer.plan is None:
            return weigh_refusal(light, self.trust)
        tool = next(tool for tool in offered if tool.id == answer.plan.tool)
        return weigh_plan(answer.plan, tool, light, self.trust)

    def offered_tools(self, hits: Sequence[ToolHit]) -> list[Tool]:
        """The tools that the model may choose from, best first, each once."""
        if self.feed is not None:
            return list({tool.id: tool for tool in self.feed.tools(hits)}.values())
        return list({hit.tool.name: hit.tool for hit in reversed(hits[: self.tools])}.values())[::-1]

    def messages(
        self, inputs: PlanningInput, tools: Sequence[Tool], light: Readings | None = None
    ) -> list[Message]:
        """The messages that ask the model for a call of one of the tools."""
        thought = self._thought(inputs)
        if self.feed is not None:
            return self.feed.messages(inputs, tools, light, thought=thought)
        return plan_messages(inputs, tools, budget=self.budget, thought=thought)

    def schema(self, tools: Sequence[Tool]) -> dict[str, Any]:
        """The JSON Schema of the answer."""
        by_id = self.feed is not None
        return call_schema(tools, by_id=by_id, no_tool=NO_TOOL if by_id else None)

    def forget(self, user: str) -> None:
        """Erase the user's chains of thought."""
        if self.cot:
            self.cot.forget(user)

    def _thought(self, inputs: PlanningInput) -> str | None:
        try:
            return self.cot.think(inputs.request) if self.cot else None
        except LanguageModelError as error:
            _log.warning("planning without a chain of thought: %s", error)
            return None

    def _ask(self, inputs: PlanningInput, tools: Sequence[Tool], light: Readings) -> "ParsedAnswer | None":
        """The model's answer; None if it failed, or wrote no call twice."""
        messages, schema = self.messages(inputs, tools, light), self.schema(tools)
        for is_last in (False, True):
            try:
                answer = self._reply(inputs.user.id, messages, schema)
            except SchemaMismatchError:
                messages = [*messages, Message("user", RETRY.format(faults=_NOT_OFFERED))]
                continue
            except LanguageModelError as error:
                _log.warning("the language model failed, using the light plan: %s", error)
                return None
            try:
                return parse_answer(answer, inputs, tools, light, asks_for_unknown=is_last)
            except UngroundedError as error:
                retry = RETRY.format(faults=error)
                messages = [*messages, Message("assistant", answer), Message("user", retry)]
        _log.info("the language model wrote no valid call, using the light plan")
        return None

    def _reply(self, user: str, messages: Sequence[Message], schema: Mapping[str, Any]) -> str:
        chat = self.chat.for_user(user) if isinstance(self.chat, CachedChat) else self.chat
        if self.spending is None:
            return chat.ask(messages, self.sampling, schema=schema).text
        with self.spending.call() as call:
            reply = chat.ask(messages, self.sampling, schema=schema)
            call.tokens = reply.prompt_tokens + reply.completion_tokens
        return reply.text


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """What a model answered: a call, or that no tool serves."""

    plan: Plan | None


def parse_answer(
    answer: str,
    inputs: PlanningInput,
    tools: Sequence[Tool],
    light: Readings | None = None,
    *,
    asks_for_unknown: bool = False,
) -> ParsedAnswer:
    """Parse and ground an answer; raise `UngroundedError` if it is invalid.

    With `asks_for_unknown`, values that are not found become questions. The error messages are sent to the
    model: rewording them is a change of the prompt.
    """
    name, values = parse_call(answer)
    if name == NO_TOOL and not any(NO_TOOL in (tool.id, tool.name) for tool in tools):
        return ParsedAnswer(None)
    tool = find_tool(name, tools)
    declared = {parameter.name: parameter for parameter in tool_parameters(tool)}
    unknown = [f"{name} is no argument of {tool.name}" for name in sorted(values.keys() - declared.keys())]
    grounder = Grounder(inputs)
    arguments: dict[str, Argument] = {}
    faults = [] if asks_for_unknown else unknown
    missing: list[Missing] = []
    for name, parameter in declared.items():
        if name not in values:
            if parameter.required:
                missing.append(Missing(name, missing_question(parameter)))
            continue
        if values[name] == FREE_TEXT_MARK and parameter.kind == "free":
            composed = _composed(light, tool, name)
            if composed is not None:
                arguments[name] = composed
            elif parameter.required:
                missing.append(Missing(name, missing_question(parameter)))
            continue
        try:
            arguments[name] = grounder.ground(values[name], parameter)
        except UngroundedError as error:
            if asks_for_unknown:
                missing.append(Missing(name, missing_question(parameter)))
            else:
                faults.append(str(error))
    if faults:
        raise UngroundedError("; ".join(faults[:4]))
    plan = Plan(tool.id, arguments, 1.0, tuple(missing), tool.name)
    if errors := plan_errors(plan, tool):
        raise UngroundedError(errors[0][:200])
    return ParsedAnswer(plan)


def find_tool(name: str, tools: Sequence[Tool]) -> Tool:
    """The tool with this id, else the only one with this name; raise `UngroundedError` if there is none."""
    if (tool := next((tool for tool in tools if tool.id == name), None)) is not None:
        return tool
    named = [tool for tool in tools if tool.name == name]
    if len(named) != 1:
        reason = f"is none of the tools: {', '.join(tool.id for tool in tools)}"
        raise UngroundedError(f"api {reason}" if not named else "api has no server: write the whole name")
    return named[0]


def missing_question(parameter: Parameter) -> str:
    """The question to ask the user for an argument."""
    description = parameter.description.strip().rstrip(".")
    match parameter.kind:
        case "moment":
            question = "When"
        case "day":
            question = "On which day"
        case "duration":
            question = "For how long"
        case "choice":
            question = f"Which {parameter.label}: {', '.join(map(str, parameter.choices))}"
        case "number" | "integer":
            question = f"What {parameter.label}"
        case _:
            question = f"Which {parameter.label}"
    return f"{question} ({description})?" if description else f"{question}?"


def parse_call(answer: str) -> tuple[str, Mapping[str, Any]]:
    """The tool name and the arguments in a model's answer, unchecked; null arguments are dropped."""
    try:
        call = json.loads(answer)
        name, values = str(call["api"]), dict(call["arguments"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UngroundedError("it is no call: write api and arguments") from None
    return name, {str(key): value for key, value in values.items() if value is not None}


def call_json(name: str, arguments: Mapping[str, Any]) -> str:
    """A call in the JSON form that models write."""
    return json.dumps({"api": name, "arguments": dict(arguments)}, ensure_ascii=False)


def _composed(light: Readings | None, tool: Tool, name: str) -> Argument | None:
    """The text that the light planner has composed for an argument."""
    plans = light.plans if light is not None else ()
    return next((plan.arguments.get(name) for plan in plans if plan.tool == tool.id), None)
