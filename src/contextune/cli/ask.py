"""`contextune search`, `ask` and `demo`: answer requests."""

import json as json_module
import tempfile
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from contextune.cli import output
from contextune.cli.options import (
    DEFAULT_METHOD,
    Method,
    PolicySettings,
    StoreName,
    open_store,
    resolve_user,
)

if TYPE_CHECKING:
    from contextune.plan import Steps
    from contextune.types import Answer, Request

Text = Annotated[str, typer.Argument(help="The request.")]
UserName = Annotated[
    str | None, typer.Option("--user", help="Whose data to search; default: the only user's.")
]
Time = Annotated[str | None, typer.Option(help="Time of the request, as 2024-05-16T17:40; default: now.")]
Place = Annotated[str | None, typer.Option(help="A place of the user's, or LATITUDE,LONGITUDE.")]

_DEMO_QUERIES = (("a08", "q6"), ("b05", "q4"), ("a11", "q3"), ("b06", "q4"), ("a01", "q6"))
"""Persona and query: implicit requests; the last one is not found by its words alone."""


def search(
    text: Text,
    user: UserName = None,
    time: Time = None,
    place: Place = None,
    method: Method = DEFAULT_METHOD,
    k: Annotated[int, typer.Option("-k", help="How many items to print.")] = 10,
    store: StoreName = None,
) -> None:
    """Print the items that a request needs, best first."""
    from contextune.tuner import Tuner

    with open_store(store) as opened, output.progress("Embedding") as update:
        request = _request(text, resolve_user(opened, user), time, place)
        hits = Tuner(opened, method=method, progress=update).context(request, k)
    output.print_hits(hits, title=f"“{text}”")


def ask(
    text: Text,
    user: UserName = None,
    time: Time = None,
    place: Place = None,
    k: Annotated[int, typer.Option("-k", help="How many items to consider.")] = 8,
    llm: Annotated[
        bool, typer.Option("--llm", help="Let the configured language model write the call.")
    ] = False,
    policy: PolicySettings = "",
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    store: StoreName = None,
) -> None:
    """Print the items, the tools and the call for a request, and whether to make it.

    A request for several things gets a step for each. The tools are those of the bundled toolbox.
    Nothing is executed.
    """
    from contextune.plan import Policy
    from contextune.tools import bundled_toolbox
    from contextune.tuner import Tuner

    with open_store(store) as opened, output.progress("Embedding") as update:
        request = _request(text, resolve_user(opened, user), time, place)
        planner = None
        if llm:
            from contextune.llm import required_chat
            from contextune.plan import LanguagePlanner

            planner = LanguagePlanner(required_chat(task="plans", progress=update))
        tuner = Tuner(
            opened,
            tools=bundled_toolbox(),
            planner=planner,
            policy=Policy.parse(policy),
            progress=update,
        )
        reply = tuner.answer(request, k)
        steps = tuner.steps(request, k, answer=reply)
        several = steps is not None and len(steps) > 1
        items = opened.items(request.user) if several else [hit.item for hit in reply.context]
    if json:
        typer.echo(json_module.dumps(_answer_json(reply, steps), ensure_ascii=False, indent=2))
        return
    output.print_hits(reply.context, title=f"“{text}”")
    output.print_tools(reply.tools)
    if steps and len(steps) > 1:
        output.print_steps(steps, items)
    else:
        output.print_plan(reply.plan, items)


def _answer_json(answer: "Answer", steps: "Steps | None") -> dict[str, Any]:
    """The answer as JSON; `plans` has a call, or one for each step, and `decision` is that on all of them."""
    from contextune.plan.plan_json import plan_to_json

    return {
        "context": [
            {"id": hit.item.id, "app": hit.item.app, "title": hit.item.title, "score": float(hit.score)}
            for hit in answer.context
        ],
        "tools": [hit.tool.id for hit in answer.tools],
        "fits": None if answer.fits is None else float(answer.fits),
        "decision": steps.decision if steps else "none",
        "confidence": float(steps.confidence) if steps else None,
        "plans": [plan_to_json(plan) for plan in steps] if steps else [],
    }


def _request(text: str, user: str, time: str | None, place: str | None) -> "Request":
    from contextune.types import Request, parse_place, parse_time

    return Request(
        text,
        user=user,
        time=parse_time(time) if time else datetime.now().astimezone(),
        place=parse_place(place) if place else None,
    )


def demo() -> None:
    """Answer a few requests of the demo personas."""
    from contextune._internal.assets import asset
    from contextune.datasets import load_persona, read_persona
    from contextune.plan import ExpectedCall, judge_plan
    from contextune.plan.values import ContactLookup
    from contextune.store import SQLiteStore
    from contextune.tools import bundled_toolbox
    from contextune.tuner import Tuner

    output.out.print(
        "Each request leaves out what it is about. Contextune finds the items of the user's own data that\n"
        "it needs, the tools that can serve it, and the call to make, on this machine.\n"
        "[green]✓[/] marks what is correct. The shipped models were trained on these invented users, among\n"
        "others: this shows what an answer looks like, not how often it is right (see docs/benchmarks.md).\n"
    )
    toolbox = {tool.name: tool for tool in bundled_toolbox()}
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "demo.db") as store:
        tuner = Tuner(store, tools=toolbox.values())
        for persona_id, query_id in _DEMO_QUERIES:
            persona = read_persona(asset(f"personas/{persona_id}.json"))
            load_persona(store, persona)
            tuner.prepare(persona.id)
            query = next(query for query in persona.queries if query.id == query_id)
            reply = tuner.answer(persona.request(query), k=5)
            profile = persona.user.profile
            output.out.print(
                f"{profile['name']}, {profile['profession']}, {profile['city']} · "
                f"{query.time:%A %d %B, %H:%M} · {query.place.replace('_', ' ')} · "
                f"{len(persona.items)} items · {sum(reply.seconds.values()) * 1000:.0f} ms",
                style="dim",
                markup=False,
            )
            relevant = frozenset(query.gold.relevant or ())
            output.print_hits(reply.context, title=f"“{query.text}”", relevant=relevant)
            output.print_tools(reply.tools, expected=query.gold.api)
            expected = ExpectedCall.from_args(query.gold.api or "", query.gold.args or {})
            verdict = judge_plan(reply.plan, expected, toolbox, ContactLookup(persona.user.contacts))
            output.print_plan(reply.plan, [hit.item for hit in reply.context], correct=verdict.ast)
            output.out.print()
