"""The report of query generation on small catalogues, and its tables for the docs."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import WordEmbedder
from tests.lab.train.tiny_tools import world

from contextune_lab.bench.querygen import tables as querygen_tables
from contextune_lab.bench.querygen.logs import AlignmentIteration, Calibration
from contextune_lab.bench.querygen.report import QueryGenerationReport, ReportGroup
from contextune_lab.bench.results_file import BenchTable
from contextune_lab.train.llm.querygen_data import querygen_data

IN_DOMAIN, OUT_OF_DOMAIN = "ToolBench, in-domain", "ToolBench, out-of-domain"
QUERIES = {"right": "does {id}", "wrong": "Zorb — nothing of the kind", "none": ""}
RUNS = {
    ".": {"zero-shot": "none", "sft": "wrong", "align-9": "right"},
    "all-examples": {"all examples": "right"},
    "filters": {"alignment, one iteration": "right", "n_draft 2": "wrong"},
    "intents": {"descriptions, two iterations": "right", "intents, two iterations": "wrong"},
    "large-model": {"large model, zero-shot": "right"},
}
"""Models by folder, with what they write for each request."""


def write_runs(folder: Path, public: Path) -> Path:
    ids = [json.loads(line)["id"] for line in (public / "toolbench/filter/tools.jsonl").open()]
    sets = querygen_data(public)["sets"]
    for name, models in RUNS.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        rows: list[dict[str, Any]] = []
        for model, kind in models.items():
            for part, content in sets.items():
                lines = {
                    row["id"]: [
                        QUERIES[kind].format(id=ids[place % len(ids)]) for place in sorted(row["relevant"])
                    ]
                    for row in content["queries"]
                }
                rows.append({"model": model, "set": part, "lines": lines})
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / name / "queries.jsonl").write_text(text)
    return folder


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ReportGroup]:
    public = world(tmp_path_factory.mktemp("public"))
    runs = write_runs(tmp_path_factory.mktemp("runs"), public)
    report = QueryGenerationReport(public, untuned=WordEmbedder(), tuned=WordEmbedder(), runs=runs)
    assert report.invented_names()["sft"] == 1
    assert report.invented_names()["align-9"] == 0
    return {group.name: group for group in report.groups()}


def cells(table: BenchTable, row: str) -> dict[str, float | None]:
    (found,) = (each for each in table.rows if each.name == row)
    return {
        column.rsplit(" (", 1)[0]: cell.value if cell else None
        for column, cell in zip(table.columns, found.cells, strict=True)
    }


def test_every_group_has_tables(groups: dict[str, ReportGroup]) -> None:
    assert list(groups) == ["models", "combination", "filters", "intents", "names", "large model", "tuned"]
    ids = [table.id for group in groups.values() for table in querygen_tables.docs_tables(group)]
    assert ids == [
        "querygen-models",
        "querygen-models-recall",
        "querygen-combination",
        "querygen-filters",
        "querygen-intents",
        "querygen-names",
        "querygen-large-model",
        "querygen-tuned",
    ]


def test_models_are_measured_on_every_test(groups: dict[str, ReportGroup]) -> None:
    table = querygen_tables.docs_tables(groups["models"])[1]
    assert cells(table, "alignment")[OUT_OF_DOMAIN] == 100
    aligned, alone = cells(table, "alignment")[OUT_OF_DOMAIN], cells(table, "utterance")[OUT_OF_DOMAIN]
    gain = querygen_tables.gain_facts(groups["models"])[f"querygen/gain/alignment/{OUT_OF_DOMAIN}"]
    assert aligned is not None
    assert alone is not None
    assert gain == pytest.approx(aligned - alone)
    assert not querygen_tables.gain_facts(groups["filters"])
    assert cells(table, "zero-shot") == cells(table, "utterance")  # nothing written: the request alone


def test_differences_are_from_the_baseline_row(groups: dict[str, ReportGroup]) -> None:
    (table,) = querygen_tables.docs_tables(groups["filters"])
    assert [row.name for row in table.rows] == ["alignment, one iteration", "n_draft 2, difference"]
    difference = cells(table, "n_draft 2, difference")[OUT_OF_DOMAIN]
    assert difference is not None
    assert difference < 0
    first, second, *_ = table.rows[1].cells
    assert first
    assert second
    assert (first.published, second.published) == (-0.29, -1.43)
    assert table.columns[0].startswith(IN_DOMAIN)


def test_combinations_compare_each_model_with_itself(groups: dict[str, ReportGroup]) -> None:
    (table,) = querygen_tables.docs_tables(groups["combination"])
    assert cells(table, "zero-shot, without the request, difference")[IN_DOMAIN] == 0
    # 3 models, 2 other combinations, 3 tests
    assert groups["combination"].comparisons == 18


def test_large_model_is_measured_with_three_searches(groups: dict[str, ReportGroup]) -> None:
    (table,) = querygen_tables.docs_tables(groups["large model"])
    assert [row.name.split(",")[0] for row in table.rows] == ["untuned"] * 3 + ["tuned"] * 3 + ["learned"] * 3
    assert cells(table, "untuned, large model, zero-shot, without the request")[OUT_OF_DOMAIN] == 100


def test_temperatures_and_draft_facts() -> None:
    table = querygen_tables.temperature_table(
        [
            Calibration("SFT", {0.0: 0.76, 0.4: 0.75}),
            Calibration("zero-shot", {1.2: 0.5}),
        ]
    )
    assert table.columns == ["0", "0.4", "1.2"]
    assert cells(table, "SFT") == {"0": 76, "0.4": 75, "1.2": None}
    logs = [AlignmentIteration(n, 9, 0.4 + n / 10, 0.6, (), 100 * n, {}) for n in (1, 2)]
    facts = querygen_tables.draft_facts(logs)
    assert facts["querygen/drafts/last mean reward"] == pytest.approx(0.6)
    assert facts["querygen/drafts/highest tokens per second"] == 200
    assert querygen_tables.draft_facts([]) == {}
