"""How a policy's decisions turn out, and thresholds that keep its mistakes below a limit.

After a planner is trained again its probabilities may mean something else. Choose the defaults of
`contextune.plan.policy.policy` anew then: `choose_act` over readings of models that have not seen the users.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from contextune.plan.policy import COSTS, Cost, Policy, Readings
from contextune.plan.policy.policy import FindTool

_NEVER = 1.01
"""A threshold that no probability reaches."""


@dataclass(frozen=True, slots=True)
class DecisionCase:
    """The readings of one request, and whether the first of them is the right call."""

    readings: Readings
    right: bool
    served: bool = True
    """Whether any tool of the catalogue can serve the request."""


@dataclass(frozen=True, slots=True)
class DecisionFigures:
    """Shares of requests: the first three of those that a tool serves, the last of the others."""

    acted: float
    acted_wrongly: float
    """The call is wrong, and made without asking."""
    asked_needlessly: float
    """The call is right, but confirmed, asked about or refused."""
    held_back: float
    """No tool serves the request, and it is refused or asked about."""


def decision_figures(cases: Sequence[DecisionCase], policy: Policy, find_tool: FindTool) -> DecisionFigures:
    """Decide on all cases and count."""
    acted = [_acts(case, policy, find_tool) for case in cases]
    served = [(case, act) for case, act in zip(cases, acted, strict=True) if case.served]
    unserved = [act for case, act in zip(cases, acted, strict=True) if not case.served]
    return DecisionFigures(
        _share([act for _, act in served]),
        _share([act and not case.right for case, act in served]),
        _share([case.right and not act for case, act in served]),
        _share([not act for act in unserved]),
    )


def choose_act(
    cases: Sequence[DecisionCase],
    policy: Policy,
    find_tool: FindTool,
    max_wrong: float | Mapping[Cost, float] = 0.03,
) -> dict[Cost, float]:
    """The lowest `act` thresholds with at most this share of wrong calls among the requests of each cost.

    Of calls that send or delete, and are never made unasked, the threshold is that of a sure proposal. A call
    for a request that no tool serves is wrong. What the policy asks about for other reasons, such as a
    missing argument, does not count. Thresholds lie between two probabilities that occur.
    """
    eager = replace(policy, act=dict.fromkeys(COSTS, 0.0))
    chosen: dict[Cost, float] = {}
    for cost in COSTS:
        of_cost = [
            case
            for case in cases
            if case.readings.plans and policy.cost(find_tool(case.readings.plans[0].tool)) == cost
        ]
        limit = max_wrong.get(cost, 0.0) if isinstance(max_wrong, Mapping) else max_wrong
        sure = [case for case in of_cost if _is_sure(case, eager, find_tool)]
        chosen[cost] = _lowest_threshold(sure, limit * len(of_cost))
    return chosen


def _lowest_threshold(cases: Sequence[DecisionCase], allowed: float) -> float:
    """The lowest threshold above which at most `allowed` cases are wrong."""
    ordered = sorted(cases, key=lambda case: -case.readings.plans[0].confidence)
    probabilities = [case.readings.plans[0].confidence for case in ordered]
    wrong, threshold = 0, _NEVER
    for number, case in enumerate(ordered):
        wrong += not (case.right and case.served)
        if wrong > allowed:
            break
        below = probabilities[number + 1] if number + 1 < len(ordered) else 0.0
        if below < probabilities[number]:  # equal probabilities are acted on together
            threshold = (probabilities[number] + below) / 2
    return threshold


def _is_sure(case: DecisionCase, policy: Policy, find_tool: FindTool) -> bool:
    plan = policy.decide(case.readings, find_tool)
    return plan is not None and policy.is_sure(plan, find_tool(plan.tool))


def _acts(case: DecisionCase, policy: Policy, find_tool: FindTool) -> bool:
    plan = policy.decide(case.readings, find_tool)
    return plan is not None and plan.ready


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values) if values else 0.0
