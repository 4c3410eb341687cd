"""Outcomes are those of the reference scorer, exactly."""

import importlib.util
import json
import shutil
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.lab.worlds.scripted_planner import SCRIPTS, ScriptedPlanner
from tests.paths import SHARED_DATA

from contextune.evaluate.outcomes import Judge, JudgedCall, normalize
from contextune.plan import Pointer
from contextune_lab.worlds.ask import AskOptions, RequestResult, ask_world
from contextune_lab.worlds.load import LoadedWorld, load_world
from contextune_lab.worlds.switches import without
from contextune_lab.worlds.world import World, WorldCall, read_world

REFERENCE = SHARED_DATA / "worlds" / "score.py"


DEPTHS = (1, 3, 5, 10, 20)


def outcomes(results: list[RequestResult]) -> dict[str, str]:
    return {result.request.id: str(result.outcome) for result in results}


def figures(result: RequestResult) -> dict[str, Any]:
    """What the reference scorer says of a request, by its names."""
    row: dict[str, Any] = {"outcome": str(result.outcome)}
    row |= {f"R@{depth}": share for depth, share in result.recalls.items()}
    if result.request.is_served:
        tools = {"tool@1": result.tool_at == 1, "tool@5": result.tool_at is not None}
        row |= {**tools, "call": result.call_right}
    return row


def stored_figures(world: World) -> dict[str, dict[str, dict[str, Any]]]:
    return json.loads((world.folder / "outcomes.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("script", SCRIPTS)
def test_figures_are_those_that_the_reference_gave(
    bakery: World, loaded_bakery: LoadedWorld, script: str
) -> None:
    results = ask_world(loaded_bakery, AskOptions({"planner": ScriptedPlanner(SCRIPTS[script])}))
    assert {r.request.id: figures(r) for r in results} == stored_figures(bakery)[script]


@pytest.mark.parametrize("script", SCRIPTS)
def test_stored_figures_are_those_of_the_reference(
    bakery: World,
    loaded_bakery: LoadedWorld,
    reference: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
) -> None:
    # the reference imports at the time of the machine, on which recurring tasks depend
    def load(*_: object) -> tuple[Mapping[str, Any], Path, str]:
        return bakery.person, loaded_bakery.store.path, ""

    monkeypatch.setattr(reference, "load", load)
    log: list[dict[str, Any]] = []
    _, rows = reference.ask(bakery.folder, log, planner=ScriptedPlanner(SCRIPTS[script]))
    left = {kind: iter(of_kind) for kind, of_kind in rows.items()}
    given = {entry["id"]: {"outcome": entry["outcome"], **next(left[entry["kind"]])} for entry in log}
    assert given == stored_figures(bakery)[script]


def test_stored_figures_cover_every_outcome(bakery: World) -> None:
    stored = stored_figures(bakery)
    assert {row["outcome"] for script in stored.values() for row in script.values()} == {
        *("right", "right but asked", "offered", "asked wrongly", "refused", "wrong", "HARM"),
        *("asked", "ACTED"),
    }


def test_occurrence_of_a_recurring_task_counts_only_where_it_is_shown(
    bakery: World, loaded_bakery: LoadedWorld
) -> None:
    only = AskOptions({"planner": ScriptedPlanner({})}, only={"bakery-013"})
    (shown,) = ask_world(loaded_bakery, only)
    assert shown.recalls[1] == 1
    with without(["occurrences"]):
        (stored,) = ask_world(loaded_bakery, only)
    assert stored.context[0] == "Reminders: Feed the starter"
    assert stored.recalls[20] == 0


@pytest.fixture
def reference(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    if not REFERENCE.exists():
        pytest.skip("needs the reference scorer")
    monkeypatch.setattr(sys, "path", [str(REFERENCE.parent), *sys.path])
    spec = importlib.util.spec_from_file_location("reference_score", REFERENCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules.pop("check", None)
    return module


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("own_tools", [False, True])
def test_figures_agree_with_the_reference_scorer(
    bakery: World, reference: ModuleType, tmp_path: Path, script: str, own_tools: bool
) -> None:
    world = with_own_tools(bakery, tmp_path / "bakery") if own_tools else bakery
    assert_figures_agree(world, reference, tmp_path, {"planner": ScriptedPlanner(SCRIPTS[script])})


def test_figures_of_the_default_planner_agree_with_the_reference_scorer(
    bakery: World, reference: ModuleType, tmp_path: Path
) -> None:
    world = with_own_tools(bakery, tmp_path / "bakery")
    few = world.folder / "requests.jsonl"
    few.write_text("".join(few.read_text(encoding="utf-8").splitlines(keepends=True)[:4]), encoding="utf-8")
    assert_figures_agree(read_world(world.folder), reference, tmp_path, {})


def assert_figures_agree(
    world: World, reference: ModuleType, tmp_path: Path, options: dict[str, Any]
) -> None:
    log: list[dict[str, Any]] = []
    counts, rows = reference.ask(world.folder, log, **options)
    now = datetime.now().astimezone()  # of the import, as in the reference
    with load_world(world, cache=tmp_path, now=now, places=False) as loaded:
        results = ask_world(loaded, AskOptions(options))
    assert outcomes(results) == {row["id"]: row["outcome"] for row in log}
    served = [result for result in results if result.is_one_call]
    assert sum(counts["all"].values()) == len(served)
    for depth in DEPTHS:
        ours = [result.recalls[depth] for result in served if result.recalls]
        assert ours == [row[f"R@{depth}"] for row in rows["all"] if f"R@{depth}" in row]
    assert [result.tool_at == 1 for result in served] == [row["tool@1"] for row in rows["all"]]
    assert [result.tool_at is not None for result in served] == [row["tool@5"] for row in rows["all"]]
    assert [result.call_right for result in served] == [row["call"] for row in rows["all"]]


def with_own_tools(world: World, folder: Path) -> World:
    """A copy of a world whose tools are listed in a file, as those of MCP servers."""
    shutil.copytree(world.folder, folder)
    servers: dict[str, dict[str, list[Any]]] = {}
    for tool in world.tools:
        entry = {"name": tool.name, "description": tool.description, "inputSchema": dict(tool.parameters)}
        servers.setdefault(tool.app, {"tools": []})["tools"].append(entry)
    (folder / "tools.json").write_text(json.dumps({"servers": servers}), encoding="utf-8")
    return read_world(folder)


JUDGE = Judge({"t": {"required": ["title"]}}, {normalize("rui@duarte.example"): normalize("Rui Duarte")})


@pytest.mark.parametrize(
    ("want", "got", "same"),
    [
        ({"title": "Dentist"}, {"title": " dentist. "}, True),
        ({"title": "Dentist"}, {"title": "Dentist", "recipient": "Rui"}, False),
        ({"title": "Dentist"}, {"title": "Dentist", "note": "more"}, True),
        ({"title": "a"}, {}, False),
        ({"to": "Rui Duarte"}, {"to": "rui@duarte.example"}, True),
        ({"to": ["Rui Duarte", "Ana"]}, {"to": ["ana", "RUI@duarte.example"]}, True),
        ({"start": "2026-03-19T16:00"}, {"start": "2026-03-19 16:00:30"}, True),
        ({"body": "I will be late on Wednesday"}, {"body": "late on wednesday"}, True),
        ({"body": "I will be late on Wednesday"}, {"body": "happy birthday"}, False),
        ({"body": "anything"}, {}, True),
        ({"id": "$1.id"}, {"id": Pointer(0, ("id",))}, True),
        ({"id": "$1.id"}, {"id": Pointer(1, ("id",))}, False),
        ({"filter": {"day": "2026"}}, {"filter": {"day": "2026", "more": 1}}, True),
        ({"filter": {"day": "2026"}}, {"filter": "2026"}, False),
    ],
)
def test_same_call(want: dict[str, Any], got: dict[str, Any], same: bool) -> None:
    assert JUDGE.same_call(WorldCall("t", want), JudgedCall("t", got), frozenset(["body"])) is same
