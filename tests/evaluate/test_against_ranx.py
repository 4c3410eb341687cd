"""Our metrics equal those of ranx, on random runs and on the TREC files we write.

ranx's values are in `ranx_reference.json.xz`; `python -m tests.evaluate.ranx_reference` computes them anew.
"""

import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from tests.evaluate.ranx_reference import FILE, METRICS, write_trec

from contextune.evaluate.metrics import JudgedRanking, parse_metric

REFERENCE: dict[str, Any] = json.loads(lzma.decompress(FILE.read_bytes()))


@pytest.mark.parametrize("number", range(len(REFERENCE["comparisons"])))
def test_metrics_equal_those_of_ranx(number: int) -> None:
    comparison = REFERENCE["comparisons"][number]
    assert comparison["values"].keys() == METRICS.keys()
    judged = JudgedRanking.from_run(comparison["run"], comparison["qrels"])
    for name, expected in comparison["values"].items():
        values = dict(zip(judged.queries, parse_metric(name)(judged).tolist(), strict=True))
        assert values == pytest.approx(expected, abs=1e-12), name


def test_ranx_reads_the_same_metrics_from_our_trec_files(tmp_path: Path) -> None:
    trec = REFERENCE["trec"]
    table, digests = write_trec(trec["runs"], trec["qrels"], tmp_path)
    assert digests == trec["sha256"], "the files differ from those that ranx read: regenerate the reference"
    for row, means in trec["means"].items():
        assert means.keys() == METRICS.keys()
        for name, mean in means.items():
            assert table.cell(row, name).interval.mean == pytest.approx(mean, abs=1e-12), name
