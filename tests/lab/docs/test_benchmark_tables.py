"""Figures of the docs come from the results file."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.paths import ROOT

from contextune.errors import InvalidDataError
from contextune_lab.bench.results_file import BenchResults, BenchTable, Cell, Row
from contextune_lab.docs.benchmark_tables import (
    NOT_MEASURED,
    to_markdown,
    unmarked_numbers,
    update_page,
    write_pages,
)

BY_HAND = "experiments.md"
"""Past measurements that no command repeats."""
PAGES = (ROOT / "README.md", *sorted(page for page in (ROOT / "docs").glob("*.md") if page.name != BY_HAND))
RESULTS = ROOT / "docs" / "benchmarks.json"


@pytest.fixture
def results() -> BenchResults:
    rows = [
        Row("In-domain (171)"),
        Row("BM25T", [Cell(9.46, 2.14, significant=True), Cell(1200)]),
        Row("learned", [Cell(72.94, published=81.27), None], emphasis=True),
    ]
    table = BenchTable("tools", "contextune bench tools", ["Recall@1", "cases"], rows, corner="method")
    results = BenchResults()
    results.add("quality", [table], {"gain": 1.26})
    results.add("speed", [], {"latency": 1234.5})
    return results


def test_table_as_markdown(results: BenchResults) -> None:
    assert to_markdown(results.table("tools")).splitlines() == [
        "| method | Recall@1 | cases |",
        "|---|---|---|",
        "| **In-domain (171)** | | |",
        "| BM25T | 9.5 ±2.1 † | 1,200 |",
        "| **learned** | 72.9 (81.3) | |",
    ]


def test_table_says_what_it_was_measured_with(results: BenchResults) -> None:
    table = replace(results.table("tools"), made_with="commit 0502a4d, models 1f2e")
    lines = to_markdown(table).splitlines()
    assert lines[:-2] == to_markdown(results.table("tools")).splitlines()
    assert lines[-2:] == ["", "*Measured with commit 0502a4d, models 1f2e.*"]


def test_every_table_of_the_docs_says_what_it_was_measured_with() -> None:
    results = BenchResults.read(RESULTS)
    assert not [
        name for tables in results.tables.values() for name, table in tables.items() if not table.made_with
    ]


def test_page_is_updated(results: BenchResults) -> None:
    page = (
        "before\n<!-- table: tools -->\nold\n<!-- /table -->\n"
        "Finds 70<!-- = tools/In-domain/learned/Recall@1 --> %, "
        "±9.9<!-- = tools/In-domain/BM25T/Recall@1/± -->, +0.0<!-- = gain -->, 1,000<!-- = latency --> ms.\n"
    )
    updated = update_page(page, results)
    assert f"<!-- table: tools -->\n{to_markdown(results.table('tools'))}<!-- /table -->\n" in updated
    assert updated.splitlines()[-1] == (
        "Finds 73<!-- = tools/In-domain/learned/Recall@1 --> %, "
        "±2.1<!-- = tools/In-domain/BM25T/Recall@1/± -->, +1.3<!-- = gain -->, 1,234<!-- = latency --> ms."
    )
    assert update_page(updated, results) == updated


def test_missing_value_changes_no_page(results: BenchResults, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.md", tmp_path / "bad.md"
    good.write_text("1.0<!-- = gain -->", encoding="utf-8")
    bad.write_text("1.0<!-- = tools/In-domain/other/Recall@1 -->", encoding="utf-8")
    with pytest.raises(InvalidDataError, match=r"no value 'tools/In-domain/other/Recall@1'.*BM25T"):
        write_pages(results, [good, bad])
    assert good.read_text(encoding="utf-8") == "1.0<!-- = gain -->"
    assert write_pages(results, [good]) == [good]
    assert write_pages(results, [good]) == []


def test_optional_table_may_be_missing(results: BenchResults) -> None:
    page = "<!-- table?: unseen -->\nold 1.5\n<!-- /table -->\n"
    updated = update_page(page, results)
    assert updated == f"<!-- table?: unseen -->\n{NOT_MEASURED}<!-- /table -->\n"
    assert not list(unmarked_numbers(page))
    tools = update_page(page.replace("unseen", "tools"), results)
    assert to_markdown(results.table("tools")) in tools
    with pytest.raises(InvalidDataError, match="no table 'unseen'"):
        update_page(page.replace("?", ""), results)


def test_numbers_without_a_source_are_found() -> None:
    page = (
        "# Title 1.5\n"
        "Recall is 84.8<!-- = a -->, not 84.9, p < 0.05, in 12 ms for 3 % of 770 requests; 95 % intervals.\n"
        "```sh\nrun --rate 2.5\n```\n"
        "`0.3` [a link](page-1.2.md) Apache-2.0, version 1.2.3, §3.1, ±4, at 5 MB/s or 2.5.\n"
        "<!-- table: t -->\n| 1.1 |\n<!-- /table -->\n"
        "| 7.7 |\n"
    )
    assert list(unmarked_numbers(page)) == [
        (1, "1.5"), (2, "84.9"), (2, "12"), (2, "3"), (6, "4"), (6, "5"), (6, "2.5"), (10, "7.7"),
    ]  # fmt: skip


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_docs_show_the_results_file(page: Path) -> None:
    """If this fails: `contextune bench docs`."""
    text = page.read_text(encoding="utf-8")
    assert update_page(text, BenchResults.read(RESULTS)) == text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_figure_of_the_docs_has_a_source(page: Path) -> None:
    """If this fails: write `84.8<!-- = TABLE/ROW/COLUMN -->`, or move the figure to docs/experiments.md."""
    missing = [
        f"{page.name}:{line}: {number}" for line, number in unmarked_numbers(page.read_text(encoding="utf-8"))
    ]
    assert not missing, missing


def test_page_says_where_the_figures_come_from(results: BenchResults) -> None:
    results.environment = {"note": "Taken over by hand", "python": "3.11.7", "cores": 2}
    page = "<!-- environment -->\nold 9.9\n<!-- /environment -->\n"
    updated = update_page(page, results)
    assert updated == (
        "<!-- environment -->\nTaken over by hand. python 3.11.7, cores 2.\n<!-- /environment -->\n"
    )
    assert not list(unmarked_numbers(updated))
