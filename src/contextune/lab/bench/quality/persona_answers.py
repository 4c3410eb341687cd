"""Answers the queries of persona files into files, for somebody else to judge.

The gold fields are dropped before a persona is parsed, so the answers are the same
whether or not the files hold them.
"""

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from contextune.context import DEFAULT
from contextune.datasets import Persona, Query, load_persona, persona_files, read_persona
from contextune.errors import InvalidDataError
from contextune.plan import Steps
from contextune.plan.multi_step.split import split_request
from contextune.store import SQLiteStore
from contextune.tools import QueryGenerator, ToolRetriever, bundled_toolbox
from contextune.tuner import Tuner
from contextune.types import Progress

_TOOLS = 10


def answer_files(
    folder: Path,
    out: Path,
    *,
    method: str = DEFAULT,
    querygen: QueryGenerator | None = None,
    progress: Progress | None = None,
) -> list[str]:
    """Write `out/<persona id>.json` for every persona file; why the malformed ones were refused."""
    files = persona_files(folder)
    out.mkdir(parents=True, exist_ok=True)
    refused: list[str] = []
    written: dict[str, Path] = {}
    for number, file in enumerate(files, 1):
        try:
            persona = read_persona(file, gold=False)
            if (other := written.setdefault(persona.id, file)) != file:
                raise InvalidDataError(f"{file}: its id {persona.id!r} is taken by {other}")
        except InvalidDataError as error:
            refused.append(str(error))
        else:
            answers = answer_persona(persona, method=method, querygen=querygen)
            (out / f"{persona.id}.json").write_text(
                json.dumps(answers, ensure_ascii=False, indent=1), encoding="utf-8"
            )
        if progress:
            progress(number, len(files))
    return refused


def answer_persona(
    persona: Persona, *, method: str = DEFAULT, querygen: QueryGenerator | None = None
) -> dict[str, Any]:
    """What Contextune says to each of the persona's queries, by query id.

    The ranking holds all items: those that a query's time hides from it come last.
    """
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "persona.db") as store:
        load_persona(store, persona)
        tuner = Tuner(store, method=method, tools=_toolbox(), querygen=querygen)
        return {query.id: _answer(tuner, persona, query) for query in persona.queries}


@cache
def _toolbox() -> ToolRetriever:
    """The APIs in the package, indexed once for all personas."""
    return ToolRetriever(bundled_toolbox())


def _answer(tuner: Tuner, persona: Persona, query: Query) -> dict[str, Any]:
    reply = tuner.answer(persona.request(query), k=None, max_tools=_TOOLS)
    ranked = [hit.item.id for hit in reply.context]
    hidden = sorted({item.id for item in persona.items} - set(ranked))
    written = {
        "ranking": ranked + hidden,
        "tools": [hit.tool.name for hit in reply.tools],
        "plan": {"api": reply.plan.name, "args": dict(reply.plan.args)} if reply.plan else None,
    }
    several = _steps(tuner, persona, query)
    return (
        written
        | ({"queries": list(reply.queries)} if reply.queries else {})
        | ({"steps": several.to_json()} if several else {})
    )


def _steps(tuner: Tuner, persona: Persona, query: Query) -> Steps | None:
    """The steps of a query that asks for several things."""
    if len(split_request(query.text)) < 2:
        return None
    steps = tuner.steps(persona.request(query))
    return steps if steps and len(steps) > 1 else None
