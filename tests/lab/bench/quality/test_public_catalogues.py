"""Public benchmarks on small catalogues: test splits only, every method."""

from pathlib import Path

import pytest
from tests.lab.train.tiny_tools import api, ask, world, write

from contextune.embed import Embedder
from contextune.errors import InvalidDataError
from contextune.evaluate.metrics import parse_metric
from contextune.evaluate.report import write_report as write_table
from contextune.evaluate.results import ResultTable
from contextune.tools import ToolRetriever
from contextune_lab.bench.quality.public_catalogues import METRICS, TESTS, public_tables, rank_queries
from contextune_lab.public_data.folds import training_toolsets
from contextune_lab.public_data.toolset import read_toolset


def test_test_splits_are_not_in_training(tmp_path: Path) -> None:
    world(tmp_path)
    training_texts = {query.text for toolset in training_toolsets(tmp_path) for query in toolset.queries}
    for folder, split in TESTS.values():
        tested = read_toolset(tmp_path / folder).split(split)
        assert tested
        assert not training_texts & {query.text for query in tested}
    assert {split for _, split in TESTS.values()}.isdisjoint({"train", "dev", "extra"})


def test_run_ranks_tool_ids(tmp_path: Path, word_embedder: Embedder) -> None:
    tools = [api("Post", "send"), api("Mail", "send"), api("Post", "send", "again"), api("Clock", "Clock")]
    queries = [ask("Mail send", "test", "Mail.send"), ask("the Clock", "test", "Clock.Clock")]
    toolset = read_toolset(write(tmp_path, tools, queries))
    retriever = ToolRetriever(toolset.tools, word_embedder, method="semantic")
    rankings = rank_queries(retriever, toolset.split("test"))
    assert list(rankings) == ["Mail-send", "the-Clock"]
    assert rankings["Mail-send"][0] == "Mail/send"
    assert rankings["the-Clock"][0] == "Clock"
    for ranked in rankings.values():
        assert sorted(ranked) == ["Clock", "Mail/send", "Post/send", "Post/send 2"]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ResultTable]:
    return public_tables(world(tmp_path_factory.mktemp("public")), None)


def test_every_method_is_measured_on_every_test(tables: dict[str, ResultTable], tmp_path: Path) -> None:
    world(tmp_path)
    assert list(tables) == list(TESTS)
    for title, (folder, split) in TESTS.items():
        table, toolset = tables[title], read_toolset(tmp_path / folder)
        assert table.rows == ("BM25T", "tuned embedder", "hybrid, RRF", "learned")
        assert table.baseline == "learned"
        assert tuple(measure.name for measure in table.metrics) == METRICS
        queries = {query.id: query for query in toolset.split(split)}
        assert table.qrels.keys() == queries.keys()
        for name, grades in table.qrels.items():
            assert list(grades.values()) == [1] * len(queries[name].relevant)
        for row in table.rows:
            assert table.runs[row].keys() == table.qrels.keys()
            assert table.cell(row, "recall@3").n == len(toolset.split(split))


def test_tables_can_be_written_as_trec(tables: dict[str, ResultTable], tmp_path: Path) -> None:
    """Tool names may contain blanks, which TREC files cannot; their ids do not."""
    for title, table in tables.items():
        write_table(table, tmp_path / title)
        lines = (tmp_path / title / "qrels.trec").read_text(encoding="utf-8").splitlines()
        assert {line.split()[2] for line in lines} == {
            name for grades in table.qrels.values() for name in grades
        }
    assert {name for grades in tables["ToolLens"].qrels.values() for name in grades} <= {
        f"lens{number // 2}.tool-{number}" for number in range(12)
    }


def test_bm25_finds_tools_by_server_name(tables: dict[str, ResultTable]) -> None:
    """`test of kept0` shares a word with three tools of that server, two of which are relevant."""
    cell = tables["ToolBench filter, out-of-domain"].cell("BM25T", "recall@3")
    assert cell.interval.mean == 1
    cell = tables["ToolBench filter, in-domain"].cell("BM25T", "recall@3")
    assert cell.interval.mean == 1


def test_untuned_embedder_has_its_own_row(tmp_path: Path, word_embedder: Embedder) -> None:
    progress_calls: list[tuple[int, int]] = []
    rankings = public_tables(
        world(tmp_path), word_embedder, progress=lambda done, total: progress_calls.append((done, total))
    )
    for table in rankings.values():
        assert "Semantic search, untuned" in table.rows
    cell = rankings["ToolBench filter, out-of-domain"].cell("Semantic search, untuned", "recall@3")
    assert cell.interval.mean == 1
    assert progress_calls == [(n, 7) for n in range(1, 8)]


def test_all_metrics_are_known() -> None:
    assert [parse_metric(name).name for name in METRICS] == list(METRICS)


def test_folder_without_data_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match=r"toolbench.filter.tools\.jsonl: cannot be read"):
        public_tables(tmp_path, None)
