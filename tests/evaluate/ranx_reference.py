"""Reference values by ranx for `test_against_ranx.py`, in `ranx_reference.json.xz`.

ranx compiles its metrics with numba, which takes minutes, so its values are computed once. Regenerate
them after adding a metric or changing the TREC files:

    python -m tests.evaluate.ranx_reference
"""

import hashlib
import importlib
import json
import lzma
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from contextune.evaluate.report import write_report
from contextune.evaluate.results import ResultTable, evaluate_runs

FILE = Path(__file__).with_name("ranx_reference.json.xz")
METRICS = {
    **{
        f"{ours}@{k}": f"{theirs}@{k}"
        for ours, theirs in (
            ("recall", "recall"),
            ("ndcg", "ndcg"),
            ("ndcg_exp", "ndcg_burges"),
            ("hit", "hit_rate"),
            ("mrr", "mrr"),
            ("map", "map"),
        )
        for k in (1, 3, 10, 50)
    },
    "mrr": "mrr",
    "map": "map",
}
"""Our metric → the same metric of ranx."""
TREC_FILES = {"BM25 (ours)": "bm25-ours.run", "dense": "dense.run"}
Rankings = dict[str, list[str]]
Grades = dict[str, dict[str, int]]


def random_data(seed: int, queries: int = 30) -> tuple[Rankings, Grades]:
    """Random rankings and grades; the first graded document is relevant."""
    rng = np.random.default_rng(seed)
    documents = [f"d{number}" for number in range(40)]
    run: Rankings = {}
    qrels: Grades = {}
    for number in range(queries):
        graded = rng.choice(documents, size=rng.integers(1, 12), replace=False).tolist()
        qrels[f"q{number}"] = {document: int(rng.integers(0, 5)) for document in graded} | {graded[0]: 1}
        run[f"q{number}"] = rng.choice(documents, size=rng.integers(1, 40), replace=False).tolist()
    return run, qrels


def write_trec(
    runs: Mapping[str, Rankings], qrels: Grades, folder: Path
) -> tuple[ResultTable, dict[str, str]]:
    """Write TREC files; the table, and the SHA-256 of each file."""
    table = evaluate_runs(runs, qrels, list(METRICS))
    write_report(table, folder)
    names = ["qrels.trec", *TREC_FILES.values()]
    return table, {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}


def main() -> None:
    """Compute everything with ranx and write `FILE`."""
    ranx: Any = importlib.import_module("ranx")  # it has no types

    def scores(qrels: Any, run: Any, names: Sequence[str]) -> dict[str, dict[str, float]]:
        ranx.evaluate(qrels, run, list(names), make_comparable=True)
        return {name: {query: float(value) for query, value in run.scores[name].items()} for name in names}

    comparisons: list[dict[str, Any]] = []
    for seed in range(3):
        run, qrels = random_data(seed)
        scored = {q: {d: 1 / rank for rank, d in enumerate(ranking, 1)} for q, ranking in run.items()}
        values = scores(ranx.Qrels(qrels), ranx.Run(scored), list(METRICS.values()))
        comparisons.append({"run": run, "qrels": qrels, "values": {o: values[t] for o, t in METRICS.items()}})

    (first, qrels), (second, _) = random_data(3), random_data(4)
    del second["q7"]
    runs = {"BM25 (ours)": first, "dense": {**second, "unjudged": ["d1"]}}
    means: dict[str, dict[str, float]] = {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        _, digests = write_trec(runs, qrels, folder)
        for row, file in TREC_FILES.items():
            judgements = ranx.Qrels.from_file(str(folder / "qrels.trec"), kind="trec")
            read = ranx.Run.from_file(str(folder / file), kind="trec")
            values = scores(judgements, read, list(METRICS.values()))
            means[row] = {
                o: float(np.mean([values[t].get(q, 0.0) for q in qrels])) for o, t in METRICS.items()
            }
    trec = {"runs": runs, "qrels": qrels, "sha256": digests, "means": means}
    reference = {"ranx": ranx.__version__ if hasattr(ranx, "__version__") else "", "comparisons": comparisons}
    FILE.write_bytes(
        lzma.compress((json.dumps({**reference, "trec": trec}, separators=(",", ":")) + "\n").encode())
    )


if __name__ == "__main__":
    main()
