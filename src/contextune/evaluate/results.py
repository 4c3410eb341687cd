"""Several retrievers measured on the same queries: every number a table of results needs, computed once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from contextune.errors import InvalidDataError
from contextune.evaluate.metrics import Floats, JudgedRanking, Metric, Qrels, Run, metric
from contextune.evaluate.stats import Interval, bootstrap, paired_test

ALL = "all"
"""The kind that stands for all queries together."""
LEVEL = 0.95

Reference = Mapping[str, Mapping[str, float]]
"""Row → metric name → the figure a paper reports, as a share of 1."""


@dataclass(frozen=True, slots=True)
class ResultCell:
    """One row's result on one metric over n queries; p is against the baseline row, None without one."""

    n: int
    interval: Interval
    p: float | None


@dataclass(frozen=True, slots=True, eq=False)
class ResultTable:
    """The rows' results on every metric, over all queries and by kind, with what they were computed from."""

    runs: Mapping[str, Run]
    qrels: Qrels
    metrics: tuple[Metric, ...]
    kinds: tuple[str, ...]
    """The kinds of query; empty if none were given. `ALL` is not among them."""
    baseline: str | None
    reference: Reference
    cells: Mapping[tuple[str, str, str], ResultCell]
    """By row, metric name and kind."""

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of the rows, in the order given."""
        return tuple(self.runs)

    def cell(self, row: str, metric: str, kind: str = ALL) -> ResultCell:
        """The result of one row on one metric, over all queries unless a kind is named."""
        return self.cells[row, metric, kind]


def evaluate(
    rows: Mapping[str, Run],
    qrels: Qrels,
    metrics: Sequence[str],
    *,
    groups: Mapping[str, str] | None = None,
    kinds: Mapping[str, str] | None = None,
    baseline: str | None = None,
    reference: Reference | None = None,
) -> ResultTable:
    """Measure every row's run on every metric.

    `groups` names what makes queries alike, such as the persona, so that intervals and tests allow for it;
    `kinds` splits the results by kind of query; both must cover every query of `qrels`. `baseline` is the row
    the others are tested against. `reference` holds published figures as shares of 1; a row of it that was
    not run is shown on a line of its own.
    """
    measures = tuple(dict.fromkeys(metric(name) for name in metrics))
    _check(rows, measures, baseline, reference or {})
    queries = tuple(qrels)
    group_of = _labels("groups", groups, queries)
    parts = {ALL: list(range(len(queries))), **_by_kind(_labels("kinds", kinds, queries))}
    judged = {row: JudgedRanking.of(run, qrels) for row, run in rows.items()}

    cells: dict[tuple[str, str, str], ResultCell] = {}
    for measure in measures:
        scores = {row: measure(judged[row]) for row in rows}
        for kind, part in parts.items():
            alike = [group_of[place] for place in part] if group_of is not None else None
            for row in rows:
                against = scores[baseline][part] if baseline not in (None, row) else None
                cells[row, measure.name, kind] = _cell(scores[row][part], against, alike)
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
        raise ValueError(
            f"evaluate needs at least one row and one metric, not {len(names)} and {len(measures)}"
        )
    if baseline is not None and baseline not in names:
        raise ValueError(f"the baseline {baseline!r} is not among the rows: {', '.join(map(repr, names))}")
    known = [measure.name for measure in measures]
    for row, name, value in _figures(reference):
        if name not in known:
            raise ValueError(
                f"reference for {row!r} names {name!r}, which is not measured: {', '.join(known)}"
            )
        if not 0 <= value <= 1:
            raise ValueError(f"reference for {row!r}, {name!r} must be a share of 1, not {value!r}")


def _figures(reference: Reference) -> Iterator[tuple[str, str, float]]:
    for row, figures in reference.items():
        for name, value in figures.items():
            yield row, name, value


def _labels(what: str, labels: Mapping[str, str] | None, queries: Sequence[str]) -> list[str] | None:
    if labels is None:
        return None
    missing = next((query for query in queries if query not in labels), None)
    if missing is not None:
        raise InvalidDataError(f"{what} lacks query {missing!r}; give every query of qrels a label")
    return [labels[query] for query in queries]


def _by_kind(kind_of: Sequence[str] | None) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for place, kind in enumerate(kind_of or ()):
        places.setdefault(kind, []).append(place)
    if ALL in places:
        raise InvalidDataError(f"{ALL!r} cannot be a kind of query: it stands for all of them; rename it")
    return places
