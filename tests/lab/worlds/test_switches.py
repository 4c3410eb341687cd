"""Rules and families of signals can be switched off by name; which rules fire is recorded."""

from datetime import datetime
from importlib import import_module

import numpy as np
import pytest
from tests.lab.worlds.scripted_planner import SCRIPTS, ScriptedPlanner

from contextune.context.signals import Scene, registry
from contextune.errors import InvalidDataError
from contextune.plan import complete_request
from contextune.types import Request, User
from contextune_lab.worlds.ablation import MEASURES, RuleEffect, rules_table, without_table
from contextune_lab.worlds.ask import AskOptions, ask_world
from contextune_lab.worlds.load import LoadedWorld
from contextune_lab.worlds.switches import RULES, recorded, switch_names, without

PLANNED = {"planner": ScriptedPlanner(SCRIPTS["right"])}
MISSPELT = Request("whats on tommorow", "me", datetime(2026, 3, 12, 18))


def completed(request: Request) -> str:
    return complete_request.complete_request(request, User).text


def test_every_switch_replaces_a_function_that_exists() -> None:
    for rule in RULES.values():
        assert callable(getattr(import_module(rule.module), rule.function))
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
    with pytest.raises(InvalidDataError, match="no rule or signals 'luck'"), without(["luck"]):
        pass


def test_rule_that_changes_nothing_lifts_nothing(loaded_bakery: LoadedWorld) -> None:
    results = ask_world(loaded_bakery, AskOptions(PLANNED))
    effect = RuleEffect("spelling", 0, results, results)
    assert effect.lifts_nothing
    row = rules_table([effect]).rows[0]
    assert [cell and cell.value for cell in row.cells] == [0, *[0.0] * len(MEASURES)]
    assert without_table(results, results).rows[0].name == "all"
