"""Query generation benchmark (Kachuee et al.): retrieval with the queries that models wrote.

`contextune_lab.train.llm.querygen` records the queries its models write; any search can use them. The request
itself is the last query, as in the paper. P-values are corrected by Holm's method.
"""

import json
import lzma
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from contextune.errors import InvalidDataError, InvalidRequestError
from contextune.evaluate.results import Reference, ResultTable, evaluate_runs
from contextune.evaluate.stats import holm
from contextune.tools.querygen.names import KnownNames, leading_name
from contextune.tools.querygen.parse import combine_queries
from contextune.types import Progress
from contextune_lab.bench.querygen.search import QuerySearch


def _paper_row(*figures: float) -> dict[str, float]:
    """Values of the paper's Table 1; recalls are in percent there."""
    mmrr, average, *recalls = figures
    return dict(zip(METRICS, (mmrr, average, *(value / 100 for value in recalls)), strict=True))


METRICS = ("mmrr@11", "map@11", "recall@3", "recall@5", "recall@11")
TESTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "ToolBench, in-domain": (("toolbench", "id_test"),),
    "ToolBench, out-of-domain": (("toolbench", "ood"),),
    "ToolBench, out-of-domain, with what the filter left out": (("toolbench", "ood"), ("wide", "ood")),
    "Out-of-domain, with MetaTool": (("toolbench", "ood"), ("wide", "ood"), ("metatool", "ood")),
    "ToolLens": (("toollens", "test"),),
}
"""Per table: (set, split) pairs of the data."""
PAPER_TESTS = {title: TESTS[title] for title in ("ToolBench, in-domain", "ToolBench, out-of-domain")}
"""The paper's own tests."""
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
                model = str(row["model"]).removeprefix("ablation ")
                tables[model, row["set"]] = WrittenQueries(model, row["set"], lines)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InvalidDataError(
                f"{folder}: not a query generation run: {error} "
                "(create one with contextune_lab.train.llm.querygen)"
            ) from None
    return list(tables.values())


def _lines(file: Path) -> list[str]:
    """Lines of a file, or of its .xz version."""
    packed = file.with_name(f"{file.name}.xz")
    if packed.exists():
        return lzma.decompress(packed.read_bytes()).decode().splitlines()
    return file.read_text(encoding="utf-8").splitlines()


@dataclass(frozen=True, slots=True)
class QueryRow:
    """A row of a table: which queries are searched for."""

    lines: Mapping[str, Mapping[str, tuple[str, ...]]]
    """Written queries by set and request id; empty for the request alone."""
    with_request: bool = True
    request_first: bool = False

    @classmethod
    def from_runs(
        cls, runs: Iterable[WrittenQueries], *, with_request: bool = True, request_first: bool = False
    ) -> "QueryRow":
        """The row of one model."""
        return cls({run.set: run.lines for run in runs}, with_request, request_first)

    def answers(self, name: str, request_id: str) -> bool:
        """Whether the model was asked; an unusable answer counts."""
        return not self.lines or request_id in self.lines.get(name, {})

    def queries(self, name: str, row: Mapping[str, Any]) -> tuple[str, ...]:
        """The queries for a request, in interleaving order; the request alone if none was written."""
        written = tuple(line for line in self.lines.get(name, {}).get(row["id"], ()) if line)
        if not written:
            return (row["text"],)
        if not self.with_request:
            return written
        return (row["text"], *written) if self.request_first else (*written, row["text"])


def query_generation_tables(
    search: QuerySearch,
    written_queries: Sequence[WrittenQueries],
    *,
    with_request: bool = True,
    request_first: bool = False,
    baseline: str = UTTERANCE,
    tests: Mapping[str, tuple[tuple[str, str], ...]] = TESTS,
    progress: Progress | None = None,
) -> dict[str, ResultTable]:
    """One table per test: each model, compared with the row `baseline`, by default the request alone."""
    models = dict.fromkeys(run.model for run in written_queries)
    titles = _titles(list(models))
    if baseline not in (UTTERANCE, *titles.values()):
        names = ", ".join((UTTERANCE, *titles.values()))
        raise InvalidRequestError(f"no row {baseline!r} to compare with: use one of {names}")
    # only rows that are to be compared: each more comparison weakens the corrected tests
    rows = {UTTERANCE: QueryRow({})} if baseline == UTTERANCE else {}
    rows |= {
        titles[model]: QueryRow.from_runs(
            (run for run in written_queries if run.model == model),
            with_request=with_request,
            request_first=request_first,
        )
        for model in models
    }
    tables = measure_rows(
        search,
        rows,
        baseline=baseline,
        tests=tests,
        reference=PAPER if with_request and baseline == UTTERANCE else {},
        progress=progress,
    )
    return correct_for_all_tests([tables])[0]


def measure_rows(
    search: QuerySearch,
    rows: Mapping[str, QueryRow],
    *,
    baseline: str = UTTERANCE,
    tests: Mapping[str, tuple[tuple[str, str], ...]] = TESTS,
    reference: Mapping[str, Reference] | None = None,
    progress: Progress | None = None,
) -> dict[str, ResultTable]:
    """One table per test that every row has answers for; correct them with `correct_for_all_tests`."""
    tables: dict[str, ResultTable] = {}
    for done, (title, parts) in enumerate(tests.items(), 1):
        runs: dict[str, dict[str, list[str]]] = {name: {} for name in rows}
        qrels: dict[str, dict[str, int]] = {}
        complete = True
        for name, split in parts:
            asked = list(search.requests(name, split))
            # compare models on the requests that all of them answered
            requests = [row for row in asked if all(each.answers(name, row["id"]) for each in rows.values())]
            complete = complete and bool(requests or not asked)
            qrels |= {row["id"]: {f"{name}/{n}": 1 for n in row["relevant"]} for row in requests}
            for model, each in rows.items():
                ranked = search.find_tools(name, [each.queries(name, row) for row in requests])
                runs[model] |= {row["id"]: tools for row, tools in zip(requests, ranked, strict=True)}
        if qrels and complete:
            tables[title] = evaluate_runs(
                runs, qrels, METRICS, baseline=baseline, reference=(reference or {}).get(title)
            )
        if progress:
            progress(done, len(tests))
    return tables


def correct_for_all_tests(parts: Sequence[Mapping[str, ResultTable]]) -> list[dict[str, ResultTable]]:
    """Adjust the p-values of each metric by Holm's method, over all rows of all these tables."""
    keys = [
        (part, title, key)
        for part, tables in enumerate(parts)
        for title, table in tables.items()
        for key, cell in table.cells.items()
        if cell.p is not None
    ]
    adjusted: dict[tuple[int, str, tuple[str, str, str]], float] = {}
    for metric in METRICS:
        of_metric = [key for key in keys if key[2][1] == metric]
        adjusted |= holm({key: parts[key[0]][key[1]].cells[key[2]].p or 0.0 for key in of_metric})
    return [
        {
            title: replace(
                table,
                cells={
                    key: replace(cell, p=adjusted.get((part, title, key)))
                    for key, cell in table.cells.items()
                },
            )
            for title, table in tables.items()
        }
        for part, tables in enumerate(parts)
    ]


def combine_models(
    written_queries: Sequence[WrittenQueries], models: tuple[str, str], name: str
) -> list[WrittenQueries]:
    """The queries of two models in turn, such as descriptions and intents, under a new name."""
    first, second = (
        {run.set: run.lines for run in written_queries if run.model == model} for model in models
    )
    return [
        WrittenQueries(
            name,
            part,
            {
                key: combine_queries(lines, second[part][key])
                for key, lines in first[part].items()
                if key in second[part]
            },
        )
        for part in first
        if part in second
    ]


def strip_names(
    runs: Sequence[WrittenQueries], sets: Mapping[str, Any], known: KnownNames, name: str
) -> list[WrittenQueries]:
    """A model's queries without invented tool names, under a new name."""
    texts = {part: {row["id"]: row["text"] for row in data["queries"]} for part, data in sets.items()}
    return [
        WrittenQueries(
            name,
            run.set,
            {
                key: tuple(known.strip(line, texts[run.set][key]) for line in lines)
                for key, lines in run.lines.items()
                if key in texts[run.set]
            },
        )
        for run in runs
    ]


def invented_share(runs: Sequence[WrittenQueries], sets: Mapping[str, Any], known: KnownNames) -> float:
    """The share of queries that begin with a tool name which neither catalogue nor request has."""
    texts = {part: {row["id"]: row["text"] for row in data["queries"]} for part, data in sets.items()}
    invented = [
        bool(name := leading_name(line)) and known.is_invented(name, texts[run.set][key])
        for run in runs
        for key, lines in run.lines.items()
        if key in texts[run.set]
        for line in lines
        if line
    ]
    return sum(invented) / max(1, len(invented))


def _titles(models: Sequence[str]) -> dict[str, str]:
    """Row titles: the last alignment iteration is called "alignment"."""
    aligned = [model for model in models if re.fullmatch(r"align-\d+", model)]
    return {model: "SFT" if model == "sft" else model for model in models} | (
        {aligned[-1]: "alignment"} if aligned else {}
    )
