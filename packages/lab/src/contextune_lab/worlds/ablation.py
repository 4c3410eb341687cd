"""What each rule is worth: the requests at which it fires, asked again without it."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from contextune.evaluate.outcomes import Outcome
from contextune.types import Progress
from contextune_lab.bench.results_file import BenchTable, Cell, Row
from contextune_lab.worlds.ask import RequestResult
from contextune_lab.worlds.run import WorldRun, run_worlds
from contextune_lab.worlds.switches import RULES, check_names, is_everywhere, written_from
from contextune_lab.worlds.tables import COMMAND, Measure, difference_cells, differences, interval_of

_WORSE_IF_HIGHER = ("wrong or harmful",)
_MADE_WRONGLY = (Outcome.WRONG, Outcome.HARM, Outcome.ACTED)


def _is_good(result: RequestResult) -> float:
    """Served: the right call is made. Unserved: nothing is called."""
    good = Outcome.RIGHT if result.request.is_served else Outcome.REFUSED
    return float(result.outcome is good)


MEASURES: Mapping[str, Measure] = {
    "right": _is_good,
    "call right": lambda result: float(result.call_right) if result.request.is_served else None,
    "wrong or harmful": lambda result: float(result.outcome in _MADE_WRONGLY),
    "all steps right": lambda result: None if result.sequence_right is None else float(result.sequence_right),
    "R@3": lambda result: result.recalls.get(3),
}
"""The columns of tables about rules; requests that nothing serves count as well."""


@dataclass(frozen=True)
class RuleEffect:
    """The results of all requests without a rule, beside those with it."""

    name: str
    fired: int
    """Requests at which the rule fired."""
    before: Sequence[RequestResult]
    after: Sequence[RequestResult]

    def difference(self, measure: Measure) -> float:
        """The sum over all requests of the figure without the rule, minus that with it."""
        return sum(
            (measure(after) or 0.0) - (measure(before) or 0.0)
            for before, after in zip(self.before, self.after, strict=True)
        )

    @property
    def is_judged(self) -> bool:
        """Whether a world was asked that the rule was not written from."""
        return bool(self._lifts)

    @property
    def lifts_nothing(self) -> bool:
        """Whether the rule makes no figure better, beyond chance, in worlds that it was not written from.

        The 95 % interval of the mean lift is above 0 for no measure: calls, steps, retrieval, calls made
        wrongly.
        """
        return not any(
            interval_of([lift for lift, _ in lifts], [world for _, world in lifts]).low > 0
            for lifts in self._lifts.values()
            if len(lifts) > 1
        )

    @property
    def lifted_worlds(self) -> list[str]:
        """The worlds that the rule was not written from in which it makes some figure better."""
        totals: defaultdict[tuple[str, str], float] = defaultdict(float)
        for name, lifts in self._lifts.items():
            for lift, world in lifts:
                totals[name, world] += lift
        return sorted({world for (_, world), total in totals.items() if total > 0})

    @cached_property
    def _lifts(self) -> Mapping[str, list[tuple[float, str]]]:
        """By measure, how much better each request of an unseen world is with the rule, and its world."""
        lifts: dict[str, list[tuple[float, str]]] = {}
        for name, measure in MEASURES.items():
            worse = 1 if name in _WORSE_IF_HIGHER else -1
            changes = differences(measure, self.before, self.after)
            own = [(worse * change, world) for change, world in changes if world not in self.written_from]
            if own:
                lifts[name] = own
        return lifts

    @property
    def written_from(self) -> tuple[str, ...]:
        """The worlds that the rule was written from."""
        return written_from(self.name)


def rule_effects(
    runs: Sequence[WorldRun],
    names: Iterable[str] | None = None,
    *,
    processes: int = 1,
    progress: Progress | None = None,
) -> list[RuleEffect]:
    """The effect of each rule or family of signals; by default of all rules.

    A rule that does not fire at a request cannot change its answer, so only the others are asked again.
    Families of signals change every request.
    """
    chosen = [*(names if names is not None else RULES)]
    check_names(chosen)
    before = run_worlds([replace(run, records=True) for run in runs], processes=processes, progress=progress)
    effects: list[RuleEffect] = []
    for name in chosen:
        affected = [
            frozenset(r.request.id for r in results if is_everywhere(name) or name in r.fired)
            for results in before
        ]
        again = [
            replace(run, without=(*run.without, name), only=ids)
            for run, ids in zip(runs, affected, strict=True)
            if ids
        ]
        changed = {
            (result.world, result.request.id): result
            for results in (run_worlds(again, processes=processes) if again else [])
            for result in results
        }
        every = [result for results in before for result in results]
        after = [changed.get((result.world, result.request.id), result) for result in every]
        effects.append(RuleEffect(name, sum(map(len, affected)), every, after))
        if progress:
            progress(len(effects), len(chosen))
    return effects


def without_table(before: Sequence[RequestResult], after: Sequence[RequestResult]) -> BenchTable:
    """The difference that switched-off names make, by kind of request, with intervals."""
    kinds: Mapping[str, Callable[[RequestResult], bool]] = {
        "all": lambda _: True,
        **{
            kind: lambda result, kind=kind: result.kind == kind
            for kind in dict.fromkeys(result.kind for result in before)
        },
    }
    rows: list[Row] = []
    for kind, is_chosen in kinds.items():
        pairs = [(old, new) for old, new in zip(before, after, strict=True) if is_chosen(old)]
        cells = difference_cells(MEASURES, [old for old, _ in pairs], [new for _, new in pairs])
        rows.append(Row(kind, [Cell(len(pairs)), *cells], emphasis=kind == "all"))
    return BenchTable("worlds-without", f"{COMMAND} --without NAME", ["requests", *MEASURES], rows, digits=2)


def rules_table(effects: Sequence[RuleEffect]) -> BenchTable:
    """One row for each rule: where it fired, the worlds that it lifts, and what changes without it."""
    rows: list[Row] = []
    for effect in sorted(effects, key=lambda effect: (effect.difference(MEASURES["right"]), effect.name)):
        counts = [Cell(effect.fired), Cell(len(effect.lifted_worlds))]
        rows.append(Row(effect.name, [*counts, *difference_cells(MEASURES, effect.before, effect.after)]))
    columns = ["fired", "worlds lifted", *MEASURES]
    return BenchTable("worlds-rules", f"{COMMAND} --rules", columns, rows, 2, "without")
