"""Requests for several things: `ask` prints each step, `answer` writes them."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.program import run

from contextune._internal.assets import asset
from contextune.cli.ask import ask
from contextune.datasets import load_persona, read_persona
from contextune.errors import InvalidRequestError
from contextune.store import SQLiteStore
from contextune_lab.cli.answers import answer

TWO_REQUESTS = "Find the mail from the army and forward it to my mother."


def persona(folder: Path) -> tuple[Path, dict[str, Any]]:
    """The persona a01 with two queries, the first of them for two things."""
    data = json.loads(asset("personas/a01.json").read_text(encoding="utf-8"))
    data["queries"] = data["queries"][:2]
    data["queries"][0]["query"] = TWO_REQUESTS
    folder.mkdir()
    (folder / "a01.json").write_text(json.dumps(data), encoding="utf-8")
    return folder, data


def test_answer_writes_steps_only_for_several(tmp_path: Path) -> None:
    folder, data = persona(tmp_path / "personas")
    answer(folder, tmp_path / "out")
    answers = json.loads((tmp_path / "out" / "a01.json").read_text(encoding="utf-8"))
    first, second = (answers[query["id"]] for query in data["queries"])
    assert set(first) == {"ranking", "tools", "plan", "steps"}
    assert set(second) == {"ranking", "tools", "plan"}
    assert [set(step) for step in first["steps"]] == [{"api", "args"}] * 2
    assert first["steps"][0]["api"] in ("search_emails", "read_email")
    assert first["steps"][1]["api"] == "forward_email"


def test_ask_prints_json_with_decisions_and_takes_a_policy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, data = persona(tmp_path / "personas")
    path = tmp_path / "store.db"
    with SQLiteStore(path) as store:
        load_persona(store, read_persona(folder / "a01.json"))
    text, time = data["queries"][1]["query"], data["queries"][1]["time"]
    replies: dict[str, dict[str, Any]] = {}
    eager, careful = "act.read=0,act.write=0,act.send=0,none=2", "act.read=2,act.write=2,act.send=2,none=2"
    for policy in (eager, careful, "none=0"):
        ask(text, "a01", time=time, store=str(path), policy=policy, json=True)
        replies[policy] = json.loads(capsys.readouterr().out)
    assert replies[eager]["decision"] == "act"
    assert [plan["ready"] for plan in replies[eager]["plans"]] == [True]
    (plan,) = replies[careful]["plans"]
    assert (plan["ready"], plan["decision"]) == (False, replies[careful]["decision"])
    assert plan["decision"] in ("confirm", "ask")
    assert plan["question"]["text"]
    assert plan["question"]["options"][0]["tool"] == plan["tool"]
    assert plan["confidence"] == pytest.approx(replies[eager]["confidence"])
    assert replies["none=0"]["decision"] == "none"
    with pytest.raises(InvalidRequestError, match=r"act\.reed"):
        ask(text, "a01", time=time, store=str(path), policy="act.reed=1")


def test_ask_prints_each_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, data = persona(tmp_path / "personas")
    path = tmp_path / "store.db"
    with SQLiteStore(path) as store:
        load_persona(store, read_persona(folder / "a01.json"))
    ask(TWO_REQUESTS, "a01", time=data["queries"][0]["time"], store=str(path))
    printed = capsys.readouterr().out
    assert printed.startswith("2 steps: ")
    assert "\n1. " in printed
    assert "\n2. " in printed
    assert "forward_email(" in printed.partition("\n2. ")[2]


def test_a_greeting_gets_one_line_and_no_items(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    with SQLiteStore(store) as opened:
        load_persona(opened, read_persona(asset("personas/b05.json")))
    done = run("ask", "hello", "--store", store)
    assert done.returncode == 0
    assert done.stdout.startswith("Hello.")
    assert len(done.stdout.splitlines()) == 1
