"""The planner that asks a language model. It can call only what was found, with what stands somewhere.

The answer is held to a schema made of the tools found; each value is then looked up where it should stand,
and the call checked. What fails goes back to the model once, with the reason; what fails again is planned
without it.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from contextune.errors import LanguageModelError
from contextune.llm.cache import CachedChat
from contextune.llm.chat import Chat, Message, Sampling
from contextune.plan.language_model.grounding import Grounder, UngroundedError
from contextune.plan.language_model.prompt import AGAIN, BUDGET, call_schema, plan_messages
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.free_text import compose, question
from contextune.plan.pointer.planner import PointerPlanner
from contextune.plan.schema import faults, parameters
from contextune.types import Argument, Missing, Plan, Tool, ToolHit

TOOLS = 4
"""So many tools are offered."""
ANY = "*"
"""Stands for a text that is put together by a pattern: so the small model was taught, which words badly."""
UNSURE = 0.5
"""The confidence in a value that the light planner would not have given."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LanguagePlanner:
    """Plans by any `Chat`; where that fails, `light` does. Safe to share between threads if the model is.

    What a `CachedChat` answers is filed under the user who asked, and goes with them.
    """

    chat: Chat
    light: PointerPlanner = field(default_factory=PointerPlanner)
    tools: int = TOOLS
    budget: int = BUDGET
    """Tokens of items that the model reads."""
    sampling: Sampling = Sampling(most=200)  # noqa: RUF009  # frozen

    def plan(
        self, situation: PlanningInput, tools: Sequence[ToolHit], fits: float | None = None
    ) -> Plan | None:
        """The call the model writes, if it can be made; else the light planner's."""
        plain = self.light.plan(situation, tools, fits)
        offered = {hit.tool.name: hit.tool for hit in reversed(tools[: self.tools])}
        if not offered:
            return plain
        written = self._written(situation, list(reversed(offered.values())))
        return plain if written is None else _sure(written, plain)

    def _written(self, situation: PlanningInput, tools: Sequence[Tool]) -> Plan | None:
        user = situation.user.id
        chat = self.chat.of(user) if isinstance(self.chat, CachedChat) else self.chat
        messages = plan_messages(situation, tools, budget=self.budget)
        schema = call_schema(tools)
        for _ in range(2):
            try:
                answer = chat.ask(messages, self.sampling, schema=schema).text
            except LanguageModelError as error:
                _log.warning("a request is planned without the language model: %s", error)
                return None
            try:
                return read_plan(answer, situation, tools)
            except UngroundedError as error:
                again = AGAIN.format(faults=error)
                messages = [*messages, Message("assistant", answer), Message("user", again)]
        _log.info("a request is planned without the language model: its calls could not be made")
        return None


def read_plan(answer: str, situation: PlanningInput, tools: Sequence[Tool]) -> Plan:
    """The call in an answer, each value with where it stands; `UngroundedError` says why there is none."""
    api, given = read_call(answer)
    tool = next((tool for tool in tools if tool.name == api), None)
    if tool is None:
        raise UngroundedError("api is none of the tools")
    known = {one.name: one for one in parameters(tool)}
    if unknown := sorted(given.keys() - known.keys()):
        raise UngroundedError(f"{unknown[0]} is no argument of {tool.name}")
    ground = Grounder(situation)
    filled: dict[str, Argument] = {}
    for name, parameter in known.items():
        if given.get(name) == ANY and parameter.kind == "free":
            about = situation.items[0] if situation.items else None
            filled[name] = compose(situation, tool, parameter, about) or ground.argument(ANY, parameter)
        elif name in given:
            filled[name] = ground.argument(given[name], parameter)
    missing = tuple(
        Missing(one.name, question(one)) for one in known.values() if one.required and one.name not in given
    )
    plan = Plan(tool.id, filled, 1.0, missing, tool.name)
    if wrong := faults(plan, tool):
        raise UngroundedError(wrong[0][:200])
    return plan


def read_call(answer: str) -> tuple[str, Mapping[str, Any]]:
    """The name and the arguments of an answer, as they were written."""
    try:
        call = json.loads(answer)
        api, given = str(call["api"]), dict(call["arguments"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UngroundedError("it is no call: write api and arguments") from None
    return api, {str(name): value for name, value in given.items() if value is not None}


def call_text(api: str, arguments: Mapping[str, Any]) -> str:
    """A call as a model writes it."""
    return json.dumps({"api": api, "arguments": dict(arguments)}, ensure_ascii=False)


def _sure(written: Plan, plain: Plan | None) -> Plan:
    """How sure it is: as the light planner, where both agree; no more than a coin where they do not."""
    same = plain is not None and plain.tool == written.tool
    light: Mapping[str, Argument] = plain.arguments if plain is not None and same else {}
    agreed = {
        name for name, one in written.arguments.items() if name in light and light[name].value == one.value
    }
    arguments = {
        name: replace(one, confidence=light[name].confidence if name in agreed else UNSURE)
        for name, one in written.arguments.items()
    }
    confidence = plain.confidence if plain is not None and same else UNSURE
    confidence *= UNSURE ** (len(arguments) - len(agreed))
    return replace(written, arguments=arguments, confidence=confidence)
