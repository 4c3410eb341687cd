"""`contextune generate`: make personas, queries and toolboxes with a language model, and check them."""

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from contextune._internal.plural import pluralize
from contextune.cli import output
from contextune.cli.groups import command_group
from contextune.errors import ContextuneError

if TYPE_CHECKING:
    from contextune.datasets import Persona
    from contextune.llm import Chat
    from contextune.types import Tool
    from contextune_lab.generate import CostMeter, GenerationRun, ValidJsonWriter

app = command_group(help="Generate personas, queries and toolboxes with a language model, and check them.")

# Copied from the library, because help and completion must not import it; tests/cli/test_options.py compares.
PAPER_PERSONAS = 791
PAPER_QUERIES = 5274
DEFAULT_PARALLEL = 4
MODEL_VARIABLE = "CONTEXTUNE_LLM_MODEL"

Parallel = Annotated[int, typer.Option("--at-once", min=1, help="How many personas to generate in parallel.")]
Toolbox = Annotated[Path | None, typer.Option(help="Toolbox in YAML; default: the bundled one.")]
_TIMEOUT, _RETRIES = 300.0, 8
"""Long answers take minutes, and rate limits call for many retries."""
_MAX_FAULTS = 20


@dataclass(frozen=True)
class WriterOptions:
    """The options of every command that asks a language model; each field is one option."""

    model: Annotated[
        str | None,
        typer.Option(envvar=MODEL_VARIABLE, help="Model on the server OPENAI_BASE_URL, or 'local'."),
    ] = None
    seed: Annotated[int, typer.Option(help="Random seed; another one gives other people.")] = 0
    tries: Annotated[int, typer.Option(min=1, help="How often to ask until an answer is valid.")] = 4
    temperature: Annotated[float, typer.Option(min=0, help="Sampling temperature.")] = 0.9
    option: Annotated[
        list[str] | None,
        typer.Option(help="Request field for the server, as name=JSON; null removes it; may be repeated."),
    ] = None
    price: Annotated[
        tuple[float, float] | None, typer.Option(help="Price of a million tokens read, and written.")
    ] = None


def with_writer_options(**defaults: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace the parameter `writer` of a command by the options of `WriterOptions`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        names = [field.name for field in fields(WriterOptions)]

        @wraps(command)
        def run(**arguments: Any) -> None:
            writer = WriterOptions(**{name: arguments.pop(name) for name in names})
            command(**arguments, writer=writer)

        own = [
            parameter for parameter in signature(command).parameters.values() if parameter.name != "writer"
        ]
        shared = [
            parameter.replace(
                kind=Parameter.KEYWORD_ONLY, default=defaults.get(parameter.name, parameter.default)
            )
            for parameter in signature(WriterOptions).parameters.values()
        ]
        vars(run)["__signature__"] = Signature([*own, *shared])
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *shared)}
        return run

    return decorate


@app.command()
@with_writer_options()
def personas(
    out: Annotated[Path, typer.Option(help="Folder for the persona files; continues what is already in it.")],
    writer: WriterOptions,
    n: Annotated[
        int, typer.Option(min=1, help="Total number of personas; the paper has 791.")
    ] = PAPER_PERSONAS,
    queries: Annotated[bool, typer.Option(help="Also generate their queries.")] = True,
    toolbox: Toolbox = None,
    at_once: Parallel = DEFAULT_PARALLEL,
) -> None:
    """Generate personas with the item counts of the paper's Table 4, and implicit queries.

    Run an interrupted command again to continue; no answer is requested twice.
    """
    from contextune_lab.generate import make_personas, make_queries

    tools = _tools(toolbox)
    seed = writer.seed
    with _open_writer(out, writer) as json_writer:
        with output.progress("Personas") as update:
            run = make_personas(json_writer, out, n, seed=seed, at_once=at_once, progress=update)
        failures = _print_failures(run)
        if queries and run.personas:
            with output.progress("Queries") as update:
                run = make_queries(
                    json_writer, out, toolbox=tools, seed=seed, at_once=at_once, progress=update
                )
            failures += _print_failures(run)
    _print_report(run.personas, tools)
    if failures:
        raise typer.Exit(1)


@app.command("queries")
@with_writer_options()
def generate_queries(
    folder: Annotated[Path, typer.Argument(help="Folder of persona files.")],
    writer: WriterOptions,
    average: Annotated[
        float, typer.Option(min=0.1, help="Average number of queries per persona, existing ones included.")
    ] = PAPER_QUERIES / PAPER_PERSONAS,
    toolbox: Toolbox = None,
    at_once: Parallel = DEFAULT_PARALLEL,
) -> None:
    """Generate implicit queries for personas with too few: items, API, arguments and CoT."""
    from contextune_lab.generate import make_queries

    tools = _tools(toolbox)
    with _open_writer(folder, writer) as json_writer, output.progress("Queries") as update:
        run = make_queries(
            json_writer,
            folder,
            toolbox=tools,
            average=average,
            seed=writer.seed,
            at_once=at_once,
            progress=update,
        )
    failures = _print_failures(run)
    _print_report(run.personas, tools)
    if failures:
        raise typer.Exit(1)


@app.command("toolbox")
@with_writer_options(temperature=0.7)
def generate_toolbox(
    out: Annotated[Path, typer.Option(help="YAML file to write; continues one that is incomplete.")],
    writer: WriterOptions,
    application: Annotated[
        list[str] | None,
        typer.Option("--app", help="Application and its number of APIs, as Photos=6; may be repeated."),
    ] = None,
) -> None:
    """Generate the APIs of applications; default: the counts of the paper's Table 5."""
    from contextune_lab.generate import make_toolbox
    from contextune_lab.generate.quotas import APIS

    counts = _parse_counts(application) if application else APIS
    with _open_writer(out.parent, writer) as json_writer, output.progress("Applications") as update:
        tools = make_toolbox(json_writer, out, counts, progress=update)
    output.out.print(f"Written to {out}: {len(tools)} APIs of {len(counts)} applications.", markup=False)


@app.command()
def check(
    files: Annotated[list[Path], typer.Argument(help="Persona files, and folders of them.")],
    toolbox: Toolbox = None,
    figures: Annotated[bool, typer.Option(help="Also print how diverse they are.")] = False,
) -> None:
    """Validate persona files, and print each fault with its line."""
    from contextune_lab.generate import check_files

    tools = _tools(toolbox)
    with output.progress("Checking") as update:
        checked = check_files(files, tools, progress=update)
    for fault in checked.faults:
        output.out.print(str(fault), markup=False, highlight=False, soft_wrap=True)
    if figures and checked.personas:
        _print_figures(checked.personas, tools)
    if checked.faults:
        faults, invalid = len(checked.faults), len({fault.file for fault in checked.faults})
        output.print_error(f"{pluralize(faults, 'fault')} in {invalid} of {pluralize(checked.files, 'file')}")
        raise typer.Exit(1)
    output.out.print(f"{pluralize(checked.files, 'persona')}, no faults.")


@contextmanager
def _open_writer(folder: Path, options: WriterOptions) -> "Generator[ValidJsonWriter]":
    """The writer that asks the model; its cost is printed at the end, also after an error."""
    from contextune_lab.generate import CostMeter, Price, ValidJsonWriter
    from contextune_lab.generate.files import ANSWERS

    answers = folder / ANSWERS
    meter, price = CostMeter(answers), Price(*options.price) if options.price else None
    try:
        yield ValidJsonWriter(
            _chat(options.model, meter, _parse_fields(options.option)),
            answers,
            tries=options.tries,
            temperature=options.temperature,
            seed=options.seed,
        )
    finally:
        output.out.print(f"This run: {meter.spent.summary(price)}.", highlight=False)
        if meter.before.answers:
            output.out.print(f"All runs: {(meter.before + meter.spent).summary(price)}.", highlight=False)


def _chat(model: str | None, meter: "CostMeter", options: Mapping[str, Any]) -> "Chat":
    from contextune.llm import LocalChat, required_chat
    from contextune.llm.from_env import LOCAL_MODEL
    from contextune_lab.generate import MeteredChat, MeteredEndpoint

    if not model:
        return required_chat()  # raises the error that says what to set
    if model == LOCAL_MODEL:
        with output.progress("Preparing the model") as update:
            return MeteredChat(LocalChat(progress=update), meter)
    return MeteredEndpoint(model, meter, timeout=_TIMEOUT, retries=_RETRIES, options=options)


def _parse_fields(options: list[str] | None) -> dict[str, Any]:
    parsed: dict[str, Any] = {}
    for option in options or []:
        name, equals, value = option.partition("=")
        try:
            parsed[name] = json.loads(value)
        except ValueError:
            equals = ""
        if not name or not equals:
            raise ContextuneError(f"--option {option!r}: write it as name=JSON, such as max_tokens=null")
    return parsed


def _parse_counts(applications: Sequence[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for application in applications:
        name, _, count = application.partition("=")
        if not name.strip() or not count.isdecimal() or int(count) < 1:
            raise ContextuneError(f"--app {application!r}: write it as Photos=6")
        counts[name.strip()] = int(count)
    return counts


def _tools(toolbox: Path | None) -> "list[Tool]":
    from contextune.tools.toolbox import bundled_toolbox, read_toolbox

    return read_toolbox(toolbox) if toolbox else bundled_toolbox()


def _print_failures(run: "GenerationRun") -> int:
    """Print what could not be generated; how many."""
    for reason in run.failed[:_MAX_FAULTS]:
        output.print_error(reason)
    if len(run.failed) > _MAX_FAULTS:
        output.print_error(f"and {len(run.failed) - _MAX_FAULTS} more")
    if run.failed:
        output.print_error("run the same command again to generate what is missing")
    return len(run.failed)


def _print_report(personas: "Sequence[Persona]", tools: "Sequence[Tool]") -> None:
    """Print the number of personas, their diversity and their faults."""
    from contextune_lab.generate import persona_faults

    if not personas:
        return
    _print_figures(personas, tools)
    by_name = {tool.name: tool for tool in tools}
    faults = [
        f"{persona.id}: {fault}"
        for persona in personas
        if persona.queries
        for fault in persona_faults(persona, by_name)
    ]
    for fault in faults[:_MAX_FAULTS]:
        output.print_error(fault)
    count = pluralize(len(faults), "fault") if faults else "no faults"
    output.out.print(f"{pluralize(len(personas), 'persona')}, {count}.", highlight=False)


def _print_figures(personas: "Sequence[Persona]", tools: "Sequence[Tool]") -> None:
    from contextune_lab.generate import diversity
    from contextune_lab.generate.quotas import ITEMS

    figures = diversity(personas, tools)
    items = Table("items per persona", *ITEMS, title_justify="left", header_style="dim")
    items.add_row("here", *(f"{figures.items[app]:.2f}" for app in ITEMS))
    items.add_row("paper", *(f"{count:.2f}" for count in ITEMS.values()))
    output.out.print(items)
    rows = {
        "personas": f"{figures.personas:,}",
        "queries": f"{figures.queries:,}",
        "words shared by a query and its items": f"{figures.overlap:.1%}",
        "the same, without common words": f"{figures.telling:.1%}",
        "queries that give an item away": f"{figures.leaking:.1%}",
        "queries that nearly repeat another": f"{figures.alike:.1%}",
        "different names and professions": f"{figures.people:.1%}",
        "evenness over kinds (1 is even)": f"{figures.kinds_even:.3f}",
        "evenness over APIs (1 is even)": f"{figures.apis_even:.3f}",
        "APIs without a query": f"{len(figures.apis_unused)} of {len(tools)}",
    }
    table = Table(show_header=False)
    for label, value in rows.items():
        table.add_row(label, value)
    output.out.print(table)
