"""Ask commands without any personal data, and judge the tool alone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from contextune.evaluate.stats import bootstrap
from contextune.store import open_store
from contextune.tools import bundled_toolbox
from contextune.tuner import Tuner
from contextune.types import Progress, Request, User
from contextune_lab.bench.results_file import BenchTable, Cell, Row
from contextune_lab.commands.command import EITHER, SERVED, UNSERVED, Command
from contextune_lab.worlds.catalogue import ToolCatalogue

_NOW = datetime(2024, 5, 15, 10)
_USER = "me"


@dataclass(frozen=True, slots=True)
class CommandResult:
    """Which tool was chosen for a command; None if no tool is said to serve."""

    command: Command
    first: str | None
    """The first retrieved tool."""
    chosen: str | None
    made: bool
    """Whether the call would be made without asking."""

    @property
    def right(self) -> bool:
        """Whether an acceptable tool was chosen, or no tool where that is right."""
        if self.chosen is None:
            return self.command.may_refuse
        return self.chosen in self.command.tools


def sample(commands: Sequence[Command], size: int) -> list[Command]:
    """About `size` commands, evenly over the file; the same every time."""
    if len(commands) <= size:
        return [*commands]
    return [commands[len(commands) * number // size] for number in range(size)]


def ask_commands(
    commands: Sequence[Command],
    catalogues: Sequence[ToolCatalogue] = (),
    *,
    progress: Progress | None = None,
) -> list[CommandResult]:
    """Ask commands of a user of whom nothing is stored; with several catalogues in turn."""
    results: list[CommandResult] = []
    catalogues = catalogues or (ToolCatalogue(bundled_toolbox()),)
    with open_store(None) as store:
        store.put_user(User(_USER))
        tuners = [Tuner(store, tools=catalogue.tools) for catalogue in catalogues]
        for number, command in enumerate(commands):
            chosen = number % len(catalogues)
            results.append(_ask(tuners[chosen], catalogues[chosen], command))
            if progress:
                progress(number + 1, len(commands))
    return results


def _ask(tuner: Tuner, catalogue: ToolCatalogue, command: Command) -> CommandResult:
    answer = tuner.answer(Request(command.text, _USER, _NOW, history=command.history))
    plan = answer.plan

    def name(tool: str) -> str:
        return catalogue.tool_id(tool).rpartition("/")[2]

    refused = plan is None or plan.decision == "none"
    first = name(answer.tools[0].tool.id) if answer.tools else None
    chosen = None if refused or plan is None else name(plan.tool)
    return CommandResult(command, first, chosen, plan is not None and plan.ready)


Share = Callable[[CommandResult], float]
_COLUMNS: Mapping[str, Share] = {
    "right": lambda result: float(result.right),
    "right tool first": lambda result: float(result.first in result.command.tools),
    "refused": lambda result: float(result.chosen is None),
    "made": lambda result: float(result.made),
    "made wrongly": lambda result: float(result.made and not result.right),
}


def command_table(
    name: str, results: Sequence[CommandResult], renamed: Sequence[CommandResult] = ()
) -> BenchTable:
    """Shares by whether a bundled tool serves; `renamed`: the same commands with renamed tools."""
    rows: list[Row] = []
    for part in (None, SERVED, EITHER, UNSERVED):
        chosen = [result for result in results if part is None or result.command.part == part]
        others = [result for result in renamed if part is None or result.command.part == part]
        if not chosen:
            continue
        cells = [_mean([share(result) for result in chosen]) for share in _COLUMNS.values()]
        if part == UNSERVED:
            cells[1] = None  # no tool is right
        more = [_mean([float(result.right) for result in others])] if renamed else []
        rows.append(Row(part or "all", [Cell(len(chosen)), *cells, *more], emphasis=part is None))
    columns = ["commands", *_COLUMNS, *(["right, renamed"] if renamed else [])]
    return BenchTable(name, "contextune bench commands --data FOLDER --renamed", columns, rows)


def _mean(values: Sequence[float]) -> Cell | None:
    if len(values) < 2:
        return Cell(100 * float(np.mean(values))) if values else None
    bounds = bootstrap(values)
    return Cell(100 * bounds.mean, 50 * (bounds.high - bounds.low))
