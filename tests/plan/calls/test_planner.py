"""`CallPlanner`: the best call of several tools, its probability, and alternatives."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.plan.calls.tiny_ranker import EMBEDDER, MAIL, inputs_for, tiny_ranker, tool_hits

from contextune.errors import RankerError
from contextune.plan import CallPlanner, CallRanker, PointerPlanner, ReadingsPlanner
from contextune.plan.calls import planner as planner_module
from contextune.plan.planning_input import RequestVector
from contextune.plan.policy.policy import ACT


@pytest.fixture(scope="module")
def ranker() -> CallRanker:
    return tiny_ranker()


def test_second_tool_wins_if_the_request_sounds_like_it(ranker: CallRanker) -> None:
    hits = tool_hits("read_email", "call_contact")
    plan = CallPlanner(ranker=ranker).plan(inputs_for("Call Marta Reis", MAIL, direction=0), hits, 0.9)
    assert plan is not None
    assert (plan.name, plan.args) == ("call_contact", {"contact": "Marta Reis"})


def test_readings_name_both_contacts_and_add_up_to_one(ranker: CallRanker) -> None:
    planner = CallPlanner(ranker=ranker)
    assert isinstance(planner, ReadingsPlanner)
    readings = planner.readings(inputs_for("Call Bruno", direction=0), tool_hits("call_contact"), 0.9)
    contacts = {plan.args.get("contact") for plan in readings.plans}
    assert contacts >= {"Bruno Kosuta", "Bruno Rossi"}
    total = sum(plan.confidence for plan in readings.plans) + readings.none
    assert 0 < total <= 1 + 1e-6


def test_no_call_for_one_of_two_namesakes_is_acted_on(ranker: CallRanker) -> None:
    planner, hits = CallPlanner(ranker=ranker), tool_hits("call_contact")
    readings = planner.readings(inputs_for("Call Bruno", direction=0), hits, 0.9)
    assert all(plan.confidence <= 0.65 < min(ACT.values()) for plan in readings.plans)
    named = planner.readings(inputs_for("Call Bruno Rossi", direction=0), hits, 0.9)
    assert named.plans[0].confidence > 0.65


def test_unserved_request_gets_a_high_probability_of_none(ranker: CallRanker) -> None:
    planner, hits = CallPlanner(ranker=ranker), tool_hits("call_contact", "play_song")
    inputs = inputs_for("The dehumidifier should run", direction=3)
    assert planner.readings(inputs, hits, 0.05).none > 0.5 > planner.readings(inputs, hits, 0.95).none


def test_without_tools_there_is_no_plan(ranker: CallRanker) -> None:
    planner = CallPlanner(ranker=ranker)
    assert planner.plan(inputs_for("Call Marta", direction=0), [], None) is None
    assert planner.readings(inputs_for("Call Marta", direction=0), [], None).none == 1.0


@pytest.mark.parametrize("text", ["?!", "Call", "Call Bruno"])
@pytest.mark.parametrize("names", [("call_contact",), ("call_contact", "play_song")])
def test_ranking_short_requests_gives_no_warning(
    ranker: CallRanker, text: str, names: tuple[str, ...]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        readings = CallPlanner(ranker=ranker).readings(inputs_for(text), tool_hits(*names))
    assert 0 <= readings.none <= 1


def test_without_a_ranker_the_first_tool_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner_module, "default_call_ranker", lambda: None)
    planner, hits = CallPlanner(), tool_hits("read_email", "call_contact")
    inputs = inputs_for("Call Marta Reis", MAIL, direction=0)
    assert planner.plan(inputs, hits, 0.8) == PointerPlanner().plan(inputs, hits, 0.8)
    assert planner.searched_tools == 0


def test_vectors_of_another_embedder_are_not_classified(ranker: CallRanker) -> None:
    assert ranker.classify(RequestVector(np.ones(4, np.float32), "other")) is None
    assert ranker.classify(None) is None
    known = ranker.classify(RequestVector(np.eye(4, dtype=np.float32)[1], EMBEDDER))
    assert known is not None
    assert max(known.tools, key=known.tools.__getitem__) == "play_song"
    assert known.actions["play"] == pytest.approx(known.tools["play_song"])


def test_saved_ranker_gives_the_same_readings(ranker: CallRanker, tmp_path: Path) -> None:
    ranker.save(tmp_path / "calls")
    loaded = CallRanker.load(tmp_path / "calls")
    inputs, hits = inputs_for("Call Bruno", MAIL, direction=0), tool_hits("call_contact", "read_email")
    assert CallPlanner(ranker=loaded).readings(inputs, hits, 0.9) == CallPlanner(ranker=ranker).readings(
        inputs, hits, 0.9
    )
    assert loaded.metadata == ranker.metadata


def test_folder_without_a_ranker_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RankerError, match="contextune train calls"):
        CallRanker.load(tmp_path)
