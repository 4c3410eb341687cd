"""Commands that answer requests."""

import tempfile
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from contextune._internal.assets import asset
from contextune.cli import output
from contextune.context import DEFAULT, METHODS
from contextune.datasets import load_persona, read_persona
from contextune.lab.bench.quality.persona_answers import answer_files
from contextune.llm import required_chat
from contextune.plan import ExpectedCall, LanguagePlanner, judge
from contextune.plan.values import ContactLookup
from contextune.store import SQLiteStore
from contextune.tools import bundled_toolbox
from contextune.tuner import Tuner
from contextune.types import Request, parse_place, parse_time

Method = Annotated[str, typer.Option(help=f"How to rank: {', '.join(METHODS)}.")]

_DEMO = (("a08", "q6"), ("b05", "q4"), ("a11", "q3"), ("b06", "q4"), ("a01", "q6"))
"""Requests that leave out what they are about; words alone do not find the last one."""


def add_to(app: typer.Typer) -> None:
    """Hang this module's commands on the program."""
    for command in (search, ask, answer, demo):
        app.command()(command)


Text = Annotated[str, typer.Argument(help="What the user says.")]
User = Annotated[str | None, typer.Option(help="Whose data to search; default: the only user's.")]
Time = Annotated[str | None, typer.Option(help="When it is said, as 2024-05-16T17:40; default: now.")]
Place = Annotated[str | None, typer.Option(help="Where: a place of the user's, or LATITUDE,LONGITUDE.")]


def search(
    text: Text,
    user: User = None,
    time: Time = None,
    place: Place = None,
    method: Method = DEFAULT,
    k: Annotated[int, typer.Option("-k", help="How many items to output.")] = 10,
    store: output.StorePath = None,
) -> None:
    """Print the items that a request hangs on, best first."""
    with output.open_store(store) as opened, output.progress("Embedding") as update:
        request = _request(text, output.whose(opened, user), time, place)
        found = Tuner(opened, method=method, progress=update).context(request, k)
    output.hits(found, title=f"“{text}”")


def ask(
    text: Text,
    user: User = None,
    time: Time = None,
    place: Place = None,
    k: Annotated[int, typer.Option("-k", help="How many items to look at.")] = 8,
    llm: Annotated[
        bool, typer.Option("--llm", help="Let the language model that is configured write the call.")
    ] = False,
    store: output.StorePath = None,
) -> None:
    """Print the items a request hangs on, the tools that can serve it, the call to make, and why.

    A request for several things gets a step for each. The tools are those of the bundled toolbox.
    Nothing is called.
    """
    with output.open_store(store) as opened, output.progress("Embedding") as update:
        request = _request(text, output.whose(opened, user), time, place)
        planner = LanguagePlanner(required_chat(task="plans", progress=update)) if llm else None
        tuner = Tuner(opened, tools=bundled_toolbox(), planner=planner, progress=update)
        reply = tuner.answer(request, k)
        steps = tuner.steps(request, k, answer=reply)
        several = steps is not None and len(steps) > 1
        items = opened.items(request.user) if several else [hit.item for hit in reply.context]
    output.hits(reply.context, title=f"“{text}”")
    output.tools(reply.tools)
    if steps and len(steps) > 1:
        output.steps(steps, items)
    else:
        output.plan(reply.plan, items)


def _request(text: str, user: str, time: str | None, place: str | None) -> Request:
    return Request(
        text,
        user=user,
        time=parse_time(time) if time else datetime.now().astimezone(),
        place=parse_place(place) if place else None,
    )


def answer(
    folder: Annotated[Path, typer.Argument(help="Folder of persona files (*.json).")],
    out: Annotated[Path, typer.Option(help="Folder to write <persona id>.json to.")],
    method: Method = DEFAULT,
) -> None:
    """Answer every query of every persona, reading nothing that the queries are judged by."""
    with output.progress("Answering") as update:
        refused = answer_files(folder, out, method=method, progress=update)
    for reason in refused:
        output.error(reason)
    if refused:
        raise typer.Exit(2)


def demo() -> None:
    """Show the main job on a few requests of the bundled personas."""
    output.out.print(
        "Somebody says half of what they mean. These are the items of their own data it hangs on, the\n"
        "tools that could serve it, and the call to make, found on this machine;\n"
        "[green]✓[/] marks what is right.\n"
    )
    toolbox = {tool.name: tool for tool in bundled_toolbox()}
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "demo.db") as store:
        tuner = Tuner(store, tools=toolbox.values())
        for person, number in _DEMO:
            persona = read_persona(asset(f"personas/{person}.json"))
            load_persona(store, persona)
            tuner.prepare(persona.id)
            query = next(query for query in persona.queries if query.id == number)
            reply = tuner.answer(persona.request(query), k=5)
            about = persona.user.profile
            output.out.print(
                f"{about['name']}, {about['profession']}, {about['city']} · "
                f"{query.time:%A %d %B, %H:%M} · {query.place.replace('_', ' ')} · "
                f"{len(persona.items)} items · {sum(reply.seconds.values()) * 1000:.0f} ms",
                style="dim",
                markup=False,
            )
            output.hits(reply.context, title=f"“{query.text}”", marked=frozenset(query.gold.relevant or ()))
            output.tools(reply.tools, right=query.gold.api)
            right = ExpectedCall.one(query.gold.api or "", query.gold.args or {})
            verdict = judge(reply.plan, right, toolbox, ContactLookup(persona.user.contacts))
            output.plan(reply.plan, [hit.item for hit in reply.context], right=verdict.ast)
            output.out.print()
