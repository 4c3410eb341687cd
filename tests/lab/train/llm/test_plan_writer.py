"""Tuning a language model to plan: lessons show what can be seen alone, and a fold is not learnt from."""

import json
from datetime import datetime
from pathlib import Path

import pytest
from tests.lab.train import tiny_llama

from contextune.datasets import bundled_personas
from contextune.lab.train.llm import plan_writer
from contextune.lab.train.llm.plan_lessons import answer, lessons, questions, right_tool
from contextune.lab.train.rankers.argument_examples import ALONE, ORACLE, PlannedRequest, asked
from contextune.plan.judge import ExpectedCall
from contextune.plan.language_model.planner import TOOLS, read_call
from contextune.plan.planning_input import PlanningInput
from contextune.tools import bundled_toolbox
from contextune.types import ItemHit, Request, ToolHit, User

BOX = {tool.name: tool for tool in bundled_toolbox()}


def people() -> list[PlannedRequest]:
    found: list[PlannedRequest] = []
    for fold, persona in enumerate(bundled_personas()[:2]):
        hits = [ItemHit(item, float(-n)) for n, item in enumerate(persona.items)]
        found += [asked(persona, query, hits, fold, measured=True) for query in persona.queries]
    return found


def test_an_answer_holds_only_what_can_be_seen() -> None:
    more = 0
    for one in people():
        tool = BOX[one.expected.api]
        whole = read_call(answer(one, one.seeing(ORACLE), tool))[1]
        alone = read_call(answer(one, one.seeing(ALONE), tool))[1]
        assert alone.keys() <= whole.keys() <= one.expected.args.keys()
        more += len(whole) > len(alone)
    assert more >= 5


def test_lessons_offer_the_right_tool_and_show_the_right_items() -> None:
    wrong = [ToolHit(tool, 1.0) for tool in list(BOX.values())[:TOOLS]]
    requests = people()
    made = list(lessons(requests, lambda _: wrong, BOX))
    assert len(made) > len(requests)
    for row in made:
        api = read_call(row["answer"])[0]
        text = row["asked"][1][1]
        assert f"\n{api}(" in text or "Tools:" not in text
    first = requests[0]
    titles = [first.items[name].title for name in first.right]
    assert all(title.split()[0] in made[0]["asked"][1][1] for title in titles)


def test_what_is_asked_of_each_row() -> None:
    rows = {"none": (ALONE, None), "both": (ORACLE, right_tool(BOX))}
    found = list(questions(people()[:2], rows))
    assert [row["row"] for row in found] == ["none", "both"] * 2
    assert "Tools:" not in found[0]["asked"][1][1]
    assert found[1]["asked"][1][1].count("(") >= 1


def test_a_run_learns_from_the_other_folds_and_writes_for_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny_llama.make(tmp_path / "llama")
    talk = [["user", "music"]]
    data = {
        "lessons": [{"fold": n % 2, "asked": talk, "answer": f"play {n}"} for n in range(4)],
        "questions": [{"fold": n, "name": f"p/{n}", "row": "both", "asked": talk} for n in range(2)],
    }
    (tmp_path / "data.json").write_text(json.dumps(data))
    assert [text for _, text in plan_writer.lessons_of(data, 1)] == ["play 0", "play 2"]
    arguments = ["plan_writer", str(tmp_path / "data.json"), str(model), str(tmp_path / "out"), "--fold", "1"]
    monkeypatch.setattr("sys.argv", [*arguments, "--epochs", "1", "--rank", "2"])
    plan_writer.main()
    rows = (tmp_path / "out" / "fold-1.answers.jsonl").read_text().splitlines()
    assert [json.loads(row)["name"] for row in rows] == ["p/1"]
    assert (tmp_path / "out" / "fold-1.safetensors").exists()


def test_nothing_right_leaves_nothing_to_say() -> None:
    user = User("ines")
    request = Request("Call her", "ines", datetime(2024, 5, 16, 17, 40))
    one = PlannedRequest(
        "x",
        "ines",
        0,
        "person",
        True,
        PlanningInput(request, user),
        ExpectedCall.one("call_contact", {"contact": "Zoe"}),
        {},
        {},
    )
    assert read_call(answer(one, one.situation, BOX["call_contact"])) == ("call_contact", {})
