"""Commands that make data with a language model, and that check it."""

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from contextune._internal.plural import pluralize
from contextune.cli import output
from contextune.datasets import Persona
from contextune.errors import ContextuneError
from contextune.lab.generate import (
    CostMeter,
    GenerationRun,
    MeteredChat,
    MeteredEndpoint,
    Price,
    ValidJsonWriter,
    check_files,
    diversity,
    make_personas,
    make_queries,
    make_toolbox,
    persona_faults,
)
from contextune.lab.generate.files import ANSWERS
from contextune.lab.generate.quotas import APIS, ITEMS, PERSONAS, QUERIES
from contextune.lab.generate.run import AT_ONCE
from contextune.llm import Chat, LocalChat, required_chat
from contextune.llm.from_env import LOCAL, MODEL
from contextune.tools.toolbox import bundled_toolbox, read_toolbox
from contextune.types import Tool

app = typer.Typer(
    help="Make personas, queries and toolboxes with a language model, and check them.", no_args_is_help=True
)

Model = Annotated[
    str | None, typer.Option(envvar=MODEL, help="A model on the server of OPENAI_BASE_URL, or 'local'.")
]
Seed = Annotated[int, typer.Option(help="Another seed makes other people.")]
AtOnce = Annotated[int, typer.Option(min=1, help="How many personas are worked on at once.")]
Tries = Annotated[int, typer.Option(min=1, help="How often an answer is asked for until it is right.")]
Temperature = Annotated[float, typer.Option(min=0, help="How freely the model writes.")]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option", help="A field for the server, as name=JSON; null leaves one out. May be repeated."
    ),
]
Prices = Annotated[
    tuple[float, float] | None, typer.Option(help="Of a million tokens read, and of a million written.")
]
Toolbox = Annotated[Path | None, typer.Option(help="A toolbox in YAML; default: the bundled one.")]
_TIMEOUT, _RETRIES = 300.0, 8
"""Long answers take their time, and a server that limits its rate wants to be waited for."""
_SHOWN = 20


@app.command()
def personas(
    out: Annotated[
        Path, typer.Option(help="Folder for the persona files; one that holds some is gone on with.")
    ],
    n: Annotated[int, typer.Option(min=1, help="How many in all; the paper has 791.")] = PERSONAS,
    queries: Annotated[bool, typer.Option(help="Also what they ask.")] = True,
    toolbox: Toolbox = None,
    model: Model = None,
    seed: Seed = 0,
    at_once: AtOnce = AT_ONCE,
    tries: Tries = 4,
    temperature: Temperature = 0.9,
    option: Options = None,
    price: Prices = None,
) -> None:
    """Make personas: so many items of each application as in the paper's Table 4, and implicit queries.

    A run that is broken off goes on when the command is given again; nothing is asked twice.
    """
    tools = _tools(toolbox)
    with _scribe(out, model, option, price, tries=tries, temperature=temperature, seed=seed) as scribe:
        with output.progress("Personas") as update:
            made = make_personas(scribe, out, n, seed=seed, at_once=at_once, progress=update)
        lacking = _failures(made)
        if queries and made.personas:
            with output.progress("Queries") as update:
                made = make_queries(scribe, out, toolbox=tools, seed=seed, at_once=at_once, progress=update)
            lacking += _failures(made)
    _report(made.personas, tools)
    if lacking:
        raise typer.Exit(1)


@app.command("queries")
def queries_of(
    folder: Annotated[Path, typer.Argument(help="Folder of persona files.")],
    average: Annotated[
        float, typer.Option(min=0.1, help="Queries a persona has on average, with those that are there.")
    ] = QUERIES / PERSONAS,
    toolbox: Toolbox = None,
    model: Model = None,
    seed: Seed = 0,
    at_once: AtOnce = AT_ONCE,
    tries: Tries = 4,
    temperature: Temperature = 0.9,
    option: Options = None,
    price: Prices = None,
) -> None:
    """Make implicit queries for personas that have too few: each with items, API, arguments and CoT."""
    tools = _tools(toolbox)
    with (
        _scribe(folder, model, option, price, tries=tries, temperature=temperature, seed=seed) as scribe,
        output.progress("Queries") as update,
    ):
        made = make_queries(
            scribe, folder, toolbox=tools, average=average, seed=seed, at_once=at_once, progress=update
        )
    lacking = _failures(made)
    _report(made.personas, tools)
    if lacking:
        raise typer.Exit(1)


@app.command("toolbox")
def toolbox_of(
    out: Annotated[Path, typer.Option(help="The YAML file to write; one that was begun is gone on with.")],
    application: Annotated[
        list[str] | None,
        typer.Option("--app", help="An application and how many APIs, as Photos=6. May be repeated."),
    ] = None,
    model: Model = None,
    seed: Seed = 0,
    tries: Tries = 4,
    temperature: Temperature = 0.7,
    option: Options = None,
    price: Prices = None,
) -> None:
    """Make a toolbox: the APIs of some applications, by default as many of each as in the paper's Table 5."""
    counts = _counts(application) if application else APIS
    with (
        _scribe(out.parent, model, option, price, tries=tries, temperature=temperature, seed=seed) as scribe,
        output.progress("Applications") as update,
    ):
        tools = make_toolbox(scribe, out, counts, progress=update)
    output.out.print(f"Written to {out}: {len(tools)} APIs of {len(counts)} applications.", markup=False)


@app.command()
def check(
    files: Annotated[list[Path], typer.Argument(help="Persona files, and folders of them.")],
    toolbox: Toolbox = None,
    figures: Annotated[bool, typer.Option(help="Also how varied they are.")] = False,
) -> None:
    """Hold persona files against every rule of their format; tell each fault with its line."""
    tools = _tools(toolbox)
    with output.progress("Checking") as update:
        found = check_files(files, tools, progress=update)
    for fault in found.faults:
        output.out.print(str(fault), markup=False, highlight=False, soft_wrap=True)
    if figures and found.personas:
        _figures(found.personas, tools)
    if found.faults:
        bad = len({fault.file for fault in found.faults})
        output.error(f"{pluralize(len(found.faults), 'fault')} in {bad} of {pluralize(found.files, 'file')}")
        raise typer.Exit(1)
    output.out.print(f"{pluralize(found.files, 'persona')}, no faults.")


@contextmanager
def _scribe(
    folder: Path, model: str | None, option: list[str] | None, price: tuple[float, float] | None, **how: Any
) -> Generator[ValidJsonWriter]:
    """What asks the model; what that took is told at the end, however it ends."""
    answers = folder / ANSWERS
    meter, cost = CostMeter(answers), Price(*price) if price else None
    try:
        yield ValidJsonWriter(_chat(model, meter, _fields(option)), answers, **how)
    finally:
        output.out.print(f"This run: {meter.spent.told(cost)}.", highlight=False)
        if meter.before.answers:
            output.out.print(f"All runs: {(meter.before + meter.spent).told(cost)}.", highlight=False)


def _chat(model: str | None, meter: CostMeter, options: Mapping[str, Any]) -> Chat:
    if not model:
        return required_chat()  # says what to set
    if model == LOCAL:
        with output.progress("Preparing the model") as update:
            return MeteredChat(LocalChat(progress=update), meter)
    return MeteredEndpoint(model, meter, timeout=_TIMEOUT, retries=_RETRIES, options=options)


def _fields(option: list[str] | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in option or []:
        name, equals, value = one.partition("=")
        try:
            found[name] = json.loads(value)
        except ValueError:
            equals = ""
        if not name or not equals:
            raise ContextuneError(f"--option {one!r}: write it as name=JSON, such as max_tokens=null")
    return found


def _counts(applications: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in applications:
        name, _, count = one.partition("=")
        if not name.strip() or not count.isdecimal() or int(count) < 1:
            raise ContextuneError(f"--app {one!r}: write it as Photos=6")
        found[name.strip()] = int(count)
    return found


def _tools(toolbox: Path | None) -> list[Tool]:
    return read_toolbox(toolbox) if toolbox else bundled_toolbox()


def _failures(made: GenerationRun) -> int:
    """Tell what came to nothing; how much that is."""
    for why in made.failed[:_SHOWN]:
        output.error(why)
    if len(made.failed) > _SHOWN:
        output.error(f"and {len(made.failed) - _SHOWN} more")
    if made.failed:
        output.error("run the same command again to go on with what is missing")
    return len(made.failed)


def _report(people: Sequence[Persona], tools: Sequence[Tool]) -> None:
    """How many there are, how varied, and whether they keep to the format."""
    if not people:
        return
    _figures(people, tools)
    known = {tool.name: tool for tool in tools}
    faults = [f"{one.id}: {fault}" for one in people if one.queries for fault in persona_faults(one, known)]
    for fault in faults[:_SHOWN]:
        output.error(fault)
    wrong = pluralize(len(faults), "fault") if faults else "no faults"
    output.out.print(f"{pluralize(len(people), 'persona')}, {wrong}.", highlight=False)


def _figures(people: Sequence[Persona], tools: Sequence[Tool]) -> None:
    found = diversity(people, tools)
    items = Table("items a persona", *ITEMS, title_justify="left", header_style="dim")
    items.add_row("here", *(f"{found.items[app]:.2f}" for app in ITEMS))
    items.add_row("paper", *(f"{wanted:.2f}" for wanted in ITEMS.values()))
    output.out.print(items)
    rows = {
        "personas": f"{found.personas:,}",
        "queries": f"{found.queries:,}",
        "words of a query that its items have": f"{found.overlap:.1%}",
        "the same, of words that are not common": f"{found.telling:.1%}",
        "queries that give an item away": f"{found.leaking:.1%}",
        "queries that nearly repeat another": f"{found.alike:.1%}",
        "different names and professions": f"{found.people:.1%}",
        "spread over kinds, 1 is even": f"{found.kinds_even:.3f}",
        "spread over APIs, 1 is even": f"{found.apis_even:.3f}",
        "APIs no query is for": f"{len(found.apis_unused)} of {len(tools)}",
    }
    table = Table(show_header=False)
    for label, value in rows.items():
        table.add_row(label, value)
    output.out.print(table)
