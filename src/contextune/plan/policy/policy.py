"""`Policy`: the one place that decides whether a call is made, confirmed, asked about or refused.

A call is made without asking only if it is probable enough for what a mistake would cost, and can be called
back: a wrong search is seen at once, and a mail is always shown before it is sent. The thresholds are on
probabilities, so they mean what they say only if the planner is calibrated; `contextune bench plan` measures
both.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import cast

from contextune.errors import InvalidRequestError
from contextune.plan.policy.cost import COSTS, Cost, call_cost
from contextune.plan.policy.questions import (
    ask_between,
    ask_for_missing,
    ask_to_confirm,
    ask_to_correct,
    no_tool_serves,
    not_english,
)
from contextune.plan.policy.readings import Readings, is_namesake
from contextune.tools.profiles.effects import is_irreversible
from contextune.types import Decision, Plan, Question, Tool

ACT: Mapping[Cost, float] = {"read": 0.7, "write": 0.8, "send": 0.85}
"""Default probability from which on a call is made, by its cost; of `send`, from which on it is proposed
without a question between readings."""
LIKELY = 0.5
"""Least probability of a call that is made, and of what is said as a fact, whatever the thresholds."""
CONFIRM: Mapping[Cost, float] = {"read": 0.35, "write": 0.45, "send": 0.5}
"""Default probability from which on a call that is not made is proposed as a whole, to be confirmed."""
NONE = 0.5
"""Default probability that no tool serves from which on the request is refused."""
RIVAL = 0.4
"""Default share of the first reading's probability from which on another reading is worth a question."""
_CLEARLY = 1.5
_NEARLY = 0.6
"""From this share of `none` on, a request is refused if that is so many times as probable as any reading."""
_NEAREST = 0.2
"""Least probability of a call that is offered to somebody whose request no tool serves."""
_NAMESAKE = 0.1
"""The same for a reading with another value of the same name: "Jan" is Jan Novak or Jan Peters."""
MAX_OPTIONS = 3
"""Readings that a question offers."""
FindTool = Callable[[str], Tool]
"""Returns the tool with an id."""


def _act() -> Mapping[Cost, float]:
    return ACT


def _confirm() -> Mapping[Cost, float]:
    return CONFIRM


@dataclass(frozen=True)
class Policy:
    """Decides on plans; immutable. Costs that `act` and `confirm` leave out keep their defaults.

    A threshold above 1 is never reached: `Policy(act={"write": 2})` confirms whatever changes something. No
    setting makes a call unasked that sends, deletes or pays, nor one that is less probable than `LIKELY`.
    """

    act: Mapping[Cost, float] = field(default_factory=_act)
    confirm: Mapping[Cost, float] = field(default_factory=_confirm)
    none: float = NONE
    rival: float = RIVAL
    costs: Mapping[str, Cost] = field(default_factory=dict[str, Cost])
    """The cost of some tools, by id or name, instead of what their words say."""
    trusted: frozenset[str] = frozenset()
    """Apps whose writes need no confirmation, and whose annotations may also lower the cost of a call;
    those of others can only raise it."""

    def __post_init__(self) -> None:
        for name, thresholds, defaults in (("act", self.act, ACT), ("confirm", self.confirm, CONFIRM)):
            if unknown := sorted(set(thresholds) - set(COSTS)):
                raise InvalidRequestError(
                    f"unknown cost {unknown[0]!r} in the policy: use {', '.join(COSTS)}"
                )
            merged = {**defaults, **thresholds}
            object.__setattr__(self, name, merged)
            for cost, threshold in merged.items():
                _check(f"{name}.{cost}", threshold)
        _check("none", self.none)
        _check("rival", self.rival)
        if wrong := sorted(set(self.costs.values()) - set(COSTS)):
            raise InvalidRequestError(f"unknown cost {wrong[0]!r} in the policy: use {', '.join(COSTS)}")

    @classmethod
    def parse(cls, text: str) -> "Policy":
        """A policy from settings such as `act.send=0.9,none=0.6,cost.Door/unlock=send,trust=Notes`."""
        numbers: dict[str, float] = {}
        thresholds: dict[str, dict[Cost, float]] = {"act": {}, "confirm": {}}
        costs: dict[str, Cost] = {}
        trusted: set[str] = set()
        for setting in filter(None, (part.strip() for part in text.split(","))):
            name, _, value = (part.strip() for part in setting.partition("="))
            group, _, key = name.partition(".")
            if group == "cost" and key:
                costs[key] = cast("Cost", value)
            elif group in thresholds and key in COSTS:
                thresholds[group][key] = _number(setting, value)
            elif name == "trust" and value:
                trusted.add(value)
            elif name in ("none", "rival"):
                numbers[name] = _number(setting, value)
            else:
                raise InvalidRequestError(
                    f"unknown policy setting {setting!r}: write act.send=0.9, confirm.read=0.3, none=0.6,"
                    " rival=0.5, cost.TOOL=send or trust=SERVER, separated by commas"
                )
        none, rival = numbers.get("none", NONE), numbers.get("rival", RIVAL)
        return cls(thresholds["act"], thresholds["confirm"], none, rival, costs, frozenset(trusted))

    def cost(self, tool: Tool) -> Cost:
        """The cost of calling a tool by mistake."""
        chosen = self.costs.get(tool.id) or self.costs.get(tool.name)
        return chosen or call_cost(tool, trusted=tool.app in self.trusted)

    def confirms(self, tool: Tool) -> bool:
        """Whether calls of a tool need the user's confirmation, however sure they are.

        What reaches others, deletes or pays does, unless `costs` names the tool. So do other writes, unless
        the app is trusted or the tool has none, as a function of the program itself. Annotations only make
        this stricter.
        """
        chosen = self.costs.get(tool.id) or self.costs.get(tool.name)
        cost = chosen or ("send" if is_irreversible(tool) else call_cost(tool))
        return cost == "send" or (cost == "write" and bool(tool.app) and tool.app not in self.trusted)

    def decide(self, readings: Readings, find_tool: FindTool) -> Plan | None:
        """The first reading with the decision and what to say to the user; None without readings.

        Readings of a planner go through `guard_readings` and `doubt_readings` first.
        """
        if not readings.plans:
            return None
        readings = readings.within_one()
        plan = replace(readings.plans[0], decision=None, question=None)
        decision, question = self._judge(plan, readings, find_tool)
        if question is not None and readings.language is not None:
            question = replace(question, text=f"{not_english(readings.language)} {question.text}")
        return replace(plan, decision=decision, question=question)

    def decide_steps(self, plans: Sequence[Plan], find_tool: FindTool) -> tuple[Plan, ...]:
        """Decided steps, the first of which is confirmed if all are to be made, but are not likely enough.

        Each may be likely enough by itself: two calls that are 70 % sure are 49 % sure together.
        """
        least = max(self._least(find_tool(plan.tool)) for plan in plans)
        if not all(plan.ready for plan in plans) or prod(plan.confidence for plan in plans) >= least:
            return tuple(plans)
        first = replace(plans[0], decision=None)
        question = ask_to_confirm(first, find_tool(first.tool))
        return (replace(first, decision="confirm", question=question), *plans[1:])

    def is_sure(self, plan: Plan, tool: Tool) -> bool:
        """Whether a decided call is made, or is probable enough to be and only needs the user's consent."""
        return plan.ready or (plan.decision == "confirm" and plan.confidence >= self._least(tool))

    def _least(self, tool: Tool) -> float:
        """The probability from which on a call is made."""
        return max(self.act[self.cost(tool)], LIKELY)

    def _refuses(self, readings: Readings) -> bool:
        if readings.refused is not None:
            return readings.refused
        best = max(reading.confidence for reading in readings.plans)
        return readings.none >= min(self.none, max(_NEARLY * self.none, _CLEARLY * best))

    def _judge(self, plan: Plan, readings: Readings, find_tool: FindTool) -> tuple[Decision, Question | None]:
        tool = find_tool(plan.tool)
        sure, is_final = plan.confidence, is_irreversible(tool)
        if self._refuses(readings):
            return "none", no_tool_serves(
                plan,
                tool,
                offers_nearest=not is_final and self.cost(tool) != "send" and sure >= _NEAREST,
                is_likely=readings.none >= LIKELY,
                unknown_words=readings.unknown_words,
            )
        if plan.missing:
            return "ask", ask_for_missing(plan, tool)
        rivals = [other for other in readings.others() if other.confidence >= self.rival * sure]
        is_first = all(other.confidence <= sure for other in rivals)
        if sure >= self._least(tool) and is_first and not readings.asks_first:
            if is_final or readings.shows_first or readings.left_out or readings.language:
                return "confirm", ask_to_confirm(plan, tool, readings.left_out)
            return "act", None
        rivals += [
            other
            for other in readings.others()
            if _NAMESAKE * sure <= other.confidence < self.rival * sure and is_namesake(plan, other)
        ]
        if rivals:
            options = [replace(other, decision=None, question=None) for other in rivals[: MAX_OPTIONS - 1]]
            choices = sorted([plan, *options], key=lambda choice: -choice.confidence)
            return "ask", ask_between(choices, find_tool)
        if sure >= self.confirm[self.cost(tool)]:
            return "confirm", ask_to_confirm(plan, tool, readings.left_out)
        return "ask", ask_to_correct(plan, tool)


def _check(name: str, threshold: float) -> None:
    if not threshold >= 0:  # also refuses NaN
        raise InvalidRequestError(f"invalid policy setting {name}={threshold!r}: use a probability")


def _number(setting: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise InvalidRequestError(f"invalid policy setting {setting!r}: {value!r} is not a number") from None
