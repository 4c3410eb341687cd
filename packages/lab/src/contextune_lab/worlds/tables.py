"""Tables of what became of the requests of worlds, apart for bundled and own tools."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from contextune.evaluate.outcomes import SERVED, UNSERVED, Outcome
from contextune.evaluate.stats import Interval, bootstrap
from contextune_lab.bench.results_file import BenchTable, Cell, Row
from contextune_lab.worlds.ask import DEPTHS, STEPS, RequestResult
from contextune_lab.worlds.splits import is_reported

BUNDLED, OWN = "bundled", "own"
"""Parts of tables: worlds with the bundled toolbox, worlds with tools of their own."""
COMMAND = "contextune bench worlds --data FOLDER"
KINDS = ("order", "question", "list", "implicit", "followup", "ask", STEPS)
_MIN_WORLDS = 4
"""With fewer worlds, an interval over worlds would be too narrow; requests are resampled instead."""
_CALL_RIGHT, _RENAMED, _RIGHT = "call right", "call right, renamed", "right"
_TITLES = {
    Outcome.RIGHT: "right",
    Outcome.PROPOSED: "only proposed",
    Outcome.OFFERED: "offered",
    Outcome.ASKED_WRONGLY: "asked wrongly",
    Outcome.REFUSED: "refused",
    Outcome.WRONG: "wrong",
    Outcome.HARM: "harmful",
    Outcome.ASKED: "asked",
    Outcome.ACTED: "acted",
}
Measure = Callable[[RequestResult], float | None]
"""A figure of a request between 0 and 1; None where it is not defined."""


def _is(outcome: Outcome) -> Measure:
    return lambda result: float(result.outcome is outcome)


def _tool_among(first: int) -> Measure:
    return lambda result: float(result.tool_at is not None and result.tool_at <= first)


def _recall(depth: int) -> Measure:
    return lambda result: result.recalls.get(depth)


MEASURES: Mapping[str, Measure] = {
    **{_TITLES[outcome]: _is(outcome) for outcome in SERVED},
    _CALL_RIGHT: lambda result: float(result.call_right),
    "tool@1": _tool_among(1),
    "tool@5": _tool_among(5),
    "R@3": _recall(3),
    "R@10": _recall(10),
    "answered": lambda result: result.answered,
}
"""The columns of the tables about plans; `answered` is measured where the world gives the answer."""
RETRIEVAL: Mapping[str, Measure] = {f"R@{depth}": _recall(depth) for depth in DEPTHS}
_UNSERVED: Mapping[str, Measure] = {_TITLES[outcome]: _is(outcome) for outcome in UNSERVED}


@dataclass(frozen=True)
class WorldResults:
    """The results of the worlds of one part."""

    part: str
    results: Sequence[RequestResult]
    renamed: Sequence[RequestResult] = ()
    """The same requests with renamed tools; empty if they were not asked."""

    @property
    def worlds(self) -> list[str]:
        """The names of the worlds."""
        return list(dict.fromkeys(result.world for result in self.results))


def world_tables(parts: Iterable[WorldResults]) -> list[BenchTable]:
    """All tables, for each part that has worlds."""
    present = [part for part in parts if part.results]
    tables: list[BenchTable] = []
    for part in present:
        tables += [_overall(part), _by_kind(part), _retrieval(part)]
        if part.renamed:
            tables.append(_renamed(part))
    tables.append(
        _by_part("worlds-unserved", _UNSERVED, present, lambda result: not result.request.is_served)
    )
    tables.append(_by_part("worlds-steps", _STEPS, present, lambda result: result.request.is_sequence))
    return [*tables, *map(calibration_table, present)]


def calibration_table(part: WorldResults) -> BenchTable:
    """By tenths of the probability of the call that is shown: what it says, and the share that is right.

    Requests that nothing serves count, since a call that is shown for them is wrong. The last row has the
    expected calibration error.
    """
    shown = [
        (result, result.plan.confidence)
        for result in part.results
        if result.plan is not None and result.plan.decision != "none"
    ]
    tenths: dict[int, list[tuple[RequestResult, float]]] = {}
    for result, confidence in shown:
        tenths.setdefault(min(int(10 * confidence), 9), []).append((result, confidence))
    rows: list[Row] = []
    errors = 0.0
    for tenth, calls in sorted(tenths.items()):
        predicted = float(np.mean([confidence for _, confidence in calls]))
        right = _cells({_RIGHT: MEASURES[_CALL_RIGHT]}, [result for result, _ in calls])
        error = abs(predicted - float(np.mean([result.call_right for result, _ in calls])))
        errors += error * len(calls)
        cells = [Cell(len(calls)), Cell(100 * predicted), *right, Cell(100 * error)]
        rows.append(Row(f"{10 * tenth} to {10 * tenth + 10}", cells))
    if shown:
        predicted = float(np.mean([confidence for _, confidence in shown]))
        right = _cells({_RIGHT: MEASURES[_CALL_RIGHT]}, [result for result, _ in shown])
        cells = [Cell(len(shown)), Cell(100 * predicted), *right, Cell(100 * errors / len(shown))]
        rows.append(Row("all", cells, emphasis=True))
    columns = ["calls", "predicted", _RIGHT, "error"]
    return BenchTable(f"worlds-{part.part}-calibration", COMMAND, columns, rows, corner="probability, %")


def _sequence_right(result: RequestResult) -> float | None:
    return None if result.sequence_right is None else float(result.sequence_right)


_STEPS: Mapping[str, Measure] = {
    "first call right": lambda result: float(result.call_right),
    "all steps right": _sequence_right,
    "refused": _is(Outcome.REFUSED),
    "harmful": _is(Outcome.HARM),
}


HELD_OUT_COMMAND = f"{COMMAND} --held-out RANKERS"
_HELD_OUT = (
    *(_CALL_RIGHT, "right", "only proposed", "offered", "asked wrongly", "wrong", "harmful", "refused"),
    *("tool@1", "tool@5", "R@3"),
)
_NO_CALL: Measure = lambda result: float(result.outcome in (Outcome.REFUSED, Outcome.ASKED))  # noqa: E731
_OF_OTHERS: Mapping[str, tuple[Callable[[RequestResult], bool], Measure]] = {
    "to be asked about: asked": (lambda result: result.kind == "ask", _is(Outcome.RIGHT)),
    "steps: first call right": (lambda result: result.request.is_sequence, _STEPS["first call right"]),
    "steps: all right": (lambda result: result.request.is_sequence, _STEPS["all steps right"]),
    "nothing serves: refused or asked": (lambda result: not result.request.is_served, _NO_CALL),
    "nothing serves: harmful": (lambda result: not result.request.is_served, _is(Outcome.HARM)),
}
"""Columns about other requests than those that one call serves, or about a part of these."""


def held_out_tables(parts: Iterable[WorldResults]) -> list[BenchTable]:
    """The figures of the front page: calls by kind of catalogue, and the items of all worlds.

    Intervals resample requests: there are three worlds of each kind.
    """
    present = [part for part in parts if part.results]
    shown = {name: MEASURES[name] for name in _HELD_OUT}
    renamed = [_RENAMED] if any(part.renamed for part in present) else []
    rows: list[Row] = []
    for part in present:
        served = [result for result in part.results if result.is_one_call]
        cells = [Cell(len(served)), *_cells(shown, served)]
        for name, (is_chosen, measure) in _OF_OTHERS.items():
            cells += _cells({name: measure}, [result for result in part.results if is_chosen(result)])
        if renamed:
            others = [result for result in part.renamed if result.is_one_call]
            cells += _cells({_RENAMED: MEASURES[_CALL_RIGHT]}, others)
        rows.append(Row(f"{part.part} tools", cells))
    needing = [result for part in present for result in part.results if result.recalls]
    implicit = [result for result in needing if result.kind == "implicit"]
    items = [
        Row(name, [Cell(len(results)), *_cells(RETRIEVAL, results)], emphasis=name == "all")
        for name, results in (("all", needing), ("implicit", implicit))
        if results
    ]
    columns = ["requests", *shown, *_OF_OTHERS, *renamed]
    return [
        BenchTable("worlds-held-out", HELD_OUT_COMMAND, columns, rows),
        BenchTable("worlds-held-out-items", HELD_OUT_COMMAND, ["requests", *RETRIEVAL], items),
        *(
            replace(_renamed(part), id="worlds-held-out-renamed", command=f"{HELD_OUT_COMMAND} --renamed")
            for part in present
            if part.renamed
        ),
        *(
            replace(
                calibration_table(part),
                id=f"worlds-held-out-{part.part}-calibration",
                command=HELD_OUT_COMMAND,
            )
            for part in present
        ),
    ]


def time_table(parts: Iterable[WorldResults]) -> BenchTable:
    """Processor time of a request: items, tools and plan."""
    rows: list[Row] = []
    for part in parts:
        times = [
            1000 * result.seconds
            for previous, result in pairwise(part.results)
            if previous.world == result.world  # the first request of a world embeds its items
        ]
        if times:
            figures = (float(np.median(times)), float(np.percentile(times, 95)), float(np.mean(times)))
            rows.append(Row(f"{part.part} tools", [Cell(len(times)), *map(Cell, figures)]))
    columns = ["requests", "median", "95 %", "mean"]
    return BenchTable("worlds-time", COMMAND, columns, rows, 0, "one request, processor ms")


def _overall(part: WorldResults) -> BenchTable:
    """One row for each world, then means with intervals."""
    results = [result for result in part.results if result.is_one_call]
    renamed = [result for result in part.renamed if result.is_one_call]
    worlds: dict[str, Callable[[str], bool]] = {
        world: lambda name, world=world: name == world for world in part.worlds
    }
    means: dict[str, Callable[[str], bool]] = {
        "mean": lambda _: True,
        "mean of worlds to choose on": lambda name: not is_reported(name),
        "mean of worlds to report": is_reported,
    }
    rows: list[Row] = []
    for name, chosen in (*worlds.items(), *means.items()):
        picked = [result for result in results if chosen(result.world)]
        others = [result for result in renamed if chosen(result.world)]
        if picked:
            cells = _cells(MEASURES, picked, interval=name == "mean")
            rows.append(Row(name, [Cell(len(picked)), *cells, *_renamed_cell(part, others)], name == "mean"))
    return _table(f"worlds-{part.part}", MEASURES, rows, renamed=bool(part.renamed))


def _by_kind(part: WorldResults) -> BenchTable:
    rows: list[Row] = []
    for kind in KINDS:
        picked = [result for result in part.results if result.kind == kind]
        others = [result for result in part.renamed if result.kind == kind]
        if picked:
            cells = _cells(MEASURES, picked, interval=False)
            rows.append(Row(kind, [Cell(len(picked)), *cells, *_renamed_cell(part, others)]))
    return _table(f"worlds-{part.part}-by-kind", MEASURES, rows, renamed=bool(part.renamed))


def _retrieval(part: WorldResults) -> BenchTable:
    needing = [result for result in part.results if result.recalls and result.is_one_call]
    rows = [Row("all", [Cell(len(needing)), *_cells(RETRIEVAL, needing)], emphasis=True)] if needing else []
    for kind in KINDS:
        picked = [result for result in part.results if result.recalls and result.kind == kind]
        if picked:
            rows.append(Row(kind, [Cell(len(picked)), *_cells(RETRIEVAL, picked, interval=False)]))
    return _table(f"worlds-{part.part}-retrieval", RETRIEVAL, rows)


WRITTEN: Mapping[str, Measure] = {
    **{_TITLES[outcome]: _is(outcome) for outcome in SERVED if outcome is not Outcome.OFFERED},
    _CALL_RIGHT: MEASURES[_CALL_RIGHT],
    "right tool": _tool_among(1),
}
"""The columns of the table of written calls."""
WRITTEN_COMMAND = f"{COMMAND} --written FILE"


def written_table(
    written: Sequence[RequestResult],
    light: Sequence[RequestResult] = (),
    cascade: Sequence[RequestResult] = (),
) -> BenchTable:
    """Calls that a model wrote outside, by world, with intervals over requests.

    With `light` and `cascade`, also the light planner alone and with the model where it is in doubt, and the
    difference.
    """
    groups = {
        "model alone, measured outside": written,
        "light planner": light,
        "light planner, model outside if in doubt": cascade,
    }
    rows: list[Row] = []
    for name, results in groups.items():
        picked = [result for result in results if result.is_one_call]
        if not picked:
            continue
        worlds = list(dict.fromkeys(result.world for result in picked))
        rows.append(Row(name))
        for world in worlds:
            of_world = [result for result in picked if result.world == world]
            rows.append(Row(world, [Cell(len(of_world)), *_cells(WRITTEN, of_world)]))
        if len(worlds) > 1:
            rows.append(Row("mean", [Cell(len(picked)), *_cells(WRITTEN, picked)], emphasis=True))
    if light and cascade:
        before = [result for result in light if result.is_one_call]
        after = [result for result in cascade if result.is_one_call]
        rows.append(Row("gain of the model", [Cell(len(after)), *difference_cells(WRITTEN, before, after)]))
    return BenchTable("worlds-written", WRITTEN_COMMAND, ["requests", *WRITTEN], rows)


def _renamed(part: WorldResults) -> BenchTable:
    """What is lost when the same tools have other names, with the interval of the paired difference."""
    shown = {name: MEASURES[name] for name in ("right", "call right", "refused", "wrong", "tool@1", "tool@5")}
    results = [result for result in part.results if result.is_one_call]
    renamed = {(result.world, result.request.id): result for result in part.renamed}
    others = [renamed[result.world, result.request.id] for result in results]
    rows = [
        Row("bundled names", [Cell(len(results)), *_cells(shown, results)]),
        Row("renamed", [Cell(len(others)), *_cells(shown, others)]),
        Row("difference", [Cell(len(others)), *difference_cells(shown, results, others)], emphasis=True),
    ]
    return _table("worlds-renamed", shown, rows)


def difference_cells(
    measures: Mapping[str, Measure], before: Sequence[RequestResult], after: Sequence[RequestResult]
) -> list[Cell | None]:
    """The mean of `after` minus `before` over the same requests, with its interval."""
    cells: list[Cell | None] = []
    for measure in measures.values():
        pairs = differences(measure, before, after)
        cells.append(_mean([value for value, _ in pairs], [world for _, world in pairs]))
    return cells


def differences(
    measure: Measure, before: Sequence[RequestResult], after: Sequence[RequestResult]
) -> list[tuple[float, str]]:
    """`after` minus `before` of each request that has the figure, with its world."""
    return [
        (new - old, result.world)
        for result, other in zip(before, after, strict=True)
        if (old := measure(result)) is not None and (new := measure(other)) is not None
    ]


def interval_of(values: Sequence[float], worlds: Sequence[str]) -> Interval:
    """The mean with its bounds; whole worlds are resampled if there are enough of them to differ."""
    return bootstrap(values, groups=worlds if len(set(worlds)) >= _MIN_WORLDS else None)


def _by_part(
    name: str,
    measures: Mapping[str, Measure],
    parts: Sequence[WorldResults],
    is_chosen: Callable[[RequestResult], bool],
) -> BenchTable:
    chosen = {part.part: [result for result in part.results if is_chosen(result)] for part in parts}
    rows = [
        Row(f"{part} tools", [Cell(len(results)), *_cells(measures, results)])
        for part, results in chosen.items()
        if results
    ]
    return _table(name, measures, rows)


def _table(
    name: str, measures: Mapping[str, Measure], rows: Sequence[Row], *, renamed: bool = False
) -> BenchTable:
    more = [_RENAMED] if renamed else []
    return BenchTable(name, COMMAND, ["requests", *measures, *more], rows)


def _renamed_cell(part: WorldResults, results: Sequence[RequestResult]) -> list[Cell | None]:
    if not part.renamed:
        return []
    return _cells({_RENAMED: MEASURES[_CALL_RIGHT]}, results, interval=False)


def _cells(
    measures: Mapping[str, Measure], results: Sequence[RequestResult], *, interval: bool = True
) -> list[Cell | None]:
    cells: list[Cell | None] = []
    for measure in measures.values():
        known = [(value, result.world) for result in results if (value := measure(result)) is not None]
        cells.append(_mean([value for value, _ in known], [world for _, world in known], interval=interval))
    return cells


def _mean(values: Sequence[float], worlds: Sequence[str], *, interval: bool = True) -> Cell | None:
    """The mean in percent."""
    if not values:
        return None
    if not interval or len(values) < 2:
        return Cell(100 * float(np.mean(values)))
    bounds = interval_of(values, worlds)
    return Cell(100 * bounds.mean, 50 * (bounds.high - bounds.low))
