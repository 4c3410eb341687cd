"""`contextune bench worlds` on the world that tests have, with calls that a script says."""

import json
import shutil
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.lab.worlds.scripted_planner import SCRIPTS, ScriptedPlanner
from tests.paths import ROOT
from typer.testing import CliRunner

from contextune._internal.assets import asset
from contextune.plan.language_model.planner import call_json
from contextune_lab.bench.results_file import BenchResults
from contextune_lab.cli.bench import app
from contextune_lab.worlds import run, written
from contextune_lab.worlds.ask import AskOptions
from contextune_lab.worlds.held_out import CALLS, RANKERS, TOOLS
from contextune_lab.worlds.load import LoadedWorld
from contextune_lab.worlds.switches import RULES, RuleSwitch
from contextune_lab.worlds.world import read_world

WORLDS = ROOT / "tests" / "lab" / "worlds"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    """All planning is that of a script; the same with every set of rankers."""
    planner = ScriptedPlanner(SCRIPTS["right"])
    monkeypatch.setattr(run, "AskOptions", partial(AskOptions, {"planner": planner}))


@pytest.fixture
def held_out(tmp_path: Path) -> Path:
    """The bundled rankers, as if they had left out the bakery."""
    for name in (RANKERS, TOOLS, CALLS):
        shutil.copytree(asset(name), tmp_path / "held_out" / "bakery" / name)
    return tmp_path / "held_out"


def bench(cache: Path, *words: str | Path) -> str:
    arguments = ["worlds", "bakery", "--data", str(WORLDS), "--cache", str(cache), *map(str, words)]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    return done.output


def stored() -> dict[str, dict[str, Any]]:
    file = WORLDS / "bakery" / "outcomes.json"
    return json.loads(file.read_text(encoding="utf-8"))["right"]


def test_tables_log_and_json_are_those_of_the_answers(cache: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    printed = json.loads(bench(cache, "--renamed", "--json", "--log", log, "--out", tmp_path))
    tables = printed["tables"]
    assert set(tables) == {
        *("worlds-bundled", "worlds-bundled-by-kind", "worlds-bundled-retrieval", "worlds-renamed"),
        *("worlds-unserved", "worlds-steps", "worlds-bundled-calibration"),
    }
    assert printed["seen"] == {"bakery": []}
    lines = {line["id"]: line for line in map(json.loads, log.read_text(encoding="utf-8").splitlines())}
    assert {name: line["outcome"] for name, line in lines.items()} == {
        name: row["outcome"] for name, row in stored().items()
    }
    results = BenchResults.read(tmp_path / "results.json")
    values = results.values()
    requests = {request.id: request for request in read_world(WORLDS / "bakery").requests}
    rows = [row for name, row in stored().items() if "call" in row and not requests[name].is_sequence]
    overall = "worlds-bundled/bakery"
    assert values[f"{overall}/requests"] == len(rows) == 10
    for column, name in (("call right", "call"), ("tool@1", "tool@1"), ("tool@5", "tool@5")):
        assert values[f"{overall}/{column}"] == pytest.approx(10 * sum(row[name] for row in rows))
    needing = [row for row in rows if "R@3" in row]
    recall = 100 * sum(row["R@3"] for row in needing) / len(needing)
    assert values["worlds-bundled-retrieval/all/R@3"] == pytest.approx(recall, abs=1e-3)
    # the script knows only the bundled names, so nothing is right under others
    assert values[f"{overall}/call right, renamed"] == 0
    assert values["worlds-renamed/difference/call right"] == -values[f"{overall}/call right"]
    assert values["worlds-steps/bundled tools/first call right"] == 100
    assert values["worlds-unserved/bundled tools/refused"] == 100
    assert values["worlds-time/bundled tools/requests"] == len(requests) - 1
    assert "bakery: unseen" in results.table("worlds-bundled").made_with


def test_difference_without_a_rule_is_printed(cache: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    printed = bench(cache, "--without", "occurrences", "--log", log, "--out", tmp_path)
    assert "worlds-without" in printed
    assert "bakery: unseen" in printed
    lines = {line["id"]: line for line in map(json.loads, log.read_text(encoding="utf-8").splitlines())}
    assert lines["bakery-013"]["recall@3"] == 0  # the log is that without the rule
    tables = json.loads(bench(cache, "--without", "occurrences", "--json"))["tables"]
    (row,) = [row for row in tables["worlds-without"]["rows"] if row["name"] == "all"]
    needing = sum("R@3" in row for row in stored().values())
    assert row["cells"][-1]["value"] == pytest.approx(-100 / needing, abs=1e-3)
    # a difference is no figure of the package
    assert "worlds-without" not in BenchResults.read(tmp_path / "results.json").tables["quality"]


def test_places_are_left_out(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    opened = run.opened

    def watched(each: run.WorldRun) -> AbstractContextManager[LoadedWorld]:
        asked.append(each.without)
        return opened(each)

    monkeypatch.setattr(run, "opened", watched)
    bench(cache, "--no-places", "--as-of", "2026-03-12T18:00")
    assert asked == [("places",)]


def test_rules_are_listed_with_what_they_have_seen(
    cache: Path, held_out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = RULES["occurrences"]
    own = RuleSwitch(rule.module, rule.function, rule.neutral, ("bakery",))
    monkeypatch.setattr("contextune_lab.worlds.switches.RULES", {**RULES, "occurrences": own})
    words = [word for name in ("occurrences", "courtesy", "steps") for word in ("--without", name)]
    printed = " ".join(bench(cache, "--rules", *words, "--held-out", held_out, "--out", tmp_path).split())
    assert "Never fired: courtesy." in printed
    assert "Lift nothing in worlds that they were not written from: steps." in printed
    assert "Not judged, as they were written from all of these worlds: occurrences." in printed
    assert "bakery: seen by rule occurrences" in printed
    table = BenchResults.read(tmp_path / "results.json").table("worlds-rules")
    values = dict(table.values())
    assert values["worlds-rules/occurrences/fired"] > 0
    assert values["worlds-rules/occurrences/worlds lifted"] == 0
    assert "bakery: seen by rule occurrences" in table.made_with


def test_models_that_are_held_out_have_not_seen_a_world(
    cache: Path, held_out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = {"bakery": ("reading", "reading_ranker", "reading_tools", "reading_calls")}
    monkeypatch.setattr("contextune_lab.worlds.seen.seen_worlds", lambda: models)
    assert json.loads(bench(cache, "--json"))["seen"] == {"bakery": [*models["bakery"]]}
    printed = json.loads(bench(cache, "--json", "--held-out", held_out))
    assert printed["seen"] == {"bakery": ["reading"]}
    assert set(printed["tables"]) == {
        *("worlds-held-out", "worlds-held-out-items", "worlds-held-out-bundled-calibration"),
    }
    rules = bench(cache, "--rules", "--without", "courtesy", "--held-out", held_out)
    assert "bakery: seen by reading\n" in rules


def test_written_calls_are_measured_with_held_out_rankers_trust_and_threshold(
    cache: Path, held_out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = {"bakery": ("reading", "reading_calls")}
    monkeypatch.setattr("contextune_lab.worlds.seen.seen_worlds", lambda: models)
    used: list[Path] = []
    rankers_of = run.rankers_of

    def watched_rankers(folder: Path) -> AbstractContextManager[None]:
        used.append(folder)
        return rankers_of(folder)

    monkeypatch.setattr(run, "rankers_of", watched_rankers)
    cascades: list[tuple[float, float]] = []
    cascade = written.WrittenCascade

    def watched(model: Any, **options: Any) -> written.WrittenCascade:
        made = cascade(model, ScriptedPlanner(SCRIPTS["wrong"]), **options)
        cascades.append((made.model.trust, made.threshold))
        return made

    monkeypatch.setattr(written, "WrittenCascade", watched)
    request = read_world(WORLDS / "bakery").requests[1]
    call = request.calls[0]
    answers = tmp_path / "answers.jsonl"
    answers.write_text(json.dumps({"id": request.id, "answer": call_json(call.tool, call.args)}))
    words = ["--written", answers, "--cascade", "--trust", "0.9", "--threshold", "0.7"]
    printed = bench(cache, *words, "--held-out", held_out, "--out", tmp_path)
    assert "The model was needed for 1 of 13 requests" in printed
    assert "bakery: seen by reading\n" in printed
    assert used == [held_out / "bakery"]
    assert cascades[-1] == (0.9, 0.7)
    table = BenchResults.read(tmp_path / "results.json").table("worlds-written")
    assert table.made_with.endswith("bakery: seen by reading")
