"""Answer the queries of persona files with the complete pipeline, as JSON files to be judged elsewhere.

Gold fields are dropped before a persona is parsed, so they cannot influence the answers.
"""

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from contextune.context import DEFAULT_METHOD
from contextune.datasets import Persona, Query, load_persona, persona_files, read_persona
from contextune.errors import InvalidDataError
from contextune.plan import Steps
from contextune.plan.multi_step.split import split_request
from contextune.store import SQLiteStore
from contextune.tools import QueryGenerator, ToolRetriever, bundled_toolbox
from contextune.tuner import Tuner
from contextune.types import Plan, Progress

_TOOLS = 10


def answer_files(
    folder: Path,
    out: Path,
    *,
    method: str = DEFAULT_METHOD,
    querygen: QueryGenerator | None = None,
    progress: Progress | None = None,
) -> list[str]:
    """Write `out/<persona id>.json` per persona file; return the errors of malformed files."""
    files = persona_files(folder)
    out.mkdir(parents=True, exist_ok=True)
    errors: list[str] = []
    files_by_id: dict[str, Path] = {}
    for number, file in enumerate(files, 1):
        try:
            persona = read_persona(file, gold=False)
            if (other := files_by_id.setdefault(persona.id, file)) != file:
                raise InvalidDataError(f"{file}: duplicate persona id {persona.id!r}, also in {other}")
        except InvalidDataError as error:
            errors.append(str(error))
        else:
            answers = answer_persona(persona, method=method, querygen=querygen)
            (out / f"{persona.id}.json").write_text(
                json.dumps(answers, ensure_ascii=False, indent=1), encoding="utf-8"
            )
        if progress:
            progress(number, len(files))
    return errors


def answer_persona(
    persona: Persona, *, method: str = DEFAULT_METHOD, querygen: QueryGenerator | None = None
) -> dict[str, Any]:
    """The answer to each of the persona's queries, by query id.

    The ranking lists all items; items made after the query's time come last.
    """
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "persona.db") as store:
        load_persona(store, persona)
        tuner = Tuner(store, method=method, tools=_toolbox(), querygen=querygen)
        return {query.id: _answer(tuner, persona, query) for query in persona.queries}


@cache
def _toolbox() -> ToolRetriever:
    """The bundled toolbox, indexed once for all personas."""
    return ToolRetriever(bundled_toolbox())


def _answer(tuner: Tuner, persona: Persona, query: Query) -> dict[str, Any]:
    reply = tuner.answer(persona.request(query), k=None, max_tools=_TOOLS)
    ranked = [hit.item.id for hit in reply.context]
    invisible = sorted({item.id for item in persona.items} - set(ranked))
    answer = {
        "ranking": ranked + invisible,
        "tools": [hit.tool.name for hit in reply.tools],
        "plan": _plan(reply.plan) if reply.plan else None,
    }
    steps = _steps(tuner, persona, query)
    return (
        answer
        | ({"queries": list(reply.queries)} if reply.queries else {})
        | ({"steps": steps.to_json()} if steps else {})
    )


def _plan(plan: Plan) -> dict[str, Any]:
    """The call, and whether it is to be acted on without asking."""
    return {
        "api": plan.name,
        "args": dict(plan.args),
        "decision": plan.decision,
        "confidence": round(plan.confidence, 4),
    }


def _steps(tuner: Tuner, persona: Persona, query: Query) -> Steps | None:
    """The plan steps of a query with several requests, else None."""
    if len(split_request(query.text)) < 2:
        return None
    steps = tuner.steps(persona.request(query))
    return steps if steps and len(steps) > 1 else None
