"""`contextune bench worlds --prompts` and `--written`, on the world that tests have."""

import json
from pathlib import Path

from tests.paths import ROOT
from typer.testing import CliRunner

from contextune.plan.language_model.planner import call_json
from contextune_lab.bench.results_file import BenchResults
from contextune_lab.cli.bench import app
from contextune_lab.worlds.world import read_world

WORLDS = ROOT / "tests" / "lab" / "worlds"


def bench(*words: str | Path) -> str:
    done = CliRunner().invoke(app, ["worlds", "bakery", "--data", str(WORLDS), *map(str, words)])
    assert done.exit_code == 0, done.output
    return done.output


def test_prompts_are_written_and_answers_are_scored(tmp_path: Path) -> None:
    requests = read_world(WORLDS / "bakery").requests
    prompts, answers, cache = tmp_path / "prompts.jsonl", tmp_path / "answers.jsonl", tmp_path / "cache"
    bench("--prompts", prompts, "--cache", cache)
    rows = [json.loads(line) for line in prompts.read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in rows] == [request.id for request in requests]
    assert all(row["messages"] and row["schema"] and row["tokens"] <= 1_500 for row in rows)
    lines = [
        {"id": request.id, "answer": call_json(request.calls[0].tool, request.calls[0].args)}
        for request in requests
        if request.calls
    ]
    answers.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    bench("--written", answers, "--cache", cache, "--out", tmp_path)
    values = BenchResults.read(tmp_path / "results.json").values()
    found = {path: value for path, value in values.items() if path.startswith("worlds-written/")}
    assert any("measured outside" in path for path in found)
    (right,) = (value for path, value in found.items() if path.endswith("/bakery/call right"))
    assert right == 100
