"""Prompts of a world, and the scores of what a model wrote for them."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.lab.worlds.scripted_planner import SCRIPTS, ScriptedPlanner

from contextune.errors import InvalidDataError
from contextune.evaluate.outcomes import Judge, Outcome
from contextune.plan import LanguagePlanner, Policy
from contextune_lab.worlds.ask import AskOptions, RequestResult, ask_world
from contextune_lab.worlds.load import LoadedWorld
from contextune_lab.worlds.tables import written_table
from contextune_lab.worlds.world import World, WorldRequest
from contextune_lab.worlds.written import (
    PromptExport,
    SilentChat,
    WrittenCascade,
    judge_written,
    read_written_calls,
)


def write(file: Path, rows: list[dict[str, Any]]) -> Path:
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return file


def expected_row(request: WorldRequest) -> dict[str, Any]:
    call = request.calls[0] if request.calls else None
    return {"id": request.id, "tool": call.tool if call else None, "args": dict(call.args) if call else {}}


@pytest.fixture
def judge(bakery: World, loaded_bakery: LoadedWorld) -> Judge:
    schemas = {tool.id: tool.parameters for tool in bakery.tools}
    return Judge.of_contacts(schemas, loaded_bakery.user.contacts)


def test_expected_calls_are_right_and_refusals_are_not(bakery: World, judge: Judge, tmp_path: Path) -> None:
    right = write(tmp_path / "right.jsonl", [expected_row(request) for request in bakery.requests])
    results = judge_written(bakery, judge, read_written_calls([right]))
    served = [result for result in results if result.is_one_call and not result.request.asks]
    assert served
    assert all(result.call_right and result.outcome is Outcome.RIGHT for result in served)
    none = [{"id": request.id, "tool": None, "args": {}} for request in bakery.requests]  # pyright: ignore[reportUnknownVariableType]
    refused = judge_written(bakery, judge, read_written_calls([write(tmp_path / "none.jsonl", none)]))  # pyright: ignore[reportUnknownArgumentType]
    assert {result.outcome for result in refused} == {Outcome.REFUSED}
    assert not any(result.call_right for result in refused)


def test_answers_in_the_form_of_the_prompts_and_asking_are_read(
    bakery: World, judge: Judge, tmp_path: Path
) -> None:
    request = next(request for request in bakery.requests if request.is_served and not request.is_sequence)
    call = request.calls[0]
    text = json.dumps({"api": call.tool, "arguments": dict(call.args)})
    short = json.dumps({"api": call.tool.rpartition("/")[2], "arguments": dict(call.args)})
    for row, outcome in (
        ({"id": request.id, "answer": text}, Outcome.RIGHT),
        ({"id": request.id, "answer": short}, Outcome.RIGHT),
        ({**expected_row(request), "ask": True}, Outcome.PROPOSED),
        ({"id": request.id, "answer": "Sorry."}, Outcome.REFUSED),
    ):
        calls = read_written_calls([write(tmp_path / "written.jsonl", [row])])
        (result,) = judge_written(bakery, judge, calls)
        assert result.outcome is outcome, row


def test_line_without_a_call_is_refused_with_its_number(tmp_path: Path) -> None:
    file = write(tmp_path / "written.jsonl", [{"id": "a", "tool": None, "args": {}}, {"id": "b"}])
    with pytest.raises(InvalidDataError, match="line 2"):
        read_written_calls([file])


def test_table_marks_the_rows_as_measured_outside(bakery: World, judge: Judge, tmp_path: Path) -> None:
    rows = [expected_row(request) for request in bakery.requests[::2]]
    calls = read_written_calls([write(tmp_path / "half.jsonl", rows)])
    table = written_table(judge_written(bakery, judge, calls))
    assert "measured outside" in table.rows[0].name
    values = dict(table.values())
    path = f"worlds-written/{table.rows[0].name}/bakery/call right"
    assert values[path] > 50
    assert f"{path}/±" in values


def ask(loaded: LoadedWorld, planner: Any, only: set[str]) -> list[RequestResult]:
    options = AskOptions({"planner": planner}, only=only, before=planner.current.set)
    return ask_world(loaded, options)


def test_prompts_have_every_request_and_nothing_expected(bakery: World, loaded_bakery: LoadedWorld) -> None:
    only = {request.id for request in bakery.requests[:3]}
    planner = PromptExport(LanguagePlanner(SilentChat()), ScriptedPlanner(SCRIPTS["wrong"]), Policy())
    ask(loaded_bakery, planner, only)
    assert set(planner.rows) == only
    for request in bakery.requests[:3]:
        row = planner.rows[request.id]
        assert f"<request> {request.text} </request>" in row["messages"][1]["content"]
        assert 4 <= len(row["tools"]) <= 12
        assert 0 < row["tokens"] <= 1_500
        assert not {"expected", "needs"} & row.keys()


def test_cascade_repairs_a_wrong_light_plan_only_where_it_is_in_doubt(
    bakery: World, loaded_bakery: LoadedWorld, tmp_path: Path
) -> None:
    chosen = {
        "what's the code for the choir door",  # unsure of the wrong call
        "move the dentist to thursday at four",  # sure of the wrong call
    }
    requests = [request for request in bakery.requests if request.text in chosen]
    rows = [expected_row(request) for request in requests]
    calls = read_written_calls([write(tmp_path / "written.jsonl", rows)])
    model = LanguagePlanner(SilentChat(), trust=0.9)
    light = ScriptedPlanner(SCRIPTS["wrong"])
    planner = WrittenCascade(model, light, Policy(), calls=calls)
    results = {r.request.text: r for r in ask(loaded_bakery, planner, {r.id for r in requests})}
    assert results["what's the code for the choir door"].call_right
    assert not results["move the dentist to thursday at four"].call_right
    doubted = next(request for request in requests if request.text.startswith("what's"))
    assert planner.asked == planner.used == {doubted.id}
