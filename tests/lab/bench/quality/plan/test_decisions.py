"""Figures of a policy's decisions, and thresholds for a limit on wrong calls."""

from collections.abc import Callable, Mapping

import pytest
from tests.plan.policy.readings import BY_ID, call

from contextune.plan.policy import Cost, Policy, Readings
from contextune.types import Plan
from contextune_lab.bench.quality.plan.decisions import DecisionCase, choose_act, decision_figures

find_tool = BY_ID.__getitem__


def case(plan: Plan, *, right: bool, served: bool = True, none: float = 0.0) -> DecisionCase:
    return DecisionCase(Readings((plan,), none), right, served)


def calls(*probabilities: float) -> list[Plan]:
    return [call("call_contact", probability, contact="Bruno Rossi") for probability in probabilities]


def changes(*probabilities: float) -> list[Plan]:
    return [call("pin_note", probability, title="Kiln") for probability in probabilities]


def test_figures_count_what_is_acted_on() -> None:
    sure, doubtful, wrong, unsure = changes(0.9, 0.6, 0.95, 0.3)
    cases = [
        case(sure, right=True),
        case(doubtful, right=True),
        case(wrong, right=False),
        case(unsure, right=False),
        case(sure, right=False, served=False),
        case(sure, right=False, served=False, none=0.8),
    ]
    figures = decision_figures(cases, Policy(), find_tool)
    assert (figures.acted, figures.acted_wrongly, figures.asked_needlessly) == (0.5, 0.25, 0.25)
    assert figures.held_back == 0.5


def test_thresholds_keep_wrong_calls_below_the_limit() -> None:
    outcomes = [(0.9, True), (0.8, True), (0.7, False), (0.6, True), (0.5, False)]
    of_cost: Mapping[Cost, Callable[..., list[Plan]]] = {"write": changes, "send": calls}
    for cost, made in of_cost.items():
        cases = [case(plan, right=right) for (p, right) in outcomes for plan in made(p)]
        assert choose_act(cases, Policy(), find_tool, 0.0)[cost] == pytest.approx(0.75)
        assert choose_act(cases, Policy(), find_tool, 0.2)[cost] == pytest.approx(0.55)
        assert choose_act(cases, Policy(), find_tool, {cost: 1.0})[cost] == pytest.approx(0.25)
        for limit in (0.0, 0.2, 0.4):
            policy = Policy(act=choose_act(cases, Policy(), find_tool, limit))
            figures = decision_figures(cases, policy, find_tool)
            assert figures.acted_wrongly <= limit
            assert (figures.acted > 0) == (cost == "write")


def test_each_cost_has_its_own_threshold() -> None:
    cases = [case(plan, right=False) for plan in calls(0.9)]
    cases += [case(call("skip_track", 0.6), right=True), case(call("pin_note", 0.5, "title"), right=False)]
    chosen = choose_act(cases, Policy(), find_tool)
    assert chosen["send"] > 1  # every call is wrong
    assert chosen["read"] == pytest.approx(0.3)
    assert chosen["write"] > 1  # nothing to act on: the argument is missing


def test_equal_probabilities_are_acted_on_together() -> None:
    cases = [case(plan, right=right) for plan, right in zip(calls(0.8, 0.8), (True, False), strict=True)]
    assert choose_act(cases, Policy(), find_tool, 0.0)["send"] > 1


def test_call_for_a_request_that_no_tool_serves_is_wrong() -> None:
    cases = [case(plan, right=False, served=False) for plan in calls(0.9)]
    assert choose_act(cases, Policy(), find_tool)["send"] > 1
