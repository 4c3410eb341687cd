"""The table of plans: rows, errors by name, and what is written."""

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contextune._internal.assets import asset
from contextune.datasets import read_persona
from contextune.errors import InvalidDataError
from contextune.lab.bench.quality import plan_report
from contextune.lab.bench.quality import plans as bench
from contextune.lab.bench.quality.written_plans import WrittenPlans, read_answers
from contextune.lab.train.rankers.argument_examples import PlannedRequest, asked
from contextune.plan import PointerPlanner
from contextune.plan.judge import ExpectedCall, judge
from contextune.plan.language_model.planner import call_text
from contextune.tools import bundled_toolbox
from contextune.types import Argument, ItemHit, Plan, Source, ToolHit

TOOLS = {tool.name: tool for tool in bundled_toolbox()}


def requests() -> list[PlannedRequest]:
    found: list[PlannedRequest] = []
    for name in ("a01", "b05"):
        persona = read_persona(asset(f"personas/{name}.json"))
        for query in persona.queries:
            hits = [ItemHit(item, 0.0) for item in persona.items]
            found.append(asked(persona, query, hits, 0, measured=True))
    return found


def wrong(_: PlannedRequest) -> list[ToolHit]:
    return [ToolHit(TOOLS["skip_track"], 1.0)]


def right(one: PlannedRequest) -> list[ToolHit]:
    return [ToolHit(TOOLS[one.expected.api], 1.0)]


def rows() -> bench.Rows:
    chosen = {bench.NOTHING: wrong, bench.RAG: wrong, bench.TUNED: right}
    return bench.plan_rows(requests(), chosen, bench.light({0: PointerPlanner()}), TOOLS)


def test_every_row_plans_every_request_and_context_helps() -> None:
    found = rows()
    assert {len(cases) for cases in found.values()} == {len(requests())}
    cells = bench.cells(found)
    assert cells[bench.BOTH, "AST"].interval.mean > cells[bench.TOOLS, "AST"].interval.mean
    assert cells[bench.RAG, "AST"].p is None
    assert all(cells[row, "hallucination"].interval.mean == 0 for row in found)
    assert bench.errors(found[bench.RAG])["wrong tool"] == 1.0
    for cases in found.values():
        missed = sum(not case.verdict.ast for case in cases) / len(cases)
        assert sum(bench.errors(cases).values()) == pytest.approx(missed)


def test_tables_and_file(tmp_path: Path) -> None:
    found = rows()
    titles = [str(table.title) for table in plan_report.to_rich(found)]
    assert titles[0].startswith("Plans for all requests (n = ")
    plan_report.write(found, tmp_path / "out")
    written = json.loads((tmp_path / "out" / "plans.json").read_text(encoding="utf-8"))
    tuned = written["rows"][bench.TUNED]
    assert tuned["metrics"]["AST"]["paper"] == 0.8524
    assert set(tuned["plans"]) == {one.name for one in requests()}
    assert sum(n for n, _, _ in tuned["kind"].values()) == written["requests"]


@pytest.mark.parametrize(
    ("api", "args", "error"),
    [
        ("skip_track", {}, "wrong tool"),
        ("read_email", {}, "missing argument"),
        ("read_email", {"email_subject": ("item", "m2", "subject")}, "wrong item"),
        ("read_email", {"email_subject": ("item", "m1", "author")}, "wrong field"),
        ("read_email", {"email_subject": ("contact", "Rui", None)}, "wrong person"),
    ],
)
def test_errors_have_names(api: str, args: dict[str, Any], error: str) -> None:
    persona = read_persona(asset("personas/a01.json"))
    mails = [item for item in persona.items if item.app == "Mail"]
    known = {"m1": mails[0], "m2": mails[1]}
    query = persona.queries[0]
    one = asked(persona, query, [], 0, measured=True)
    expected = ExpectedCall.one("read_email", {"email_subject": mails[0].fields["subject"]})
    one = replace(one, expected=expected, items=known)
    arguments = {
        name: Argument("something else", (Source(kind, item, field),))
        for name, (kind, item, field) in args.items()
    }
    plan = Plan(api, arguments)
    verdict = judge(plan, expected, TOOLS)
    assert bench.error_of(one, plan, verdict, TOOLS) == error


def test_plans_that_a_model_wrote(tmp_path: Path) -> None:
    chosen = {bench.NOTHING: wrong, bench.RAG: wrong, bench.TUNED: right}
    answers = [
        {
            "name": one.name,
            "row": row,
            "answer": call_text("made_up", {})
            if row == bench.NOTHING
            else call_text(one.expected.api, {name: values[0] for name, values in one.expected.args.items()}),
        }
        for one in requests()
        for row in bench.SEEN
    ]
    file = tmp_path / "answers.jsonl.gz"
    file.write_bytes(gzip.compress("\n".join(map(json.dumps, answers)).encode()))
    made = WrittenPlans(read_answers(file), {0: PointerPlanner()})
    found = bench.plan_rows(requests(), chosen, made, TOOLS)
    cells = bench.cells(found)
    assert cells[bench.NOTHING, "hallucination"].interval.mean == 1.0
    assert all(cells[row, "hallucination"].interval.mean == 0 for row in found if row != bench.NOTHING)
    assert cells[bench.BOTH, "AST"].interval.mean >= 0.9
    assert made.without >= len(requests())  # where the wrong tool was offered, among others
    with pytest.raises(InvalidDataError, match="nothing was written"):
        WrittenPlans({}, {})(bench.BOTH, requests()[0], requests()[0].situation, [])
    with pytest.raises(InvalidDataError, match="plan_writer makes some"):
        read_answers(tmp_path / "none.jsonl")
