"""`contextune bench worlds`: real exports, the requests of their owners, and what became of them."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextune.cli import output
from contextune.cli.lab.bench.options import Out
from contextune.cli.lab.bench.recording import record

if TYPE_CHECKING:
    from contextune.lab.bench.results_file import BenchTable
    from contextune.lab.worlds.ask import RequestResult
    from contextune.lab.worlds.run import WorldRun

Data = Annotated[Path, typer.Option(help="Folder of worlds (format: docs/worlds.md).")]


def worlds(
    data: Data,
    names: Annotated[
        list[str] | None, typer.Argument(help="Worlds to ask; all by default.", metavar="[WORLD]…")
    ] = None,
    log: Annotated[Path | None, typer.Option(help="File to write what became of each request to.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the tables as JSON.")] = False,
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
    from contextune.lab.worlds.run import WorldRun, run_worlds
    from contextune.lab.worlds.world import find_worlds

    now = _parse_moment(as_of)
    runs = [WorldRun(folder, cache, now) for folder in find_worlds(data, names or ())]
    with output.progress("Worlds") as update:
        results = run_worlds(runs, processes=processes, progress=update)
    if log:
        _write_log(log, (result for done in results for result in done))
    _report(runs, results, out, as_json=as_json)


def _report(
    runs: "Sequence[WorldRun]",
    results: "Sequence[Sequence[RequestResult]]",
    out: Path | None,
    *,
    as_json: bool,
) -> None:
    from contextune.lab.bench.results_file import table_json
    from contextune.lab.worlds.tables import BUNDLED, OWN, WorldResults, world_tables

    own = [(run.folder / "tools.json").exists() for run in runs]
    parts = [
        WorldResults(
            part,
            [
                result
                for is_own, done in zip(own, results, strict=True)
                if is_own == of_part
                for result in done
            ],
        )
        for part, of_part in ((BUNDLED, False), (OWN, True))
    ]
    tables = world_tables(parts)
    if as_json:
        content = {
            "seen": _seen([run.folder.name for run in runs]),
            "tables": {t.id: table_json(t) for t in tables},
        }
        print(json.dumps(content, ensure_ascii=False, indent=1))  # noqa: T201  # data, not text for a terminal
    else:
        _print_tables(tables)
        _print_seen([run.folder.name for run in runs])
    record(out, *tables)


def _print_tables(tables: "Iterable[BenchTable]") -> None:
    from contextune.lab.docs.benchmark_tables import to_markdown

    for table in tables:
        output.out.rule(table.id, align="left")
        output.out.print(to_markdown(table), markup=False, highlight=False, soft_wrap=True)


def _seen(names: Sequence[str]) -> dict[str, list[str]]:
    from contextune.lab.worlds.seen import seen_worlds

    seen = seen_worlds()
    return {name: [*seen.get(name, ())] for name in names}


def _print_seen(names: Sequence[str]) -> None:
    for name, models in _seen(names).items():
        by = f"seen by {', '.join(models)}" if models else "unseen"
        output.print_line(f"{name}: {by}")


def _write_log(file: Path, results: "Iterable[RequestResult]") -> None:
    lines = (json.dumps(result.to_json(), ensure_ascii=False, default=str) for result in results)
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _parse_moment(text: str | None) -> datetime | None:
    from contextune.types import parse_time

    if text is None:
        return None
    moment = datetime.now() if text == "now" else parse_time(text)
    return moment if moment.tzinfo else moment.astimezone()
