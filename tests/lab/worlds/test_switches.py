"""Rules and families of signals can be switched off by name; which rules fire is recorded."""

import ast
import inspect
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from tests.lab.worlds.scripted_planner import SCRIPTS, ScriptedPlanner
from tests.paths import ROOT
from typer.testing import CliRunner

from contextune.context.signals import Scene, registry
from contextune.errors import InvalidDataError
from contextune.evaluate.outcomes import Outcome
from contextune.plan import complete_request
from contextune.store import SQLiteStore
from contextune.tools import ToolRetriever, bundled_toolbox
from contextune.tools.index import ToolIndex
from contextune.tools.naming import find_telling_names
from contextune.tuner import Tuner
from contextune.types import Item, Request, Tool, User
from contextune_lab.cli.bench import app
from contextune_lab.worlds.ablation import (
    MEASURES,
    RuleEffect,
    rule_effects,
    rules_table,
    without_table,
)
from contextune_lab.worlds.ask import AskOptions, RequestResult, ask_world
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


LIBRARIES = tuple(
    f"contextune.{name}"
    for name in ("_internal", "embed", "importers", "rank", "reading", "store", "time_phrases", "types")
)
NO_RULES = frozenset(
    [
        # stages, and what they load
        *(
            "complete_request",
            "plan_steps",
            "read_request",
            "read_first",
            "read_request_tools",
            "reorder",
            "search_all",
        ),
        *("load_past_calls", "find_people", "needed_items", "open_store", "check_min_fit", "wrong_tools"),
        *("configured_planner", "light_planner", "with_light_planner", "tool_verbs", "resolve_place"),
        *("may_reply", "next_state", "bundled_toolbox"),
        # methods of ranking, and what they need of a request
        *("by_words", "learned", "reading", "situated", "all_moment_texts", "depends_on_history"),
        *("default_ranker", "default_tool_ranker", "bundled_vectors", "bound_descriptions"),
        *("split_subqueries", "unknown_words", "foreign_language", "function_words", "is_known"),
        # candidates of values, and parts of rules
        *("match_names", "contact_lookup", "find_times", "bounded_item", "clamp_time", "fits", "nest"),
        *("tool_leaves", "leaf_options", "listed_parts", "value_matrix", "value_texts", "tool_parameters"),
        *("fold_accents", "is_one_edit", "is_known", "identifier_words", "tokenize"),
    ]
)
"""Functions that modules with rules call, and that are none."""


def test_new_rule_has_a_switch() -> None:
    """A function that is newly called beside a rule gets a switch, or is said to be none."""
    switches = {(rule.module, rule.function) for rule in RULES.values()}
    for module in sorted({module for module, _ in switches}):
        tree = ast.parse(inspect.getsource(import_module(module)))
        called = {
            name.name
            for line in tree.body
            if isinstance(line, ast.ImportFrom)
            and (line.module or "").startswith("contextune.")
            and not (line.module or "").startswith(LIBRARIES)
            for name in line.names
            if inspect.isroutine(getattr(import_module(module), name.name, None))
        }
        new = {name for name in called - NO_RULES if (module, name) not in switches}
        assert not new, f"{module}: add a RuleSwitch for {new}, or list it in NO_RULES"


def test_rules_are_documented() -> None:
    page = (ROOT / "docs" / "worlds.md").read_text(encoding="utf-8")
    assert [name for name in RULES if f"`{name}`" not in page] == []


def test_courtesy_unknown_spellings_and_whole_names_are_switched_off() -> None:
    polite = Request("Hey, please call Ana.", "me", MISSPELT.time)
    odd = Request("call the pharmcy", "me", MISSPELT.time)

    def complete(request: Request) -> str:
        return complete_request.complete_request(request, User, lambda _: lambda _: False).text

    assert (complete(polite), complete(odd)) == ("Call Ana.", "call the pharmacy")
    with without(["courtesy"]):
        assert complete(polite) == polite.text
    with without(["unknown-spellings"]):
        assert complete(odd) == odd.text
        assert complete(MISSPELT) != MISSPELT.text
    tools = [Tool("ping", "Tests a connection", app="net"), Tool("trace", "Shows a route", app="net")]
    index = ToolRetriever(tools).index
    assert isinstance(index, ToolIndex)
    assert find_telling_names(index, "ping", [0]) == [0]
    with without(["whole-names"]):
        assert find_telling_names(index, "ping", [0]) == []


def test_what_feedback_does_is_switched_off(tmp_path: Path) -> None:
    now = MISSPELT.time
    with SQLiteStore(tmp_path / "store.db") as store:
        store.put_user(User("me"))
        store.put_items("me", [Item.note(id="n", title="Oven", content="Hot", modified="2026-03-01T07:30")])
        tuner = Tuner(store, tools=bundled_toolbox())
        ask = Request("do the bradulfi", "me", now)
        tuner.feedback(replace(ask, time=now - timedelta(1)), tool="return_missed_call")
        assert tuner.tools(ask, 1).hits[0].tool.name == "return_missed_call"
        with recorded() as fired:
            tuner.answer(ask)
        assert fired.names >= {"confirmed-tools", "private-words"}
        with without(["confirmed-tools"]):
            assert tuner.tools(ask, 1).hits[0].tool.name != "return_missed_call"
        read, listed = Request("read the note Oven", "me", now), Request("list my reminders", "me", now)
        for request, rule in ((read, "rejected-items"), (listed, "wrong-calls")):
            plan = tuner.answer(request).plan
            assert plan is not None
            rejected = ["n"] if request is read else []
            earlier = replace(request, time=now - timedelta(1))
            tuner.feedback(earlier, rejected=rejected, tool=plan.tool, ok=False)
            with recorded() as fired:
                tuner.answer(request)
            assert rule in fired.names


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
    assert [cell and cell.value for cell in row.cells] == [0, 0, *[0.0] * len(MEASURES)]
    assert without_table(results, results).rows[0].name == "all"


def effect_of(
    results: Sequence[RequestResult], helped: int, name: str = "spelling", *, harmed: int = 0
) -> RuleEffect:
    """A rule without which some right calls are wrong, and some wrong ones are right."""
    right = [result for result in results if result.outcome is Outcome.RIGHT and result.request.is_served]
    many = [replace(result, request=replace(result.request, id=f"{n}")) for n in range(9) for result in right]
    wrong = [replace(result, outcome=Outcome.WRONG, call_right=False) for result in many]
    before = [*many[:-harmed], *wrong[-harmed:]] if harmed else many
    after = [*wrong[:helped], *many[helped:]]
    return RuleEffect(name, helped + harmed, before, after)


def test_lift_counts_beyond_chance_and_in_worlds_that_a_rule_was_not_written_from(
    loaded_bakery: LoadedWorld,
) -> None:
    results = ask_world(loaded_bakery, AskOptions(PLANNED))
    assert effect_of(results, 1).lifts_nothing
    assert effect_of(results, 1).lifted_worlds == ["bakery"]
    assert not effect_of(results, 8).lifts_nothing
    assert effect_of(results, 8, harmed=8).lifts_nothing
    seen = [replace(result, world="w08") for result in results]
    effect = effect_of(seen, 8, "occurrences")
    assert (effect.is_judged, effect.lifts_nothing, effect.lifted_worlds) == (False, True, [])
    effect = effect_of(seen, 8)
    assert (effect.is_judged, effect.lifts_nothing, effect.lifted_worlds) == (True, False, ["w08"])
