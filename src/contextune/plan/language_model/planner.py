"""`LanguagePlanner`: a language model writes the call, which is then grounded and checked.

The output is constrained to a schema of the retrieved tools. Each value must be found in the request, the
contacts or the items. An invalid call is sent back to the model once, with the reason; if the second attempt
fails too, the fallback planner's plan is used. A valid call is as probable as its agreement with the fallback
planner makes it, and the same policy decides on it.
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
from contextune.plan.language_model.agreement import weigh_plan
from contextune.plan.language_model.grounding import Grounder, UngroundedError
from contextune.plan.language_model.prompt import RETRY, TOKEN_BUDGET, call_schema, plan_messages
from contextune.plan.planning_input import Planner, PlanningInput
from contextune.plan.policy.readings import Readings, read_request
from contextune.plan.reading_planner import ReadingPlanner
from contextune.plan.schema import plan_errors, tool_parameters
from contextune.types import Argument, Missing, Plan, Tool, ToolHit

MAX_TOOLS = 4
"""Tools that are offered to the model, best first."""
FREE_TEXT_MARK = "*"
"""A model writes this to have a free text composed; the small local model is trained to."""
TRUST = 0.5
"""Default share of a model's calls that are right; measure it with `contextune bench plan --written`."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LanguagePlanner:
    """Plans with any `Chat`, else with `fallback`. Thread-safe if the model is.

    A `CachedChat` stores its answers under the user of the request, so `forget(user)` erases them.
    """

    chat: Chat
    fallback: Planner = field(default_factory=ReadingPlanner)
    tools: int = MAX_TOOLS
    budget: int = TOKEN_BUDGET
    """Tokens of items that the model reads."""
    sampling: Sampling = Sampling(max_tokens=200)  # noqa: RUF009  # frozen
    cot: ChainOfThought | None = None
    """Guides the model with a chain of thought. Values must still be found in the request or the items."""
    trust: float = TRUST
    """The share of the model's calls that are right, which decides how much its word counts."""

    def plan(self, inputs: PlanningInput, tools: Sequence[ToolHit], fits: float | None = None) -> Plan | None:
        """The model's call if it is valid, else that of the fallback planner."""
        return next(iter(self.readings(inputs, tools, fits).plans), None)

    def readings(
        self, inputs: PlanningInput, tools: Sequence[ToolHit], fits: float | None = None
    ) -> Readings:
        """The model's call if it is valid, then the readings of the fallback planner."""
        fallback = read_request(self.fallback, inputs, tools, fits)
        offered = {hit.tool.name: hit.tool for hit in reversed(tools[: self.tools])}
        if not offered:
            return fallback
        plan = self._ask(inputs, list(reversed(offered.values())), fallback.plans)
        return fallback if plan is None else weigh_plan(plan, offered[plan.name], fallback, self.trust)

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

    def _ask(self, inputs: PlanningInput, tools: Sequence[Tool], light: Sequence[Plan]) -> Plan | None:
        user = inputs.user.id
        chat = self.chat.for_user(user) if isinstance(self.chat, CachedChat) else self.chat
        messages = plan_messages(inputs, tools, budget=self.budget, thought=self._thought(inputs))
        schema = call_schema(tools)
        for _ in range(2):
            try:
                answer = chat.ask(messages, self.sampling, schema=schema).text
            except LanguageModelError as error:
                _log.warning("the language model failed, using the fallback planner: %s", error)
                return None
            try:
                return parse_plan(answer, inputs, tools, light)
            except UngroundedError as error:
                retry = RETRY.format(faults=error)
                messages = [*messages, Message("assistant", answer), Message("user", retry)]
        _log.info("the language model wrote no valid call, using the fallback planner")
        return None


def parse_plan(answer: str, inputs: PlanningInput, tools: Sequence[Tool], light: Sequence[Plan] = ()) -> Plan:
    """Parse and ground the call in an answer; raise `UngroundedError` if it is invalid.

    A text that the model leaves to be composed is that of the `light` plan with its tool, else the request.
    The error messages are sent to the model: rewording them is a change of the prompt.
    """
    name, values = parse_call(answer)
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is None:
        raise UngroundedError("api is none of the tools")
    declared = {parameter.name: parameter for parameter in tool_parameters(tool)}
    if unknown := sorted(values.keys() - declared.keys()):
        raise UngroundedError(f"{unknown[0]} is no argument of {tool.name}")
    grounder = Grounder(inputs)
    arguments: dict[str, Argument] = {}
    for name, parameter in declared.items():
        if values.get(name) == FREE_TEXT_MARK and parameter.kind == "free":
            text = next(
                (plan.args[name] for plan in light if plan.tool == tool.id and name in plan.args), None
            )
            arguments[name] = grounder.ground(text or inputs.request.text, parameter)
        elif name in values:
            arguments[name] = grounder.ground(values[name], parameter)
    missing = tuple(
        Missing(parameter.name, parameter.question)
        for parameter in declared.values()
        if parameter.required and parameter.name not in values
    )
    plan = Plan(tool.id, arguments, 1.0, missing, tool.name)
    if errors := plan_errors(plan, tool):
        raise UngroundedError(errors[0][:200])
    return plan


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
