"""`CascadePlanner`: asks a language model only where the light plan is in doubt."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from contextune.errors import InvalidRequestError
from contextune.llm.chat import Chat
from contextune.llm.from_env import TUNED_MODEL, required_chat
from contextune.plan.language_model.budget import CallBudget
from contextune.plan.language_model.feed import Feed
from contextune.plan.language_model.planner import LanguagePlanner
from contextune.plan.planning_input import Planner, PlanningInput
from contextune.plan.policy.policy import Policy
from contextune.plan.policy.readings import Readings, read_request
from contextune.types import Plan, Progress, Tool, ToolHit

IN_DOUBT = 0.6
"""Default probability below which a light plan is in doubt, even if the policy would make the call."""
LIGHT, LANGUAGE, CASCADE = "light", "language", "cascade"
PLANNERS = (LIGHT, LANGUAGE, CASCADE)
"""Names of planners: without a model, always with the configured one, with it where in doubt."""


@dataclass(frozen=True)
class CascadePlanner:
    """Plans with `light`, and has `model` revise the plans that are in doubt. Thread-safe if both are."""

    model: LanguagePlanner
    light: Planner | None = None
    """A `Tuner` sets its own."""
    policy: Policy = field(default_factory=Policy)
    """Decides which light plans are acted on; a `Tuner` sets its own."""
    threshold: float = IN_DOUBT

    @classmethod
    def with_chat(
        cls,
        chat: Chat,
        light: Planner | None = None,
        *,
        budget: CallBudget | None = None,
        feed: Feed | None = None,
        threshold: float = IN_DOUBT,
    ) -> "CascadePlanner":
        """A cascade over a chat model, with the default budget and feed unless they are passed."""
        model = LanguagePlanner(chat, feed=feed or Feed(), spending=budget or CallBudget())
        return cls(model, light, threshold=threshold)

    @property
    def searched_tools(self) -> int:
        """How many tools to retrieve for a request."""
        return max(self.model.searched_tools, getattr(self.light, "searched_tools", 0))

    def plan(self, inputs: PlanningInput, tools: Sequence[ToolHit], fits: float | None = None) -> Plan | None:
        """The light plan, or the model's if that is in doubt."""
        return next(iter(self.readings(inputs, tools, fits).plans), None)

    def readings(
        self, inputs: PlanningInput, tools: Sequence[ToolHit], fits: float | None = None
    ) -> Readings:
        """The readings of the light planner, revised by the model if they are in doubt."""
        light = Readings() if self.light is None else read_request(self.light, inputs, tools, fits)
        return self.model.revise(inputs, tools, light) if self.in_doubt(light, tools) else light

    def in_doubt(self, light: Readings, tools: Sequence[ToolHit]) -> bool:
        """Whether the policy would not make the light call, or its probability is below the threshold.

        A call that is sure enough to be made, and only needs the user's confirmation, is not in doubt.
        """
        by_name: dict[str, Tool] = {hit.tool.name: hit.tool for hit in tools}
        by_name |= {hit.tool.id: hit.tool for hit in tools}
        plan = self.policy.decide(light, by_name.__getitem__)
        if plan is None or plan.missing or plan.confidence < self.threshold:
            return True
        return not self.policy.is_sure(plan, by_name[plan.tool])

    def forget(self, user: str) -> None:
        """Erase what the model keeps of a user."""
        self.model.forget(user)


def with_light_planner(planner: Planner, light: Planner, policy: Policy) -> Planner:
    """A planner with a language model that has no light planner of its own, with this one."""
    if isinstance(planner, LanguagePlanner) and planner.fallback is None:
        return replace(planner, fallback=light)
    if isinstance(planner, CascadePlanner) and planner.light is None:
        return replace(planner, light=light, policy=policy)
    return planner


def light_planner(planner: Planner) -> Planner:
    """The light planner beside a language model, else the planner itself."""
    if isinstance(planner, LanguagePlanner):
        return planner.fallback or planner
    if isinstance(planner, CascadePlanner):
        return planner.light or planner
    return planner


def configured_planner(name: str, *, progress: Progress | None = None) -> Planner | None:
    """The planner with a name, over the configured model; None for the light planner of a tuner."""
    if name not in PLANNERS:
        raise InvalidRequestError(f"unknown planner {name!r}: use {', '.join(PLANNERS)}, or pass a Planner")
    if name == LIGHT:
        return None
    chat = required_chat(task="plans", progress=progress)
    feed = None if chat.name.startswith(TUNED_MODEL) else Feed()
    if name == LANGUAGE:
        return LanguagePlanner(chat, feed=feed)
    return CascadePlanner(LanguagePlanner(chat, feed=feed, spending=CallBudget()))
