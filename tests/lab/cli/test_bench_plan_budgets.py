"""`contextune bench plan`: prompts for any language model, and the table of its answers."""

import json
from pathlib import Path

import pytest
from tests.lab.bench.quality.plan.test_budgets import FEW, LARGE, choose, right_answer
from tests.lab.bench.quality.plan.test_persona_plans import TOOLS

from contextune.plan import ReadingPlanner
from contextune_lab.bench.quality.plan.written_plans import RecordedAnswer
from contextune_lab.bench.results_file import FILE_NAME, BenchResults
from contextune_lab.cli.bench.plan_budgets import measure_budgets, write_budget_prompts


def test_prompts_file_and_how_to_continue(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "prompts.jsonl"
    write_budget_prompts(file, FEW, choose)
    assert len(file.read_text(encoding="utf-8").splitlines()) == 6 * len(FEW)
    assert "24 prompts in" in (printed := capsys.readouterr().out)
    assert "--written" in printed


def test_table_is_printed_and_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = {(request.name, LARGE.row): RecordedAnswer(right_answer(request)) for request in FEW[1:]}
    measure_budgets(tmp_path, answers, FEW, choose, ReadingPlanner(), TOOLS, 0.9)
    printed = capsys.readouterr().out
    assert "| 10 items, 8 tools |" in printed
    assert "measured outside" in printed
    assert "10 items, 8 tools: 1 of 4 requests were left out" in printed
    table = BenchResults.read(tmp_path / FILE_NAME).table("plan-budgets")
    assert dict(table.values())["plan-budgets/10 items, 8 tools/raw AST"] == 100


def test_file_without_budgets_adds_no_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = {(FEW[0].name, "context-tuned"): RecordedAnswer(json.dumps({}))}
    measure_budgets(tmp_path, answers, FEW, choose, ReadingPlanner(), TOOLS, 0.9)
    assert capsys.readouterr().out == ""
    assert not (tmp_path / FILE_NAME).exists()
