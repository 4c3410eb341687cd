"""Context retrieval on data nobody here wrote: WorkBench and iKAT, test parts (not in the package).

All methods run as shipped; search by an untuned embedder is beside them. The default is compared with each
plain search on the same requests: what is said outright must not be lost to a ranker that was made for what
is left out.
"""

from collections.abc import Mapping, Sequence

from contextune.embed import Embedder
from contextune.evaluate.metrics import Run, parse_metric
from contextune.evaluate.results import ResultTable, evaluate_runs
from contextune.types import Progress
from contextune_lab.bench.bench_tables import to_cell
from contextune_lab.bench.quality.context import RANKER, TITLES, run_methods
from contextune_lab.bench.results_file import BenchTable, Cell, Row
from contextune_lab.public_data.context_sets import TEST, ContextSet

METHODS = ("bm25", "semantic", "hybrid", "learned")
UNTUNED = f"{TITLES['semantic']}, untuned"
METRICS = ("recall@3", "recall@5", "recall@10", "mrr")
SUMMARY_METRIC = "recall@5"
MEAN = "mean"
_BEST_OTHER = "best of the others"


def public_rows(
    context_set: ContextSet, untuned: Embedder | None = None, *, progress: Progress | None = None
) -> Mapping[str, Run]:
    """Rankings of the test requests by every method, as shipped, and by search with an untuned embedder."""
    users = context_set.part(TEST).users
    rows: dict[str, Run] = {}
    if untuned is not None:
        rows[UNTUNED] = run_methods(users, ["semantic"], embedder=untuned)["semantic"]
    runs = run_methods(users, METHODS, progress=progress)
    return rows | {TITLES[method]: run for method, run in runs.items()}


def public_table(context_set: ContextSet, rows: Mapping[str, Run]) -> ResultTable:
    """Evaluate the rows on the test requests; each is tested against the default.

    Intervals and tests take requests of one template (WorkBench) or one user (iKAT) together.
    """
    requests = list(context_set.part(TEST))
    return evaluate_runs(
        rows,
        {request.name: request.relevant for request in requests},
        METRICS,
        groups={request.name: request.group for request in requests},
        kinds={request.name: request.query.gold.kind or "unknown" for request in requests},
        baseline=RANKER,
    )


def summary_table(name: str, command: str, tables: Mapping[str, ResultTable]) -> BenchTable:
    """One column per set and their mean: every method, and the best of the others than the default.

    A dagger marks a method that differs from the default on a set.
    """
    first = next(iter(tables.values()))
    rows = [_summary_row(row, list(tables.values())) for row in first.rows]
    best = [max(_value(table, row) for row in table.rows if row != RANKER) for table in tables.values()]
    rows.append(Row(_BEST_OTHER, [*map(Cell, best), Cell(sum(best) / len(best))]))
    label = parse_metric(SUMMARY_METRIC).label
    return BenchTable(name, command, [*tables, MEAN], rows, corner=label)


def _summary_row(row: str, tables: Sequence[ResultTable]) -> Row:
    cells = [to_cell(table.cell(row, SUMMARY_METRIC), interval=False) for table in tables]
    mean = sum(_value(table, row) for table in tables) / len(tables)
    return Row(row, [*cells, Cell(mean)], emphasis=row == RANKER)


def _value(table: ResultTable, row: str) -> float:
    return 100 * table.cell(row, SUMMARY_METRIC).interval.mean
