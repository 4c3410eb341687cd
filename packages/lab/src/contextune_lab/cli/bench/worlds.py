"""`contextune bench worlds`: real exports, the requests of their owners, and what became of them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
        bool,
        typer.Option(
            help="Ask again without each rule that fires, or without each name of --without, and list those "
            "that lift nothing."
        ),
    ] = False,
    held_out: Annotated[
        Path | None,
        typer.Option(
            help="Folder with rankers that leave out each world, as contextune_lab.train.reading.rankers "
            "writes them."
        ),
    ] = None,
    no_places: Annotated[
        bool, typer.Option("--no-places", help="Leave out the person's places, as score.py does.")
    ] = False,
    as_of: Annotated[
        str | None,
        typer.Option(
            help="Moment of the import: a date with a time where the person is, or “now”; default: that of "
            "each world."
        ),
    ] = None,
    prompts: Annotated[
        Path | None,
        typer.Option(help="Write the prompt that a language model reads for each request, as JSON lines."),
    ] = None,
    written: Annotated[
        list[Path] | None,
        typer.Option(help="Measure calls that a language model wrote for the prompts; may be repeated."),
    ] = None,
    cascade: Annotated[
        bool,
        typer.Option(
            "--cascade",
            help="With --written: also ask the light planner, alone and with the model if in doubt.",
        ),
    ] = False,
    trust: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="With --cascade: share of the model's calls that are right."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="With --cascade: probability below which a light plan is in doubt."),
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
    from contextune.errors import InvalidDataError
    from contextune_lab.bench.results_file import table_json
    from contextune_lab.worlds.run import WorldRun, run_worlds
    from contextune_lab.worlds.switches import PLACES, check_names, switch_names
    from contextune_lab.worlds.tables import held_out_tables, time_table, world_tables
    from contextune_lab.worlds.world import find_worlds

    if without == ["list"]:
        output.out.print("\n".join(switch_names()), markup=False, highlight=False)
        return
    check_names(without or ())
    now = _parse_moment(as_of)
    left_out = (PLACES,) if no_places else ()
    runs = [
        WorldRun(folder, cache, now, left_out, rankers=held_out)
        for folder in find_worlds(data, names or ())
        if held_out is None or names or (held_out / folder.name).is_dir()
    ]
    if not runs:
        raise InvalidDataError(f"{held_out}: no rankers that leave out a world of {data}")
    if rules:
        _measure_rules(runs, without, processes, out, held_out)
        return
    if prompts:
        _export_prompts(runs, prompts)
        return
    if written:
        _measure_written(runs, written, out, cascade=cascade, trust=trust, threshold=threshold)
        return
    more = [replace(run, without=(*left_out, *without)) for run in runs] if without else []
    more += [replace(run, renamed=True) for run in runs if renamed and not run.has_own_tools]
    with output.progress("Worlds") as update:
        done = run_worlds([*runs, *more], processes=processes, progress=update)
    results, others = done[: len(runs)], done[len(runs) :]
    parts = _parts(runs, results, others[len(runs) if without else 0 :])
    tables, times = held_out_tables(parts) if held_out else world_tables(parts), time_table(parts)
    if without:
        from contextune_lab.worlds.ablation import without_table

        tables.append(without_table(_flat(results), _flat(others[: len(runs)])))
    if log:
        _write_log(log, _flat(others[: len(runs)] if without else results))
    seen = _seen([run.world for run in runs], held_out)
    if as_json:
        content = {"seen": seen, "tables": {table.id: table_json(table) for table in tables}}
        print(json.dumps(content, ensure_ascii=False, indent=1))  # noqa: T201  # data, not text for a terminal
    else:
        _print_tables([*tables, times])
        output.print_line("; ".join(_seen_lines(seen)))
    record(out, *_with_seen([table for table in tables if table.id != "worlds-without"], seen))
    record(out, times, part="speed")


def _export_prompts(runs: "Sequence[WorldRun]", file: Path) -> None:
    """Write the prompts of all requests."""
    from contextune_lab.worlds.run import opened
    from contextune_lab.worlds.written import export_prompts

    rows: list[dict[str, Any]] = []
    with output.progress("Prompts") as update:
        for number, run in enumerate(runs, 1):
            with opened(run) as loaded:
                rows += export_prompts(loaded)
            update(number, len(runs))
    text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    file.write_text(text, encoding="utf-8")
    tokens = sorted(int(row["tokens"]) for row in rows)
    doubts = sum(bool(row["in_doubt"]) for row in rows)
    output.print_line(
        f"{len(rows)} prompts, {tokens[len(tokens) // 2]} tokens in the median, at most {tokens[-1]}; the "
        f"light plan is in doubt for {doubts}. Answer them with one JSON line each: the prompt's id, and the "
        "model's text as answer. Pass that file as --written."
    )


def _measure_written(
    runs: "Sequence[WorldRun]",
    files: "Sequence[Path]",
    out: Path | None,
    *,
    cascade: bool,
    trust: float | None,
    threshold: float | None,
) -> None:
    """Judge written calls, and, if wanted, the light planner without and with them."""
    from contextune.errors import InvalidDataError
    from contextune.evaluate.outcomes import Judge
    from contextune_lab.worlds.ask import ask_world
    from contextune_lab.worlds.run import opened
    from contextune_lab.worlds.tables import written_table
    from contextune_lab.worlds.world import read_world
    from contextune_lab.worlds.written import ask_with_written, judge_written, read_written_calls

    calls = read_written_calls(files)
    alone: list[RequestResult] = []
    light: list[RequestResult] = []
    revised: list[RequestResult] = []
    asked = used = 0
    held_out = next((run.rankers for run in runs), None)
    answered: list[str] = []
    for run in runs:
        world = read_world(run.folder)
        if not any(request.id in calls for request in world.requests):
            continue
        answered.append(world.name)
        with opened(run) as loaded:
            schemas = {tool.id: tool.parameters for tool in world.tools}
            alone += judge_written(world, Judge.of_contacts(schemas, loaded.user.contacts), calls)
            if cascade:
                light += ask_world(loaded)
                results, planner = ask_with_written(loaded, calls, trust=trust, threshold=threshold)
                revised += results
                asked, used = asked + len(planner.asked), used + len(planner.used)
    if not alone:
        raise InvalidDataError(f"{files[0]}: no answer to a request of these worlds: check the ids")
    table = written_table(alone, light, revised)
    _print_tables([table])
    if cascade:
        output.print_line(
            f"The model was needed for {asked} of {len(revised)} requests; {used} of its answers were valid "
            "calls of the tools that are offered today."
        )
    seen = _seen(answered, held_out)
    output.print_line("; ".join(_seen_lines(seen)))
    record(out, *_with_seen([table], seen))


def _measure_rules(
    runs: "Sequence[WorldRun]",
    names: Sequence[str] | None,
    processes: int,
    out: Path | None,
    held_out: Path | None,
) -> None:
    """Print what changes without each rule, and the rules that never fire or lift nothing."""
    from contextune_lab.worlds.ablation import rule_effects, rules_table

    with output.progress("Rules") as update:
        effects = rule_effects(runs, names or None, processes=processes, progress=update)
    table = rules_table(effects)
    _print_tables([table])
    fired = [effect for effect in effects if effect.fired]
    lists = {
        "Never fired": [effect.name for effect in effects if not effect.fired],
        "Lift nothing in worlds that they were not written from": [
            effect.name for effect in fired if effect.is_judged and effect.lifts_nothing
        ],
        "Not judged, as they were written from all of these worlds": [
            effect.name for effect in fired if not effect.is_judged
        ],
    }
    for title, listed in lists.items():
        output.print_line(f"{title}: {', '.join(listed) or 'none'}.")
    seen = _seen([run.world for run in runs], held_out, [effect.name for effect in effects])
    output.print_line("; ".join(_seen_lines(seen)))
    record(out, *_with_seen([table], seen))


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


def _seen(
    names: Sequence[str], held_out: Path | None = None, rules: Sequence[str] | None = None
) -> dict[str, list[str]]:
    """The models and rules that have seen each world; rankers that are replaced have not."""
    from contextune_lab.worlds.held_out import CALLS, RANKERS, TOOLS
    from contextune_lab.worlds.seen import seen_worlds
    from contextune_lab.worlds.switches import RULES, written_from

    models, replaced = seen_worlds(), {CALLS, RANKERS, TOOLS} if held_out else set[str]()
    chosen = RULES if rules is None else rules
    return {
        name: [
            *(model for model in models.get(name, ()) if model not in replaced),
            *(f"rule {rule}" for rule in chosen if name in written_from(rule)),
        ]
        for name in names
    }


def _seen_lines(seen: Mapping[str, Sequence[str]]) -> list[str]:
    """Which models and rules have seen which worlds, in words."""
    by_models: dict[tuple[str, ...], list[str]] = {}
    for name, models in seen.items():
        by_models.setdefault(tuple(models), []).append(name)
    return [
        f"{', '.join(names)}: " + (f"seen by {', '.join(models)}" if models else "unseen")
        for models, names in by_models.items()
    ]


def _with_seen(tables: "Sequence[BenchTable]", seen: Mapping[str, Sequence[str]]) -> "list[BenchTable]":
    """The tables with what they were measured with, and which models have seen the worlds."""
    from contextune_lab.bench.environment import measured_with

    made_with = "; ".join([measured_with(), *_seen_lines(seen)])
    return [replace(table, made_with=made_with) for table in tables]


def _write_log(file: Path, results: "Iterable[RequestResult]") -> None:
    lines = (json.dumps(result.to_json(), ensure_ascii=False, default=str) for result in results)
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _parse_moment(text: str | None) -> datetime | None:
    from contextune.types import parse_time

    if text is None:
        return None
    return datetime.now().astimezone() if text == "now" else parse_time(text)
