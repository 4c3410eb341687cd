"""The same numbers as ranx, on random runs and on the TREC files written.

The only module that imports ranx: it compiles with numba, which takes a while.
"""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contextune.evaluate.metrics import JudgedRanking, metric
from contextune.evaluate.report import write
from contextune.evaluate.results import evaluate

pytestmark = pytest.mark.timeout(600)

ranx: Any = importlib.import_module("ranx")  # it has no types

PAIRS = [
    *(
        (f"{own}@{k}", f"{theirs}@{k}")
        for own, theirs in (
            ("recall", "recall"),
            ("ndcg", "ndcg"),
            ("ndcg_exp", "ndcg_burges"),
            ("hit", "hit_rate"),
            ("mrr", "mrr"),
            ("map", "map"),
        )
        for k in (1, 3, 10, 50)
    ),
    ("mrr", "mrr"),
    ("map", "map"),
]


def random_data(seed: int, queries: int = 60) -> tuple[dict[str, list[str]], dict[str, dict[str, int]]]:
    rng = np.random.default_rng(seed)
    things = [f"d{number}" for number in range(40)]
    run: dict[str, list[str]] = {}
    qrels: dict[str, dict[str, int]] = {}
    for number in range(queries):
        judged = rng.choice(things, size=rng.integers(1, 12), replace=False).tolist()
        qrels[f"q{number}"] = {thing: int(rng.integers(0, 5)) for thing in judged} | {judged[0]: 1}
        run[f"q{number}"] = rng.choice(things, size=rng.integers(1, 40), replace=False).tolist()
    return run, qrels


def scored(run: dict[str, list[str]]) -> dict[str, dict[str, float]]:
    return {query: {thing: 1 / rank for rank, thing in enumerate(things, 1)} for query, things in run.items()}


def theirs(qrels: Any, run: Any, names: list[str]) -> dict[str, dict[str, float]]:
    ranx.evaluate(qrels, run, names, make_comparable=True)
    return {name: dict(run.scores[name]) for name in names}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_random_runs(seed: int) -> None:
    run, qrels = random_data(seed)
    expected = theirs(ranx.Qrels(qrels), ranx.Run(scored(run)), [name for _, name in PAIRS])
    judged = JudgedRanking.of(run, qrels)
    for own, their in PAIRS:
        values = dict(zip(judged.queries, metric(own)(judged).tolist(), strict=True))
        assert values == pytest.approx(expected[their], abs=1e-12), own


def test_written_files_are_read_back_to_the_same_metrics(tmp_path: Path) -> None:
    first, qrels = random_data(3)
    second, _ = random_data(4)
    del second["q7"]
    rows = {"BM25 (ours)": first, "dense": {**second, "unjudged": ["d1"]}}
    table = evaluate(rows, qrels, [own for own, _ in PAIRS])
    write(table, tmp_path)
    for row, file in (("BM25 (ours)", "bm25-ours.run"), ("dense", "dense.run")):
        read = ranx.Run.from_file(str(tmp_path / file), kind="trec")
        judgements = ranx.Qrels.from_file(str(tmp_path / "qrels.trec"), kind="trec")
        expected = theirs(judgements, read, [name for _, name in PAIRS])
        for own, their in PAIRS:
            mean = float(np.mean(list(expected[their].values())))
            assert len(expected[their]) == len(qrels)
            assert table.cell(row, own).interval.mean == pytest.approx(mean, abs=1e-12), own
