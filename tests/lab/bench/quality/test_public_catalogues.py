"""Public benchmarks on folders made by hand: only test parts are measured, every method on all of them."""

from pathlib import Path

import pytest
from tests.lab.train.tiny_tools import api, ask, world, write

from contextune.embed import Embedder
from contextune.errors import InvalidDataError
from contextune.evaluate.metrics import metric
from contextune.evaluate.report import write as write_table
from contextune.evaluate.results import ResultTable
from contextune.lab.bench.quality.public_catalogues import METRICS, TESTS, public_tables, run
from contextune.lab.public_data.folds import training_toolsets
from contextune.lab.public_data.toolset import read_toolset
from contextune.tools import ToolRetriever


def test_what_is_measured_is_not_what_is_learnt_from(tmp_path: Path) -> None:
    world(tmp_path)
    learnt = {query.text for toolset in training_toolsets(tmp_path) for query in toolset.queries}
    for folder, split in TESTS.values():
        tested = read_toolset(tmp_path / folder).split(split)
        assert tested
        assert not learnt & {query.text for query in tested}
    assert {split for _, split in TESTS.values()}.isdisjoint({"train", "dev", "extra"})


def test_a_run_ranks_ids(tmp_path: Path, word_embedder: Embedder) -> None:
    tools = [api("Post", "send"), api("Mail", "send"), api("Post", "send", "again"), api("Clock", "Clock")]
    asked = [ask("Mail send", "test", "Mail.send"), ask("the Clock", "test", "Clock.Clock")]
    toolset = read_toolset(write(tmp_path, tools, asked))
    retriever = ToolRetriever(toolset.tools, word_embedder, method="semantic")
    found = run(retriever, toolset.split("test"))
    assert list(found) == ["Mail-send", "the-Clock"]
    assert found["Mail-send"][0] == "Mail/send"
    assert found["the-Clock"][0] == "Clock"
    for ranked in found.values():
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
        asked = {query.id: query for query in toolset.split(split)}
        assert table.qrels.keys() == asked.keys()
        for name, grades in table.qrels.items():
            assert list(grades.values()) == [1] * len(asked[name].relevant)
        for row in table.rows:
            assert table.runs[row].keys() == table.qrels.keys()
            assert table.cell(row, "recall@3").n == len(toolset.split(split))


def test_tables_can_be_written_down(tables: dict[str, ResultTable], tmp_path: Path) -> None:
    """Names of tools hold blanks, which TREC files cannot; what the data calls them does not."""
    for title, table in tables.items():
        write_table(table, tmp_path / title)
        lines = (tmp_path / title / "qrels.trec").read_text(encoding="utf-8").splitlines()
        assert {line.split()[2] for line in lines} == {name for one in table.qrels.values() for name in one}
    assert {name for one in tables["ToolLens"].qrels.values() for name in one} <= {
        f"lens{number // 2}.tool-{number}" for number in range(12)
    }


def test_names_that_are_said_are_found_by_words(tables: dict[str, ResultTable]) -> None:
    """`test of kept0` shares a word with the three tools of that server, two of which are right."""
    cell = tables["ToolBench filter, out-of-domain"].cell("BM25T", "recall@3")
    assert cell.interval.mean == 1
    cell = tables["ToolBench filter, in-domain"].cell("BM25T", "recall@3")
    assert cell.interval.mean == 1


def test_an_untuned_embedder_gets_a_row_of_its_own(tmp_path: Path, word_embedder: Embedder) -> None:
    told: list[tuple[int, int]] = []
    found = public_tables(
        world(tmp_path), word_embedder, progress=lambda done, total: told.append((done, total))
    )
    for table in found.values():
        assert "Semantic search, untuned" in table.rows
    cell = found["ToolBench filter, out-of-domain"].cell("Semantic search, untuned", "recall@3")
    assert cell.interval.mean == 1
    assert told == [(n, 7) for n in range(1, 8)]


def test_all_metrics_are_known() -> None:
    assert [metric(name).name for name in METRICS] == list(METRICS)


def test_a_folder_without_the_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match=r"toolbench.filter.tools\.jsonl: cannot be read"):
        public_tables(tmp_path, None)
