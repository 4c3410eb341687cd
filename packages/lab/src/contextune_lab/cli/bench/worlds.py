"""`contextune bench worlds`: real exports, the requests of their owners, and what became of them."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextune.cli import output
from contextune_lab.cli.bench.options import Out
from contextune_lab.cli.bench.recording import record

if TYPE_CHECKING:
    from contextune_lab.bench.results_file import BenchTable
    from contextune_lab.worlds.ask import RequestResult
    from contextune_lab.worlds.run import WorldRun
    from contextune_lab.worlds.tables import WorldResults

Data = Annotated[Path, typer.Option(help="Folder of worlds (format: docs/worlds.md).")]


def worlds(
    data: Data,
    names: Annotated[
        list[str] | None, typer.Argument(help="Worlds to ask; all by default.", metavar="[WORLD]…")
    ] = None,
    log: Annotated[Path | None, typer.Option(help="File to write what became of each request to.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the tables as JSON.")] = False,
    without: Annotated[
        list[str] | None,
        typer.Option(
            help="Switch off rules or signals, and print the difference; may be repeated. “list” prints all "
            "names."
        ),
    ] = None,
    renamed: Annotated[bool, typer.Option(help="Also ask with the bundled tools under other names.")] = False,
    rules: Annotated[
        bool, typer.Option(help="Ask again without each rule that fires, and list those that lift nothing.")
    ] = False,
    no_places: Annotated[
        bool, typer.Option("--no-places", help="Leave out the person's places, as score.py does.")
    ] = False,
    as_of: Annotated[
        str | None,
        typer.Option(help="Moment of the import: a date with a time, or “now”; default: that of each world."),
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Folder of imported stores; default: in the user's cache.")
    ] = None,
    processes: Annotated[int, typer.Option(min=1, help="Worlds to ask at the same time.")] = 1,
    out: Out = None,
) -> None:
    """Measure retrieval, tools and calls on worlds: real exports with 200 requests each.

    Outcomes are those of score.py. Worlds that a bundled model was trained on are marked as seen.
    """
    from contextune_lab.bench.results_file import table_json
    from contextune_lab.worlds.run import WorldRun, run_worlds
    from contextune_lab.worlds.switches import PLACES, check_names, switch_names
    from contextune_lab.worlds.tables import world_tables
    from contextune_lab.worlds.world import find_worlds

    if without == ["list"]:
        output.out.print("\n".join(switch_names()), markup=False, highlight=False)
        return
    check_names(without or ())
    now = _parse_moment(as_of)
    left_out = (PLACES,) if no_places else ()
    runs = [WorldRun(folder, cache, now, left_out) for folder in find_worlds(data, names or ())]
    if rules:
        _measure_rules(runs, processes, out)
        return
    more = [replace(run, without=(*left_out, *without)) for run in runs] if without else []
    more += [replace(run, renamed=True) for run in runs if renamed and not run.has_own_tools]
    with output.progress("Worlds") as update:
        done = run_worlds([*runs, *more], processes=processes, progress=update)
    results, others = done[: len(runs)], done[len(runs) :]
    tables = world_tables(_parts(runs, results, others[len(runs) if without else 0 :]))
    if without:
        from contextune_lab.worlds.ablation import without_table

        tables.append(without_table(_flat(results), _flat(others[: len(runs)])))
    if log:
        _write_log(log, _flat(others[: len(runs)] if without else results))
    seen = _seen([run.world for run in runs])
    if as_json:
        content = {"seen": seen, "tables": {table.id: table_json(table) for table in tables}}
        print(json.dumps(content, ensure_ascii=False, indent=1))  # noqa: T201  # data, not text for a terminal
    else:
        _print_tables(tables)
        for name, models in seen.items():
            by = f"seen by {', '.join(models)}" if models else "unseen"
            output.print_line(f"{name}: {by}")
    record(out, *(table for table in tables if table.id != "worlds-without"))


def _measure_rules(runs: "Sequence[WorldRun]", processes: int, out: Path | None) -> None:
    """Print what changes without each rule, and the rules that never fire or lift nothing."""
    from contextune_lab.worlds.ablation import rule_effects, rules_table

    with output.progress("Rules") as update:
        effects = rule_effects(runs, processes=processes, progress=update)
    table = rules_table(effects)
    _print_tables([table])
    never = [effect.name for effect in effects if not effect.fired]
    useless = [effect.name for effect in effects if effect.fired and effect.lifts_nothing]
    output.print_line(f"Never fired: {', '.join(never) or 'none'}.")
    output.print_line(f"Lift nothing: {', '.join(useless) or 'none'}.")
    record(out, table)


def _parts(
    runs: "Sequence[WorldRun]",
    results: "Sequence[Sequence[RequestResult]]",
    renamed: "Sequence[Sequence[RequestResult]]",
) -> "list[WorldResults]":
    """Bundled and own tools apart; only bundled tools are renamed."""
    from contextune_lab.worlds.tables import BUNDLED, OWN, WorldResults

    own = [run.has_own_tools for run in runs]
    bundled, others = (
        _flat([done for is_own, done in zip(own, results, strict=True) if is_own == of_part])
        for of_part in (False, True)
    )
    return [WorldResults(BUNDLED, bundled, _flat(renamed)), WorldResults(OWN, others)]


def _flat(results: "Iterable[Sequence[RequestResult]]") -> "list[RequestResult]":
    return [result for done in results for result in done]


def _print_tables(tables: "Iterable[BenchTable]") -> None:
    from contextune_lab.docs.benchmark_tables import to_markdown

    for table in tables:
        output.out.rule(table.id, align="left")
        output.out.print(to_markdown(table), markup=False, highlight=False, soft_wrap=True)


def _seen(names: Sequence[str]) -> dict[str, list[str]]:
    from contextune_lab.worlds.seen import seen_worlds

    seen = seen_worlds()
    return {name: [*seen.get(name, ())] for name in names}


def _write_log(file: Path, results: "Iterable[RequestResult]") -> None:
    lines = (json.dumps(result.to_json(), ensure_ascii=False, default=str) for result in results)
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _parse_moment(text: str | None) -> datetime | None:
    from contextune.types import parse_time

    if text is None:
        return None
    moment = datetime.now() if text == "now" else parse_time(text)
    return moment if moment.tzinfo else moment.astimezone()
