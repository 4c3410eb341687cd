"""Worlds are measured with rankers that have not seen them, from a folder for each world."""

import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.lab.worlds.scripted_planner import SCRIPTS, ScriptedPlanner

from contextune._internal.assets import asset
from contextune.context import methods
from contextune.errors import InvalidDataError
from contextune.evaluate.outcomes import Outcome
from contextune.plan import ReadingPlanner
from contextune.plan.arguments import reader
from contextune.plan.reading_planner import CALL_FEATURES
from contextune.rank import CandidateGroup, Ranker, RankerSettings
from contextune.tools import reading as tools_reading
from contextune_lab.worlds.ask import AskOptions, ask_world
from contextune_lab.worlds.held_out import CALLS, RANKERS, TOOLS, held_out_folder, rankers_of
from contextune_lab.worlds.load import LoadedWorld
from contextune_lab.worlds.run import WorldRun, run_world
from contextune_lab.worlds.tables import BUNDLED, OWN, WorldResults, held_out_tables
from contextune_lab.worlds.world import World


@pytest.fixture
def rankers(tmp_path: Path) -> Path:
    """The bundled rankers, as if they had left out the bakery."""
    for name in (RANKERS, TOOLS, CALLS):
        shutil.copytree(asset(name), tmp_path / "held_out" / "bakery" / name)
    return tmp_path / "held_out"


def test_rankers_of_a_folder_replace_the_bundled_ones_for_a_while(rankers: Path) -> None:
    before = [methods.default_rankers(), reader.default_value_ranker()]
    with rankers_of(rankers / "bakery"):
        inside = [methods.default_rankers(), reader.default_value_ranker()]
        assert ReadingPlanner()._ranker is ReadingPlanner()._ranker  # pyright: ignore[reportPrivateUsage]
        assert tools_reading.default_tool_reading_rankers() is tools_reading.default_tool_reading_rankers()
    assert all(one is not other for one, other in zip(before, inside, strict=True))
    assert [methods.default_rankers(), reader.default_value_ranker()] == before


def test_world_is_asked_with_the_rankers_of_its_folder(rankers: Path, bakery: World, tmp_path: Path) -> None:
    run = WorldRun(bakery.folder, tmp_path / "cache", only=frozenset(["bakery-001", "bakery-009"]))
    same = WorldRun(run.folder, run.cache, only=run.only, rankers=rankers)
    as_bundled, results = run_world(run), run_world(same)
    assert [result.outcome for result in results] == [result.outcome for result in as_bundled]
    confidences = [result.plan and result.plan.confidence for result in results]
    assert confidences == [result.plan and result.plan.confidence for result in as_bundled]
    # a ranker that has seen hardly any right call makes no call
    file = rankers / "bakery" / CALLS / "right.json.gz"
    rows = np.random.default_rng(0).normal(size=(100, len(CALL_FEATURES))).astype(np.float32)
    settings = RankerSettings(rounds=1, seeds=1, leaves=2, smallest_leaf=20, objective="binary")
    right = (np.arange(100) == 0).astype(np.int64)
    Ranker.fit([CandidateGroup(rows, right)], CALL_FEATURES, settings).save(file)
    assert not any(result.plan and result.plan.ready for result in run_world(same))


def test_world_without_rankers_is_named(rankers: Path, bakery: World, tmp_path: Path) -> None:
    shutil.rmtree(rankers / "bakery" / TOOLS)
    with pytest.raises(InvalidDataError, match=r"no rankers that leave out world 'bakery'.*reading_tools"):
        held_out_folder(rankers, "bakery")


def test_front_page_counts_calls_and_items(bakery: World, tmp_path: Path) -> None:
    results = run_world(WorldRun(bakery.folder, tmp_path))
    calls, items, _ = held_out_tables([WorldResults(BUNDLED, results), WorldResults("own", [])])
    values = dict(calls.values()) | dict(items.values())
    served = [result for result in results if result.is_one_call]
    assert values["worlds-held-out/bundled tools/requests"] == len(served)
    right = sum(result.call_right for result in served)
    assert values["worlds-held-out/bundled tools/call right"] == pytest.approx(100 * right / len(served))
    assert 0 <= values["worlds-held-out/bundled tools/nothing serves: refused or asked"] <= 100
    needing = [result for result in results if result.recalls]
    assert values["worlds-held-out-items/all/requests"] == len(needing)


def test_front_page_counts_harm_proposals_steps_and_questions_apart(loaded_bakery: LoadedWorld) -> None:
    right, wrong = (
        ask_world(loaded_bakery, AskOptions({"planner": ScriptedPlanner(SCRIPTS[name])}))
        for name in ("right", "wrong")
    )
    calls, *_ = held_out_tables([WorldResults(BUNDLED, wrong)])
    values = {name.rpartition("/")[2]: value for name, value in calls.values() if "±" not in name}
    counts = Counter(result.outcome for result in wrong if result.is_one_call)
    assert counts.total() == values["requests"] == 10
    for name, outcome in {
        "right": Outcome.RIGHT,
        "only proposed": Outcome.PROPOSED,
        "offered": Outcome.OFFERED,
        "asked wrongly": Outcome.ASKED_WRONGLY,
        "wrong": Outcome.WRONG,
        "harmful": Outcome.HARM,
        "refused": Outcome.REFUSED,
    }.items():
        assert values[name] == pytest.approx(100 * counts[outcome] / 10), name
    assert values["harmful"] == 10
    assert values["to be asked about: asked"] == values["steps: first call right"] == 0
    assert values["nothing serves: refused or asked"] == 50
    assert "call right, renamed" not in values
    parts = [WorldResults(BUNDLED, right, wrong), WorldResults(OWN, right)]
    calls, _, renamed, *calibration = held_out_tables(parts)
    names = [f"worlds-held-out-{part}-calibration" for part in (BUNDLED, OWN)]
    assert [table.id for table in calibration] == names
    values = dict(calls.values()) | dict(renamed.values())
    assert values["worlds-held-out/bundled tools/to be asked about: asked"] == 100
    assert values["worlds-held-out/bundled tools/steps: first call right"] == 100
    assert values["worlds-held-out/bundled tools/call right, renamed"] == 0
    assert "worlds-held-out/own tools/call right, renamed" not in values
    right_calls = values["worlds-held-out/bundled tools/call right"]
    assert values["worlds-held-out-renamed/difference/call right"] == pytest.approx(-right_calls)
