"""Compare several runs on the same queries: means, intervals and p-values for a table."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from contextune.errors import InvalidDataError
from contextune.evaluate.metrics import Floats, JudgedRanking, Metric, Qrels, Run, parse_metric
from contextune.evaluate.stats import Interval, bootstrap, paired_test

ALL = "all"
"""The kind that means all queries."""
LEVEL = 0.95

Reference = Mapping[str, Mapping[str, float]]
"""Row → metric name → published value, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class ResultCell:
    """A row's result on one metric over n queries; p compares it with the baseline row, if there is one."""

    n: int
    interval: Interval
    p: float | None


@dataclass(frozen=True, slots=True, eq=False)
class ResultTable:
    """Results of every row and metric, over all queries and by kind, with the data they are from."""

    runs: Mapping[str, Run]
    qrels: Qrels
    metrics: tuple[Metric, ...]
    kinds: tuple[str, ...]
    """The kinds of query, without `ALL`; may be empty."""
    baseline: str | None
    reference: Reference
    cells: Mapping[tuple[str, str, str], ResultCell]
    """By row, metric name and kind."""

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of the rows, in order."""
        return tuple(self.runs)

    def cell(self, row: str, metric: str, kind: str = ALL) -> ResultCell:
        """The result of one row on one metric, over all queries or those of one kind."""
        return self.cells[row, metric, kind]


def evaluate_runs(
    rows: Mapping[str, Run],
    qrels: Qrels,
    metrics: Sequence[str],
    *,
    groups: Mapping[str, str] | None = None,
    kinds: Mapping[str, str] | None = None,
    baseline: str | None = None,
    reference: Reference | None = None,
) -> ResultTable:
    """Compute every metric of every row's run.

    `groups` labels queries that are not independent, such as those of one persona; intervals and tests
    account for it. `kinds` splits the results by kind of query. Both must cover every query of `qrels`.
    `baseline` is the row that the others are tested against. `reference` has published values; a row that
    is only in there gets a line of its own.
    """
    measures = tuple(dict.fromkeys(parse_metric(name) for name in metrics))
    _check(rows, measures, baseline, reference or {})
    queries = tuple(qrels)
    group_of = _labels("groups", groups, queries)
    parts = {ALL: list(range(len(queries))), **_by_kind(_labels("kinds", kinds, queries))}
    judged = {row: JudgedRanking.from_run(run, qrels) for row, run in rows.items()}

    cells: dict[tuple[str, str, str], ResultCell] = {}
    for measure in measures:
        scores = {row: measure(judged[row]) for row in rows}
        for kind, part in parts.items():
            labels = [group_of[number] for number in part] if group_of is not None else None
            for row in rows:
                against = scores[baseline][part] if baseline not in (None, row) else None
                cells[row, measure.name, kind] = _cell(scores[row][part], against, labels)
    return ResultTable(dict(rows), qrels, measures, tuple(parts)[1:], baseline, dict(reference or {}), cells)


def _cell(scores: Floats, against: Floats | None, groups: Sequence[str] | None) -> ResultCell:
    interval = bootstrap(scores, groups=groups, level=LEVEL)
    p = paired_test(scores, against, groups=groups) if against is not None else None
    return ResultCell(len(scores), interval, p)


def _check(
    rows: Iterable[str], measures: Sequence[Metric], baseline: str | None, reference: Reference
) -> None:
    names = list(rows)
    if not names or not measures:
        raise ValueError(f"needs at least one row and one metric, not {len(names)} and {len(measures)}")
    if baseline is not None and baseline not in names:
        raise ValueError(f"the baseline {baseline!r} is not among the rows: {', '.join(map(repr, names))}")
    measured = [measure.name for measure in measures]
    for row, name, value in _reference_values(reference):
        if name not in measured:
            raise ValueError(
                f"reference for {row!r} names {name!r}, which is not measured: {', '.join(measured)}"
            )
        if not 0 <= value <= 1:
            raise ValueError(f"reference for {row!r}, {name!r} must be between 0 and 1, not {value!r}")


def _reference_values(reference: Reference) -> Iterator[tuple[str, str, float]]:
    for row, figures in reference.items():
        for name, value in figures.items():
            yield row, name, value


def _labels(what: str, labels: Mapping[str, str] | None, queries: Sequence[str]) -> list[str] | None:
    if labels is None:
        return None
    missing = next((query for query in queries if query not in labels), None)
    if missing is not None:
        raise InvalidDataError(f"{what} has no label for query {missing!r}; label every query of qrels")
    return [labels[query] for query in queries]


def _by_kind(kind_of: Sequence[str] | None) -> dict[str, list[int]]:
    numbers: dict[str, list[int]] = {}
    for number, kind in enumerate(kind_of or ()):
        numbers.setdefault(kind, []).append(number)
    if ALL in numbers:
        raise InvalidDataError(f"{ALL!r} is not allowed as a kind of query: it means all of them; rename it")
    return numbers
