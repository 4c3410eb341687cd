"""Query generation benchmark from a recorded run."""

import json
import lzma
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import WordEmbedder

from contextune.errors import InvalidDataError
from contextune.lab.bench.quality import query_generation as bench

TOOLS = ["play a song", "book a table", "tell the weather", "send a mail", "call somebody"]
REQUESTS = {"1": ("I am hungry tonight", 1), "2": ("do I need a coat", 2), "3": ("book a table", 1)}


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> bench.QuerySearch:
    queries = [
        {"id": name, "text": text, "split": "ood", "relevant": [tool]}
        for name, (text, tool) in REQUESTS.items()
    ]
    others = {name: {"tools": TOOLS, "queries": []} for name in ("toollens", "wide", "metatool")}
    sets = {"toolbench": {"tools": TOOLS, "queries": queries}, **others}
    monkeypatch.setattr(bench, "querygen_data", lambda _folder: {"sets": sets})  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    return bench.QuerySearch(tmp_path, WordEmbedder())


def write_run(folder: Path, **models: dict[str, list[str]]) -> Path:
    folder.mkdir()
    rows = [{"model": name, "set": "toolbench", "lines": lines} for name, lines in models.items()]
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, rows)))
    drafted = {
        "what": "drafted",
        "set": "toolbench",
        "iteration": 1,
        "requests": 3,
        "mean": {"mmrr": 0.4},
        "best": 0.6,
        "spread": [0.5, 0.5],
        "tokens_per_second": 1234,
    }
    judged = {"what": "judged", "model": "align-1", "recall5": {"toolbench ood": 66.6}}
    (folder / "log.jsonl").write_text("\n".join(map(json.dumps, ({"what": "ready"}, drafted, judged))))
    return folder


def test_compressed_run_is_read(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", sft=LINES)
    plain = bench.read_runs([folder])
    file = folder / "queries.jsonl"
    file.with_name("queries.jsonl.xz").write_bytes(lzma.compress(file.read_bytes()))
    file.unlink()
    assert bench.read_runs([folder]) == plain


LINES = {"1": ["book a table"], "2": ["tell the weather", ""], "3": []}


def test_good_queries_find_more_than_the_request(search: bench.QuerySearch, tmp_path: Path) -> None:
    folder = write_run(
        tmp_path / "run", **{"sft": {name: ["send a mail"] for name in REQUESTS}, "align-1": LINES}
    )
    tables = bench.query_generation_tables(search, bench.read_runs([folder]))
    assert list(tables) == [title for title, parts in bench.TESTS.items() if ("toolbench", "ood") in parts]
    table = tables["ToolBench, out-of-domain"]
    assert table.rows == ("utterance", "SFT", "alignment")
    mmrr = {row: table.cell(row, "mmrr@11").interval.mean for row in table.rows}
    assert mmrr["alignment"] > mmrr["utterance"] > mmrr["SFT"]
    assert table.runs["alignment"]["3"] == table.runs["utterance"]["3"]  # nothing written: the request alone
    first = bench.query_generation_tables(search, bench.read_runs([folder]), with_request=False)
    assert first["ToolBench, out-of-domain"].runs["alignment"]["1"][0] == "toolbench/1"
    last = bench.query_generation_tables(search, bench.read_runs([folder]), request_first=False)
    assert last["ToolBench, out-of-domain"].runs["SFT"]["3"][:2] == ["toolbench/3", "toolbench/1"]


def test_requests_without_queries_are_left_out(search: bench.QuerySearch, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", warm={"1": ["book a table"]})
    table = bench.query_generation_tables(search, bench.read_runs([folder]))["ToolBench, out-of-domain"]
    assert list(table.qrels) == ["1"]


def test_iterations_are_read_from_the_log(tmp_path: Path) -> None:
    logs = bench.read_logs([write_run(tmp_path / "run", warm=LINES)])
    assert [(log.iteration, log.reward, log.best, log.tokens_per_second) for log in logs] == [
        (1, 0.4, 0.6, 1234)
    ]
    assert bench.recall_lines(logs) == {"ToolBench, out-of-domain": [66.6]}
    assert bench.reward_lines(logs) == {"iteration 1": [50, 50]}
    many = [replace(logs[0], iteration=n) for n in range(1, 13)]
    assert list(bench.reward_lines(many)) == [f"iteration {n}" for n in (1, 4, 7, 9, 12)]
    assert bench.rewards_table(logs).row_count == 1


def test_folder_without_run_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match="not a query generation run"):
        bench.read_runs([tmp_path])
