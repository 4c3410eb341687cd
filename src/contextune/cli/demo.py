"""`contextune demo`: answer requests of invented users."""

import tempfile
from pathlib import Path

from contextune.cli import answer_text, output

REQUESTS = (("e02", "q7"), ("d01", "q4"), ("b02", "q7"), ("c04", "q5"), ("a05", "q7"))
"""Persona and query: implicit requests of the test part of the benchmark; the last is answered wrongly."""


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
        "Each request leaves out what it is about. Contextune finds the call to make and the items of the "
        "user's own data that it rests on, on this machine.\n"
        "[green]✓[/] marks what is correct. The shipped models were trained on all invented users of the "
        "benchmark, also on these of its test part: this shows what an answer looks like, not how often it "
        "is right (see docs/benchmarks.md).\n"
    )
    toolbox = {tool.name: tool for tool in bundled_toolbox()}
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "demo.db") as store:
        tuner = Tuner(store, tools=toolbox.values())
        for number, (persona_id, query_id) in enumerate(REQUESTS):
            persona = read_persona(asset(f"personas/{persona_id}.json"))
            query = next(query for query in persona.queries if query.id == query_id)
            with output.progress("Answering") as update:  # closed before anything is printed
                update(number, len(REQUESTS))
                load_persona(store, persona)
                tuner.prepare(persona.id)
                answer = tuner.answer(persona.request(query), k=5)
            profile = persona.user.profile
            output.out.print(
                f"{profile['name']}, {profile['profession']}, {profile['city']} · "
                f"{query.time:%A %d %B, %H:%M} · {query.place.replace('_', ' ')} · "
                f"{len(persona.items)} items · {sum(answer.seconds.values()) * 1000:.0f} ms",
                style="dim",
                markup=False,
            )
            output.out.print(f"“{query.text}”", markup=False, highlight=False)
            expected = ExpectedCall.from_args(query.gold.api or "", query.gold.args or {})
            verdict = judge_plan(answer.plan, expected, toolbox, ContactLookup(persona.user.contacts))
            items = [hit.item for hit in answer.context]
            answer_text.print_plan(answer.plan, items, fits=answer.fits, correct=verdict.ast)
            relevant = frozenset(query.gold.relevant or ())
            zone = persona.user.zone
            answer_text.print_items(answer.context[:3], zone, query.time, why=False, relevant=relevant)
            output.out.print()
