"""Fine-tuning data and training of a planner language model."""

import json
from datetime import datetime
from pathlib import Path

import pytest
from tests.lab.train import tiny_llama

from contextune.datasets import bundled_personas
from contextune.plan.judge import ExpectedCall
from contextune.plan.language_model.planner import MAX_TOOLS, parse_call
from contextune.plan.planning_input import PlanningInput
from contextune.tools import bundled_toolbox
from contextune.types import ItemHit, Request, ToolHit, User
from contextune_lab.train.llm import plan_writer
from contextune_lab.train.llm.plan_lessons import (
    dataset_thoughts,
    evaluation_rows,
    oracle_tool,
    target_call,
    training_rows,
)
from contextune_lab.train.planned_requests import (
    NO_CONTEXT,
    ORACLE,
    PlannedRequest,
    planned_request,
)

TOOLS_BY_NAME = {tool.name: tool for tool in bundled_toolbox()}


def planned_requests() -> list[PlannedRequest]:
    requests_: list[PlannedRequest] = []
    for fold, persona in enumerate(bundled_personas()[:2]):
        hits = [ItemHit(item, float(-n)) for n, item in enumerate(persona.items)]
        requests_ += [planned_request(persona, query, hits, fold, measured=True) for query in persona.queries]
    return requests_


def test_target_call_contains_only_visible_values() -> None:
    more = 0
    for request in planned_requests():
        tool = TOOLS_BY_NAME[request.expected.tool]
        with_oracle = parse_call(target_call(request, request.with_context(ORACLE), tool))[1]
        without_context = parse_call(target_call(request, request.with_context(NO_CONTEXT), tool))[1]
        assert without_context.keys() <= with_oracle.keys() <= request.expected.args.keys()
        more += len(with_oracle) > len(without_context)
    assert more >= 5


def test_training_rows_contain_right_tool_and_items() -> None:
    wrong = [ToolHit(tool, 1.0) for tool in list(TOOLS_BY_NAME.values())[:MAX_TOOLS]]
    requests = planned_requests()
    rows = list(training_rows(requests, lambda _: wrong, TOOLS_BY_NAME))
    assert len(rows) > len(requests)
    for row in rows:
        api = parse_call(row["answer"])[0]
        text = row["asked"][1][1]
        assert f"\n{api}(" in text or "Tools:" not in text
    first = requests[0]
    titles = [first.items[name].title for name in first.relevant]
    assert all(title.split()[0] in rows[0]["asked"][1][1] for title in titles)


def test_evaluation_rows_have_one_prompt_per_row() -> None:
    rows = {"none": (NO_CONTEXT, None), "both": (ORACLE, oracle_tool(TOOLS_BY_NAME))}
    requests_ = list(evaluation_rows(planned_requests()[:2], rows))
    assert [row["row"] for row in requests_] == ["none", "both"] * 2
    assert "Tools:" not in requests_[0]["asked"][1][1]
    assert requests_[1]["asked"][1][1].count("(") >= 1


def test_guided_rows_have_the_chain_of_thought_in_their_prompt() -> None:
    request = planned_requests()[0]
    rows = {"plain": (NO_CONTEXT, None), "guided": (NO_CONTEXT, None)}
    thoughts = {"guided": {request.name: "PhoneCall: a missed call."}}
    plain, guided = evaluation_rows([request], rows, thoughts)
    assert "<thought> PhoneCall: a missed call. </thought>" in guided["asked"][1][1]
    assert "<thought>" not in plain["asked"][1][1]
    assert (plain["tools"], guided["tools"]) == ([], [])


def test_some_training_prompts_have_the_chain_of_thought_of_the_dataset() -> None:
    requests = planned_requests()
    thoughts = dataset_thoughts()
    assert {request.name for request in requests} <= thoughts.keys()
    choose = oracle_tool(TOOLS_BY_NAME)
    plain = list(training_rows(requests, choose, TOOLS_BY_NAME))
    guided = list(training_rows(requests, choose, TOOLS_BY_NAME, thoughts=thoughts))
    assert len(guided) - len(plain) == len(requests[2::3])
    assert sum("<thought>" in row["asked"][1][1] for row in guided) == len(requests[2::3])


def test_run_trains_on_other_folds_and_answers_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny_llama.make(tmp_path / "llama")
    talk = [["user", "music"]]
    data = {
        "lessons": [{"fold": n % 2, "asked": talk, "answer": f"play {n}"} for n in range(4)],
        "questions": [{"fold": n, "name": f"p/{n}", "row": "both", "asked": talk} for n in range(2)],
    }
    (tmp_path / "data.json").write_text(json.dumps(data))
    assert [text for _, text in plan_writer.training_lessons(data, 1)] == ["play 0", "play 2"]
    arguments = ["plan_writer", str(tmp_path / "data.json"), str(model), str(tmp_path / "out"), "--fold", "1"]
    monkeypatch.setattr("sys.argv", [*arguments, "--epochs", "1", "--rank", "2"])
    plan_writer.main()
    rows = (tmp_path / "out" / "fold-1.answers.jsonl").read_text().splitlines()
    assert [json.loads(row)["name"] for row in rows] == ["p/1"]
    assert (tmp_path / "out" / "fold-1.safetensors").exists()


def test_target_call_without_visible_values_is_empty() -> None:
    user = User("ines")
    request = Request("Call her", "ines", datetime(2024, 5, 16, 17, 40))
    request = PlannedRequest(
        "x",
        "ines",
        0,
        "person",
        True,
        PlanningInput(request, user),
        ExpectedCall.from_args("call_contact", {"contact": "Zoe"}),
        {},
        {},
    )
    assert parse_call(target_call(request, request.planning_input, TOOLS_BY_NAME["call_contact"])) == (
        "call_contact",
        {},
    )
