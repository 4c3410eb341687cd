"""Query generation benchmark from a recorded run."""

import json
import lzma
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import WordEmbedder
from tests.lab.train.tiny_tools import world

from contextune.errors import InvalidDataError, InvalidRequestError
from contextune.evaluate.results import evaluate_runs
from contextune.tools.querygen.names import KnownNames
from contextune.types import Tool
from contextune_lab.bench.querygen import logs as query_logs
from contextune_lab.bench.querygen import measure as bench
from contextune_lab.bench.querygen.report import LARGE_MODEL, RUNS
from contextune_lab.bench.querygen.search import LearnedQuerySearch, QuerySearch
from contextune_lab.public_data.toolbench_split import recorded_split
from contextune_lab.public_data.toolset import read_toolset
from contextune_lab.train.llm.querygen_config import read_config
from contextune_lab.train.llm.querygen_data import querygen_data
from contextune_lab.train.llm.reward import SMALLEST_MMRR

TOOLS = ["play a song", "book a table", "tell the weather", "send a mail", "call somebody"]
REQUESTS = {"1": ("I am hungry tonight", 1), "2": ("do I need a coat", 2), "3": ("book a table", 1)}


@pytest.fixture
def search() -> QuerySearch:
    queries = [
        {"id": name, "text": text, "split": "ood", "relevant": [tool]}
        for name, (text, tool) in REQUESTS.items()
    ]
    others = {name: {"tools": TOOLS, "queries": []} for name in ("toollens", "wide", "metatool")}
    sets = {"toolbench": {"tools": TOOLS, "queries": queries}, **others}
    return QuerySearch(sets, WordEmbedder())


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


def test_good_queries_find_more_than_the_request(search: QuerySearch, tmp_path: Path) -> None:
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
    alone = bench.query_generation_tables(search, bench.read_runs([folder]), with_request=False)
    assert alone["ToolBench, out-of-domain"].runs["alignment"]["1"][0] == "toolbench/1"
    assert table.runs["SFT"]["3"][:2] == ["toolbench/3", "toolbench/1"]  # the request is last
    first = bench.query_generation_tables(search, bench.read_runs([folder]), request_first=True)
    assert first["ToolBench, out-of-domain"].runs["SFT"]["3"][:2] == ["toolbench/1", "toolbench/3"]


def test_requests_without_queries_are_left_out(search: QuerySearch, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", warm={"1": ["book a table"]})
    table = bench.query_generation_tables(search, bench.read_runs([folder]))["ToolBench, out-of-domain"]
    assert list(table.qrels) == ["1"]


def test_iterations_are_read_from_the_log(tmp_path: Path) -> None:
    logs = query_logs.read_logs([write_run(tmp_path / "run", warm=LINES)])
    assert [(log.iteration, log.reward, log.best, log.tokens_per_second) for log in logs] == [
        (1, 0.4, 0.6, 1234)
    ]
    assert query_logs.recall_lines(logs) == {"ToolBench, out-of-domain": [66.6]}
    assert query_logs.reward_lines(logs) == {"iteration 1": [50, 50]}
    many = [replace(logs[0], iteration=n) for n in range(1, 13)]
    assert list(query_logs.reward_lines(many)) == [f"iteration {n}" for n in (1, 4, 7, 9, 12)]
    assert query_logs.rewards_table(logs).row_count == 1


def test_folder_without_run_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match="not a query generation run"):
        bench.read_runs([tmp_path])


def test_tests_with_unanswered_sets_are_left_out(search: QuerySearch, tmp_path: Path) -> None:
    """A run without the wide set must not fill a table that is headed by it."""
    wide = {"tools": TOOLS, "queries": [{"id": "w", "text": "coat", "split": "ood", "relevant": [2]}]}
    sets = {name: wide if name == "wide" else search.sets[name] for name in search.sets}
    runs = bench.read_runs([write_run(tmp_path / "run", warm=LINES)])
    assert list(bench.query_generation_tables(QuerySearch(sets, WordEmbedder()), runs)) == [
        "ToolBench, out-of-domain"
    ]


def test_rows_are_compared_with_the_given_baseline(search: QuerySearch, tmp_path: Path) -> None:
    runs = bench.read_runs([write_run(tmp_path / "run", warm=LINES, other=LINES)])
    table = bench.query_generation_tables(search, runs, baseline="warm")["ToolBench, out-of-domain"]
    assert table.rows == ("warm", "other")
    assert table.cell("warm", "recall@5").p is None
    assert table.cell("other", "recall@5").p == 1  # equal queries
    with pytest.raises(InvalidRequestError, match="no row 'sft' to compare with: use one of utterance, warm"):
        bench.query_generation_tables(search, runs, baseline="sft")


def test_p_values_are_corrected_over_rows_and_tables() -> None:
    numbers = [str(n) for n in range(8)]
    qrels = {n: {"right": 1} for n in numbers}
    runs = {"a": {n: ["wrong"] for n in numbers}, "b": {n: ["right"] for n in numbers}}
    table = evaluate_runs(runs, qrels, bench.METRICS, baseline="a")
    single = table.cell("b", "recall@5").p
    assert single is not None
    assert single < 0.05
    once, *many = (
        bench.correct_for_all_tests([{str(n): table for n in range(count)}] * parts)[0]["0"]
        .cell("b", "recall@5")
        .p
        for count, parts in ((1, 1), (6, 1), (6, 3))
    )
    assert once == single
    assert many == [pytest.approx(6 * single), pytest.approx(18 * single)]


def test_models_are_combined_in_turn() -> None:
    runs = [
        bench.WrittenQueries("descriptions", "toolbench", {"1": ("a", "b"), "2": ("c",)}),
        bench.WrittenQueries("intents", "toolbench", {"1": ("x",)}),
        bench.WrittenQueries("descriptions", "wide", {"3": ("d",)}),
    ]
    combined = bench.combine_models(runs, ("descriptions", "intents"), "both")
    assert combined == [bench.WrittenQueries("both", "toolbench", {"1": ("a", "x", "b")})]


def test_invented_names_are_counted_and_removed(search: QuerySearch) -> None:
    known = KnownNames([Tool("tell", "tell the weather", app="Sky")])
    runs = [bench.WrittenQueries("m", "toolbench", {"1": ("Zorb: book a table", "Sky: tell"), "2": ("",)})]
    assert bench.invented_share(runs, search.sets, known) == 0.5
    (stripped,) = bench.strip_names(runs, search.sets, known, "no names")
    assert stripped.lines == {"1": ("book a table", "Sky: tell"), "2": ("",)}


def test_learned_search_ranks_the_filtered_toolbench(tmp_path: Path) -> None:
    folder = world(tmp_path)
    sets, toolset = querygen_data(folder)["sets"], read_toolset(folder / "toolbench" / "filter")
    search = LearnedQuerySearch(sets, folder, WordEmbedder())
    (tools,) = search.find_tools("toolbench", [["does seen3.list"]])
    assert len(tools) == 11
    assert tools[0] == f"toolbench/{toolset.ids.index('seen3.list')}"
    with pytest.raises(InvalidRequestError, match="no catalogue 'wide'"):
        search.find_tools("wide", [["a"]])


def test_calibrations_name_their_model(tmp_path: Path) -> None:
    rows = [
        {"what": "calibrated", "model": "sft", "recall5": {"0.0": 0.7, "0.4": 0.6}},
        {"what": "aligned", "iteration": 5},
        {"what": "calibrated", "model": "align-4", "recall5": {"0.0": 0.5}},
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    calibrations = query_logs.read_calibrations([tmp_path, tmp_path / "none"])
    assert [each.model for each in calibrations] == ["SFT", "alignment, iteration 4"]
    assert calibrations[0].by_temperature == {0.0: 0.7, 0.4: 0.6}
    assert query_logs.calibrations_table(calibrations).row_count == 2


@pytest.mark.skipif(not RUNS.exists(), reason="recorded runs are only in a clone")
def test_recorded_runs_have_the_best_iteration_and_calibrations_of_recall() -> None:
    log = [json.loads(row) for row in (RUNS / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    (best,) = [row["model"] for row in log if row["what"] == "best"]
    aligned = [run.model for run in bench.read_runs([RUNS]) if run.model.startswith("align-")]
    assert aligned[-1] == best  # the tables call the last one "alignment"
    assert {row["model"] for row in log if row["what"] == "calibrated"} == {"zero-shot", "sft", best}
    temperatures = {row["model"]: row["temperature"] for row in log if row["what"] == "judged"}
    for row in log:
        if row["what"] == "calibrated" and row["model"] != best:
            assert temperatures[row["model"]] == row["best"]


@pytest.mark.skipif(not RUNS.exists(), reason="recorded runs are only in a clone")
@pytest.mark.parametrize("run", ["align", "all-examples/all-examples", "intents/intents", "filters/filters"])
def test_recorded_settings_put_the_request_last_and_have_a_threshold_that_acts(run: str) -> None:
    config = read_config(RUNS / f"{run}.toml")
    assert not config.request_first
    assert config.filter.least > SMALLEST_MMRR


@pytest.mark.skipif(not RUNS.exists(), reason="recorded runs are only in a clone")
def test_recorded_large_model_answers_every_test_request() -> None:
    split = recorded_split().requests
    (run,) = bench.read_runs([RUNS / "large-model"])
    assert run.model == LARGE_MODEL
    assert set(run.lines) == {*split["id_test"], *split["ood"]}
    assert all(1 <= len(lines) <= 5 for lines in run.lines.values())
