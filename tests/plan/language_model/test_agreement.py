"""A model's call is weighed against the readings of the other planner, and decided on by the same policy."""

import pytest
from tests.plan.policy.readings import BY_ID, TOOLS, call

from contextune.plan.language_model.agreement import is_same_call, weigh_plan
from contextune.plan.policy import Policy, Readings
from contextune.types import Plan

MARTA = call("call_contact", 1.0, contact="Marta Reis")
RUI = call("call_contact", 1.0, contact="Rui Duarte")


def weigh(plan: Plan, *others: tuple[Plan, float], none: float = 0.0, trust: float = 0.5) -> Readings:
    return weigh_plan(plan, TOOLS[plan.name], Readings.from_pairs(others, none), trust)


def test_agreement_keeps_the_probability_at_even_trust_and_raises_it_above() -> None:
    assert weigh(MARTA, (MARTA, 0.7)).plans[0].confidence == pytest.approx(0.7)
    assert weigh(MARTA, (MARTA, 0.7), trust=0.9).plans[0].confidence > 0.9
    assert weigh(MARTA, (MARTA, 0.7), trust=0.2).plans[0].confidence < 0.5


def test_disagreement_divides_the_probability_by_trust() -> None:
    doubted = weigh(MARTA, (RUI, 0.8))
    assert [plan.args["contact"] for plan in doubted.plans] == ["Marta Reis", "Rui Duarte"]
    assert doubted.plans[0].confidence < doubted.plans[1].confidence
    believed = weigh(MARTA, (RUI, 0.5), trust=0.93)
    assert believed.plans[0].confidence > 0.8 > believed.plans[1].confidence
    for readings in (doubted, believed):
        assert sum(plan.confidence for plan in readings.plans) <= 1


def test_second_reading_of_the_other_planner_supports_the_model() -> None:
    second = weigh(MARTA, (RUI, 0.6), (MARTA, 0.35)).plans[0].confidence
    unheard = weigh(MARTA, (RUI, 0.6), (call("skip_track", 1.0), 0.35)).plans[0].confidence
    assert second > unheard


def test_no_call_is_surer_than_that_any_tool_fits() -> None:
    readings = weigh(MARTA, (MARTA, 0.3), none=0.6, trust=0.99)
    assert readings.plans[0].confidence <= 0.4
    decided = Policy().decide(readings, BY_ID.__getitem__)
    assert decided is not None
    assert decided.decision == "none"


def test_model_without_support_is_as_sure_as_its_trust() -> None:
    assert weigh(MARTA, trust=0.6).plans[0].confidence == pytest.approx(0.6)


def test_policy_asks_where_the_planners_disagree() -> None:
    plan = Policy().decide(weigh(MARTA, (RUI, 0.6)), BY_ID.__getitem__)
    assert plan is not None
    assert plan.decision == "ask"
    assert plan.question is not None
    assert plan.question.text == "Call Rui Duarte or Marta Reis?"


def test_free_text_may_be_worded_differently() -> None:
    first = call("send_email", 1.0, recipient="Rui Duarte", body="Thanks!")
    second = call("send_email", 1.0, recipient="Rui Duarte", body="Thank you.", subject="Kiln")
    other = call("send_email", 1.0, recipient="Marta Reis", body="Thanks!")
    tool = TOOLS["send_email"]
    assert is_same_call(first, second, tool)
    assert not is_same_call(first, other, tool)
    assert not is_same_call(first, call("send_email", 1.0, "body", recipient="Rui Duarte"), tool)
    weighed = weigh(first, (second, 0.6)).plans[0].arguments
    assert (weighed["recipient"].confidence, weighed["body"].confidence) == (1.0, 0.5)
