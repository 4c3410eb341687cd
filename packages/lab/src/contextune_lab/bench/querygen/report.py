"""All tables of query generation in the docs, from the recorded runs in `packages/lab/runs/querygen`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextune.embed import Embedder
from contextune.errors import MissingLabDataError
from contextune.evaluate.results import ResultTable
from contextune.tools.querygen.names import KnownNames
from contextune_lab.bench.querygen.measure import (
    PAPER_TESTS,
    TESTS,
    UTTERANCE,
    QueryRow,
    WrittenQueries,
    combine_models,
    correct_for_all_tests,
    invented_share,
    measure_rows,
    query_generation_tables,
    read_runs,
    strip_names,
)
from contextune_lab.bench.querygen.search import LearnedQuerySearch, QuerySearch
from contextune_lab.public_data.toolset import read_toolset
from contextune_lab.train.llm.querygen_data import querygen_data

RUNS = Path(__file__).parents[4] / "runs" / "querygen"
"""In a clone of the repository; recorded runs are in no wheel."""
LARGE_MODEL = "large model, zero-shot"
_ALIGNED = "align-9"
"""The iteration with the best Recall@5 on the dev splits."""
_DESCRIPTIONS, _INTENTS = "descriptions, two iterations", "intents, two iterations"
_ONE_ITERATION = "alignment, one iteration"
_TOOLBENCH = {title: parts for title, parts in TESTS.items() if title.startswith("ToolBench")}
_MODELS = {"zero-shot": "zero-shot", "sft": "SFT", _ALIGNED: "alignment"}
Tables = dict[str, ResultTable]


@dataclass(frozen=True, slots=True)
class ReportGroup:
    """Tables whose p-values are corrected together; each part has its own baseline row."""

    name: str
    parts: tuple[Tables, ...]

    @property
    def comparisons(self) -> int:
        """How many p-values of one metric were corrected together."""
        tables = [table for part in self.parts for table in part.values()]
        return sum(len(table.rows) - 1 for table in tables)


class QueryGenerationReport:
    """Searches with the queries of the recorded runs; catalogues and queries are embedded once."""

    def __init__(self, public: Path, *, untuned: Embedder, tuned: Embedder, runs: Path = RUNS) -> None:
        """`public` is the folder with toolbench, toollens and metatool."""
        if not runs.exists():
            raise MissingLabDataError("the recorded runs of query generation")
        self._runs = runs
        self._sets: Mapping[str, Any] = querygen_data(public)["sets"]
        self._known = KnownNames(read_toolset(public / "toolbench" / "filter").tools)
        self._untuned, self._tuned = QuerySearch(self._sets, untuned), QuerySearch(self._sets, tuned)
        self._learned = LearnedQuerySearch(self._sets, public, tuned)

    def groups(self) -> Iterator[ReportGroup]:
        """Every group of tables; each is measured when it is asked for."""
        main = read_runs([self._runs, self._runs / "all-examples"])
        yield ReportGroup("models", (query_generation_tables(self._untuned, main),))
        yield ReportGroup("combination", self._combinations(main))
        yield ReportGroup("filters", (self._filters(),))
        yield ReportGroup("intents", (self._intents(),))
        yield ReportGroup("names", (self._names([run for run in main if run.model == _ALIGNED]),))
        yield ReportGroup("large model", self._large_model())
        tests = PAPER_TESTS | {"ToolLens": TESTS["ToolLens"]}
        yield ReportGroup("tuned", (query_generation_tables(self._tuned, main, tests=tests),))

    def invented_names(self) -> dict[str, float]:
        """The share of queries that begin with an invented tool name, by model, on the filtered ToolBench."""
        folders = [self._runs, *(self._runs / name for name in ("all-examples", "intents", "large-model"))]
        runs = [run for run in read_runs(folders) if run.set == "toolbench"]
        return {run.model: invented_share([run], self._sets, self._known) for run in runs}

    def _combinations(self, runs: Sequence[WrittenQueries]) -> tuple[Tables, ...]:
        """Each model with the request last, without it, and with the request first."""
        parts: list[Tables] = []
        for model, title in _MODELS.items():
            of_model = [run for run in runs if run.model == model]
            rows = {
                title: QueryRow.from_runs(of_model),
                f"{title}, without the request": QueryRow.from_runs(of_model, with_request=False),
                f"{title}, request first": QueryRow.from_runs(of_model, request_first=True),
            }
            parts.append(measure_rows(self._untuned, rows, baseline=title, tests=_TOOLBENCH))
        return tuple(correct_for_all_tests(parts))

    def _filters(self) -> Tables:
        runs = read_runs([self._runs / "filters"])
        return query_generation_tables(self._untuned, runs, baseline=_ONE_ITERATION, tests=_TOOLBENCH)

    def _intents(self) -> Tables:
        runs = read_runs([self._runs / "intents"])
        combined = combine_models(runs, (_DESCRIPTIONS, _INTENTS), "descriptions and intents")
        chosen = [run for run in runs if run.model in (_DESCRIPTIONS, _INTENTS)]
        return query_generation_tables(
            self._untuned, [*chosen, *combined], baseline=_DESCRIPTIONS, tests=_TOOLBENCH
        )

    def _names(self, aligned: Sequence[WrittenQueries]) -> Tables:
        runs = [run for run in aligned if run.set == "toolbench"]
        stripped = strip_names(runs, self._sets, self._known, "stripped")
        rows = {
            "alignment": QueryRow.from_runs(runs),
            "alignment, no invented names": QueryRow.from_runs(stripped),
        }
        tables = measure_rows(self._untuned, rows, baseline="alignment", tests=PAPER_TESTS)
        return correct_for_all_tests([tables])[0]

    def _large_model(self) -> tuple[Tables, ...]:
        """The request alone, the large model's queries with it, and without it, by search."""
        runs = read_runs([self._runs / "large-model"])
        parts: list[Tables] = []
        for name, search in (
            ("untuned", self._untuned),
            ("tuned", self._tuned),
            ("learned", self._learned),
        ):
            rows = {
                f"{name}, {UTTERANCE}": QueryRow({}),
                f"{name}, {LARGE_MODEL}": QueryRow.from_runs(runs),
                f"{name}, {LARGE_MODEL}, without the request": QueryRow.from_runs(runs, with_request=False),
            }
            parts.append(measure_rows(search, rows, baseline=f"{name}, {UTTERANCE}", tests=PAPER_TESTS))
        return tuple(correct_for_all_tests(parts))
