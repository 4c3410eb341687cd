"""Rules and families of signals can be switched off by name; which rules fire is recorded."""

from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from tests.lab.worlds.scripted_planner import SCRIPTS, ScriptedPlanner
from tests.paths import ROOT
from typer.testing import CliRunner

from contextune.context.signals import Scene, registry
from contextune.errors import InvalidDataError
from contextune.plan import complete_request
from contextune.types import Request, User
from contextune_lab.cli.bench import app
from contextune_lab.worlds.ablation import (
    MEASURES,
    RuleEffect,
    rule_effects,
    rules_table,
    without_table,
)
from contextune_lab.worlds.ask import AskOptions, ask_world
from contextune_lab.worlds.load import LoadedWorld
from contextune_lab.worlds.run import WorldRun
from contextune_lab.worlds.switches import RULES, recorded, switch_names, without
from contextune_lab.worlds.world import World

WORLDS = ROOT / "tests" / "lab" / "worlds"

PLANNED = {"planner": ScriptedPlanner(SCRIPTS["right"])}
MISSPELT = Request("whats on tommorow", "me", datetime(2026, 3, 12, 18))


def completed(request: Request) -> str:
    return complete_request.complete_request(request, User).text


def test_every_switch_replaces_a_function_that_exists() -> None:
    for rule in RULES.values():
        assert callable(getattr(rule.owner, rule.name))
    assert len(set(switch_names())) == len(switch_names())


def test_rule_is_off_only_within_the_context() -> None:
    right = completed(MISSPELT)
    assert right != MISSPELT.text
    with without(["spelling"]):
        assert completed(MISSPELT) == MISSPELT.text
    assert completed(MISSPELT) == right


def test_only_rules_with_an_effect_fire() -> None:
    with recorded() as fired:
        completed(Request("what's on tomorrow", "me", MISSPELT.time))
        assert not fired.take()
        completed(MISSPELT)
        assert fired.take() == {"spelling"}
        assert not fired.take()


@pytest.mark.parametrize("family", registry.FAMILIES)
def test_signals_that_are_off_are_missing(loaded_bakery: LoadedWorld, family: str) -> None:
    seen: list[registry.Matrix] = []
    compute = registry.compute_features
    columns = [registry.FEATURE_NAMES.index(name) for name in registry.FAMILIES[family].features]

    def record(scene: Scene) -> registry.Matrix:
        seen.append(compute(scene))
        return seen[-1]

    with pytest.MonkeyPatch.context() as patch, without([f"signals.{family}"]):
        patch.setattr("contextune.context.ranker.compute_features", record)
        ask_world(loaded_bakery, AskOptions(PLANNED, only={"bakery-001"}))
    assert seen
    assert np.isnan(seen[0][:, columns]).all()
    assert not np.isnan(seen[0]).all()


def test_unknown_name_is_rejected() -> None:
    known = "use signals.text.*spelling.*places"
    with pytest.raises(InvalidDataError, match=f"no rule or signals 'luck': {known}"), without(["luck"]):
        pass
    done = CliRunner().invoke(
        app, ["worlds", "--data", str(WORLDS), "--without", "spelling", "--without", "luck"]
    )
    assert isinstance(done.exception, InvalidDataError)


def test_names_of_all_switches_are_printed() -> None:
    done = CliRunner().invoke(app, ["worlds", "--data", str(WORLDS), "--without", "list"])
    assert done.output.split() == switch_names()


@pytest.mark.parametrize("rule", RULES)
def test_rule_that_is_off_leaves_every_request_answered(loaded_bakery: LoadedWorld, rule: str) -> None:
    with without([rule]), recorded() as fired:
        (result,) = ask_world(loaded_bakery, AskOptions(only={"bakery-009"}, take_fired=fired.take))
    assert rule not in result.fired


def test_effects_of_chosen_rules_and_signals_are_measured(bakery: World, tmp_path: Path) -> None:
    asked = frozenset(["bakery-001", "bakery-009"])
    run = WorldRun(bakery.folder, tmp_path, only=asked)
    steps, signals = rule_effects([run], ["steps", "signals.text"])
    assert steps.fired == 1
    assert signals.fired == 2
    assert {result.request.id for result in steps.after} == asked
    (undivided,) = [result for result in steps.after if result.request.is_sequence]
    assert undivided.sequence_right is False
    with pytest.raises(InvalidDataError, match="no rule or signals 'luck'"):
        rule_effects([run], ["luck"])


def test_rule_that_changes_nothing_lifts_nothing(loaded_bakery: LoadedWorld) -> None:
    results = ask_world(loaded_bakery, AskOptions(PLANNED))
    effect = RuleEffect("spelling", 0, results, results)
    assert effect.lifts_nothing
    row = rules_table([effect]).rows[0]
    assert [cell and cell.value for cell in row.cells] == [0, *[0.0] * len(MEASURES)]
    assert without_table(results, results).rows[0].name == "all"
