"""Query generation benchmark (Kachuee et al.): retrieval with the queries that models wrote.

`contextune.lab.train.llm.querygen` records the queries its models write; any embedder can search with them.
"""

import json
import lzma
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table as RichTable

from contextune.embed import CachedEmbedder, Embedder
from contextune.errors import InvalidDataError
from contextune.evaluate.results import Reference, ResultTable, evaluate_runs
from contextune.lab.train.llm.querygen_data import querygen_data
from contextune.search import interleave, similarities, top
from contextune.types import Progress


def _paper_row(*figures: float) -> dict[str, float]:
    """Values of the paper's Table 1; recalls are in percent there."""
    mmrr, average, *recalls = figures
    return dict(zip(METRICS, (mmrr, average, *(value / 100 for value in recalls)), strict=True))


METRICS = ("mmrr@11", "map", "recall@3", "recall@5", "recall@11")
TESTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "ToolBench, in-domain": (("toolbench", "id_test"),),
    "ToolBench, out-of-domain": (("toolbench", "ood"),),
    "ToolBench, out-of-domain, with what the filter left out": (("toolbench", "ood"), ("wide", "ood")),
    "Out-of-domain, with MetaTool": (("toolbench", "ood"), ("wide", "ood"), ("metatool", "ood")),
    "ToolLens": (("toollens", "test"),),
}
"""Per table: (set, split) pairs of the data."""
_PLOT_LABELS = {
    "toolbench id_test": "ToolBench, in-domain",
    "toolbench ood": "ToolBench, out-of-domain",
    "wide ood": "ToolBench, what the filter left out",
    "metatool ood": "MetaTool",
    "toollens test": "ToolLens",
}
PAPER: Mapping[str, Reference] = {
    "ToolBench, in-domain": {
        "utterance": _paper_row(0.4841, 0.5675, 55.67, 63.82, 74.36),
        "zero-shot": _paper_row(0.4145, 0.5111, 61.28, 57.86, 70.47),
        "SFT": _paper_row(0.7370, 0.7508, 80.95, 87.29, 91.60),
        "alignment": _paper_row(0.6925, 0.7225, 76.36, 85.34, 91.00),
    },
    "ToolBench, out-of-domain": {
        "utterance": _paper_row(0.6290, 0.7031, 69.68, 75.26, 82.79),
        "zero-shot": _paper_row(0.5440, 0.6432, 52.78, 71.76, 80.86),
        "SFT": _paper_row(0.6130, 0.6893, 68.56, 76.18, 82.83),
        "alignment": _paper_row(0.6487, 0.7151, 71.04, 78.53, 85.51),
    },
}
DEPTH = 11
UTTERANCE = "utterance"


@dataclass(frozen=True, slots=True)
class WrittenQueries:
    """Queries one model wrote for the requests of one set, by request id."""

    model: str
    set: str
    lines: Mapping[str, tuple[str, ...]]


def read_runs(folders: Sequence[Path]) -> list[WrittenQueries]:
    """The queries of these runs; later runs replace earlier ones of the same model and set."""
    tables: dict[tuple[str, str], WrittenQueries] = {}
    for folder in folders:
        try:
            for row in map(json.loads, _lines(folder / "queries.jsonl")):
                lines = {str(key): tuple(map(str, value)) for key, value in row["lines"].items()}
                tables[row["model"], row["set"]] = WrittenQueries(row["model"], row["set"], lines)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InvalidDataError(
                f"{folder}: not a query generation run: {error} "
                "(create one with contextune.lab.train.llm.querygen)"
            ) from None
    return list(tables.values())


def _lines(file: Path) -> list[str]:
    """Lines of a file, or of its .xz version."""
    packed = file.with_name(f"{file.name}.xz")
    if packed.exists():
        return lzma.decompress(packed.read_bytes()).decode().splitlines()
    return file.read_text(encoding="utf-8").splitlines()


@dataclass(frozen=True, slots=True)
class AlignmentIteration:
    """Log entry of one alignment iteration."""

    iteration: int
    requests: int
    reward: float
    """Mean over all drafts."""
    best: float
    """Mean over the best draft of each request."""
    spread: tuple[float, ...]
    """The share of drafts in each tenth of the rewards from 0 to 1."""
    tokens_per_second: int
    recall: Mapping[str, float]
    """Recall@5 by set and part after the iteration, in percent."""


def read_logs(folders: Sequence[Path]) -> list[AlignmentIteration]:
    """The iterations of the first run that has any."""
    for folder in folders:
        rows = [json.loads(row) for row in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]
        recalls = {row["model"]: row["recall5"] for row in rows if row["what"] == "judged"}
        drafted = [row for row in rows if row["what"] == "drafted" and row["set"] == "toolbench"]
        if drafted:
            return [_iteration(row, recalls) for row in drafted]
    return []


def _iteration(row: Mapping[str, Any], recalls: Mapping[str, Mapping[str, float]]) -> AlignmentIteration:
    number = int(row["iteration"])
    return AlignmentIteration(
        number,
        int(row["requests"]),
        float(row["mean"]["mmrr"]),
        float(row["best"]),
        tuple(map(float, row["spread"])),
        int(row["tokens_per_second"]),
        recalls.get(f"align-{number}", {}),
    )


def recall_lines(logs: Sequence[AlignmentIteration]) -> dict[str, list[float]]:
    """Recall@5 after each iteration, one line per test split (the paper's Figure 3)."""
    parts = dict.fromkeys(part for log in logs for part in log.recall)
    return {
        _PLOT_LABELS.get(part, part): [log.recall.get(part, float("nan")) for log in logs]
        for part in parts
        if not part.endswith("dev")  # dev splits only select the iteration
    }


def reward_lines(logs: Sequence[AlignmentIteration], most: int = 5) -> dict[str, list[float]]:
    """Reward histograms in percent, first to last iteration (the paper's Figure 4)."""
    places = np.linspace(0, len(logs) - 1, min(most, len(logs))).round()
    chosen = [logs[int(n)] for n in dict.fromkeys(places.tolist())]
    return {f"iteration {log.iteration}": [100 * share for share in log.spread] for log in chosen}


def rewards_table(logs: Sequence[AlignmentIteration]) -> RichTable:
    """Mean reward of the drafts per iteration."""
    table = RichTable(
        "iteration", "requests", "mean reward", "best draft", "tokens/s", title="Drafts, reward MMRR"
    )
    for log in logs:
        figures = (f"{log.reward:.3f}", f"{log.best:.3f}", f"{log.tokens_per_second:,}")
        table.add_row(str(log.iteration), str(log.requests), *figures)
    return table


class QuerySearch:
    """Semantic search over the sets of the query generation data."""

    def __init__(self, folder: Path, embedder: Embedder, progress: Progress | None = None) -> None:
        self._data: Mapping[str, Any] = querygen_data(folder)["sets"]
        self._embedder = CachedEmbedder(embedder, size=200_000)
        names = list(self._data)
        self._tools: dict[str, np.ndarray] = {}
        for done, name in enumerate(names, 1):
            self._tools[name] = self._embedder.embed(self._data[name]["tools"])
            if progress:
                progress(done, len(names))

    def requests(self, name: str, split: str) -> Iterator[Mapping[str, Any]]:
        """The requests of one split of a set."""
        return (row for row in self._data[name]["queries"] if row["split"] == split)

    def find_tools(self, name: str, queries: Sequence[Sequence[str]]) -> list[list[str]]:
        """The tools found for each list of queries: one search per query, results interleaved."""
        texts = list({query: None for row in queries for query in row})
        vectors = dict(zip(texts, self._embedder.embed(texts), strict=True))
        tools = self._tools[name]
        best = {text: top(similarities(vectors[text], tools), DEPTH).tolist() for text in texts}
        return [
            [f"{name}/{n}" for n in interleave([best[query] for query in row])[:DEPTH]] for row in queries
        ]


def query_generation_tables(
    search: QuerySearch,
    written_queries: Sequence[WrittenQueries],
    *,
    with_request: bool = True,
    request_first: bool = True,
    progress: Progress | None = None,
) -> dict[str, ResultTable]:
    """One table per test: the request alone, then each model; p-values are against the request alone."""
    tables: dict[str, ResultTable] = {}
    titles = _titles(list(dict.fromkeys(run.model for run in written_queries)))
    models = list(titles.values())
    by_model = {(titles[run.model], run.set): run.lines for run in written_queries}
    for done, (title, parts) in enumerate(TESTS.items(), 1):
        rows: dict[str, dict[str, list[str]]] = {name: {} for name in (UTTERANCE, *models)}
        qrels: dict[str, dict[str, int]] = {}
        for name, split in parts:
            # compare models on the requests that all of them answered
            requests = [
                row
                for row in search.requests(name, split)
                if all(row["id"] in by_model.get((model, name), {}) for model in models)
            ]
            qrels |= {row["id"]: {f"{name}/{n}": 1 for n in row["relevant"]} for row in requests}
            for model in rows:
                queries = [
                    _queries(row, by_model.get((model, name), {}), with_request, request_first)
                    for row in requests
                ]
                ranked = search.find_tools(name, queries)
                rows[model] |= {row["id"]: tools for row, tools in zip(requests, ranked, strict=True)}
        if qrels:
            tables[title] = evaluate_runs(
                rows, qrels, METRICS, baseline=UTTERANCE, reference=PAPER.get(title) if with_request else None
            )
        if progress:
            progress(done, len(TESTS))
    return tables


def _titles(models: Sequence[str]) -> dict[str, str]:
    """Row titles: the last alignment iteration is called "alignment"."""
    aligned = [model for model in models if re.fullmatch(r"align-\d+", model)]
    return {model: "SFT" if model == "sft" else model for model in models} | (
        {aligned[-1]: "alignment"} if aligned else {}
    )


def _queries(
    row: Mapping[str, Any], lines: Mapping[str, tuple[str, ...]], with_request: bool, first: bool
) -> tuple[str, ...]:
    written_queries = lines.get(row["id"], ())
    written_queries = tuple(line for line in written_queries if line)
    if not written_queries:
        return (row["text"],)
    if not with_request:
        return written_queries
    return (row["text"], *written_queries) if first else (*written_queries, row["text"])
