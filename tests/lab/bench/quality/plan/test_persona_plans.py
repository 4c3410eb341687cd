"""Planning benchmark: rows, errors and report."""

import gzip
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from contextune._internal.assets import asset
from contextune.datasets import read_persona
from contextune.errors import InvalidDataError
from contextune.plan import ReadingPlanner
from contextune.plan.judge import ExpectedCall, judge_plan
from contextune.plan.language_model.planner import call_json
from contextune.tools import bundled_toolbox
from contextune.types import Argument, ItemHit, Plan, Source, ToolHit
from contextune_lab.bench.plan_tables import plan_tables
from contextune_lab.bench.quality.plan import persona_plans as bench
from contextune_lab.bench.quality.plan import report as plan_report
from contextune_lab.bench.quality.plan.written_plans import (
    RecordedAnswer,
    WrittenPlans,
    guided_choosers,
    raw_plans,
    read_written_plans,
    recorded_rows,
    stale_answers,
)
from contextune_lab.renamed_toolbox import renamed_toolboxes
from contextune_lab.train.planned_requests import PlannedRequest, planned_request

TOOLS = {tool.name: tool for tool in bundled_toolbox()}


def requests() -> list[PlannedRequest]:
    planned: list[PlannedRequest] = []
    for name in ("a01", "b05"):
        persona = read_persona(asset(f"personas/{name}.json"))
        for query in persona.queries:
            hits = [ItemHit(item, 0.0) for item in persona.items]
            planned.append(planned_request(persona, query, hits, 0, measured=True))
    return planned


def wrong_tool(_: PlannedRequest) -> list[ToolHit]:
    return [ToolHit(TOOLS["skip_track"], 1.0)]


def right_tool(request: PlannedRequest) -> list[ToolHit]:
    return [ToolHit(TOOLS[request.expected.tool], 1.0)]


@cache
def make_rows() -> bench.PlanRows:
    choosers = {bench.NO_RETRIEVAL: wrong_tool, bench.RAG: wrong_tool, bench.TUNED: right_tool}
    return bench.plan_rows(requests(), choosers, bench.light_plans(ReadingPlanner()), TOOLS)


def test_every_row_plans_every_request_and_context_helps() -> None:
    rows = make_rows()
    assert {len(cases) for cases in rows.values()} == {len(requests())}
    cells = bench.cells(rows)
    assert (
        cells[bench.RIGHT_TOOL_AND_CONTEXT, "AST"].interval.mean
        > cells[bench.RIGHT_TOOL, "AST"].interval.mean
    )
    assert cells[bench.RAG, "AST"].p is None
    assert all(cells[row, "hallucination"].interval.mean == 0 for row in rows)
    assert bench.error_shares(rows[bench.RAG])["wrong tool"] == 1.0
    for cases in rows.values():
        missed_share = sum(not case.verdict.ast for case in cases) / len(cases)
        assert sum(bench.error_shares(cases).values()) == pytest.approx(missed_share)


def test_plans_with_renamed_tools_are_judged_in_their_own_names() -> None:
    seen: dict[str, str] = {}

    def expected(_row: str, request: PlannedRequest, _: object, hits: Sequence[ToolHit]) -> Plan:
        """The right call in the names of the tool that is offered."""
        (tool,) = [hit.tool for hit in hits]
        seen[request.name] = tool.id
        catalogue = next((each for each in renamed_toolboxes() if tool.id in each.originals), None)
        own = {old: new for new, old in catalogue.originals[tool.id].arguments.items()} if catalogue else {}
        values = {own.get(name, name): Argument(right[0]) for name, right in request.expected.args.items()}
        return Plan(tool.id, values, name=tool.name)

    planned = requests()[:6]
    right: dict[str, bench.ToolChooser] = dict.fromkeys(
        (bench.NO_RETRIEVAL, bench.RAG, bench.TUNED), right_tool
    )
    rows = bench.plan_rows(planned, right, expected, TOOLS)
    own = dict(seen)
    renamed = bench.plan_rows(planned, right, bench.renamed_plans(expected, renamed_toolboxes()), TOOLS)
    assert all(seen[name] != own[name] for name in own)
    for row, cases in rows.items():
        assert [case.verdict for case in renamed[row]] == [case.verdict for case in cases]
        assert [case.plan for case in renamed[row]] == [case.plan for case in cases]
    overall, _, by_kind = plan_tables("plan-light", "contextune bench plan --renamed", rows, renamed)
    values = dict(overall.values())
    assert values["plan-light/context-tuned/AST, renamed"] == values["plan-light/context-tuned/AST"] > 0
    assert "context-tuned, renamed" in [row.name for row in by_kind.rows]
    assert "AST, renamed" not in plan_tables("plan-light", "contextune bench plan", rows)[0].columns


def test_report_tables_and_json_file(tmp_path: Path) -> None:
    rows = make_rows()
    titles = [str(table.title) for table in plan_report.to_rich(rows)]
    assert titles[0].startswith("Plans for all requests (n = ")
    plan_report.write_json(rows, tmp_path / "out")
    written = json.loads((tmp_path / "out" / "plans.json").read_text(encoding="utf-8"))
    tuned = written["rows"][bench.TUNED]
    assert tuned["metrics"]["AST"]["paper"] == 0.8524
    assert set(tuned["plans"]) == {request.name for request in requests()}
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
def test_plan_error_names_the_cause(api: str, args: dict[str, Any], error: str) -> None:
    persona = read_persona(asset("personas/a01.json"))
    mails = [item for item in persona.items if item.app == "Mail"]
    items = {"m1": mails[0], "m2": mails[1]}
    query = persona.queries[0]
    request = planned_request(persona, query, [], 0, measured=True)
    expected = ExpectedCall.from_args("read_email", {"email_subject": mails[0].fields["subject"]})
    request = replace(request, expected=expected, items=items)
    arguments = {
        name: Argument("something else", (Source(kind, item, field),))
        for name, (kind, item, field) in args.items()
    }
    plan = Plan(api, arguments)
    verdict = judge_plan(plan, expected, TOOLS)
    assert bench.plan_error(request, plan, verdict, TOOLS) == error


def test_written_plans_are_planned_and_checked(tmp_path: Path) -> None:
    choosers = {bench.NO_RETRIEVAL: wrong_tool, bench.RAG: wrong_tool, bench.TUNED: right_tool}
    answers = [
        {
            "name": request.name,
            "row": row,
            "answer": call_json("made_up", {})
            if row == bench.NO_RETRIEVAL
            else call_json(
                request.expected.tool, {name: values[0] for name, values in request.expected.args.items()}
            ),
        }
        for request in requests()
        for row in bench.CONTEXT_BY_ROW
    ]
    file = tmp_path / "answers.jsonl.gz"
    file.write_bytes(gzip.compress("\n".join(map(json.dumps, answers)).encode()))
    written_plans = WrittenPlans(read_written_plans(file), ReadingPlanner())
    rows = bench.plan_rows(requests(), choosers, written_plans, TOOLS)
    cells = bench.cells(rows)
    assert cells[bench.NO_RETRIEVAL, "hallucination"].interval.mean == 1.0
    assert all(cells[row, "hallucination"].interval.mean == 0 for row in rows if row != bench.NO_RETRIEVAL)
    assert cells[bench.RIGHT_TOOL_AND_CONTEXT, "AST"].interval.mean >= 0.9
    assert written_plans.fallbacks >= len(requests())  # where the wrong tool was offered, among others
    with pytest.raises(InvalidDataError, match="no recorded answer"):
        WrittenPlans({}, ReadingPlanner())(
            bench.RIGHT_TOOL_AND_CONTEXT, requests()[0], requests()[0].planning_input, []
        )
    with pytest.raises(InvalidDataError, match="plan_writer"):
        read_written_plans(tmp_path / "none.jsonl")


def test_raw_answers_show_what_grounding_replaces() -> None:
    planned = requests()
    answers = {
        (request.name, row): RecordedAnswer(
            "not JSON" if number == 0 else call_json("made_up" if number == 1 else "skip_track", {"speed": 3})
        )
        for number, request in enumerate(planned)
        for row in bench.CONTEXT_BY_ROW
    }
    raw = bench.plan_rows(planned, {}, raw_plans(answers), TOOLS)
    grounded = bench.plan_rows(planned, {}, WrittenPlans(answers, ReadingPlanner()), TOOLS)
    invented = (len(planned) - 1) / len(planned)  # an answer that is no call invents nothing
    for row in (bench.TUNED, bench.RIGHT_TOOL_AND_CONTEXT):
        assert bench.cells(raw)[row, "hallucination"].interval.mean == pytest.approx(invented)
        assert bench.cells(grounded)[row, "hallucination"].interval.mean == 0
    assert raw[bench.TUNED][0].plan is None


@pytest.mark.parametrize(
    ("answer", "stale"),
    [
        (RecordedAnswer(call_json("send_email", {})), False),
        (RecordedAnswer(call_json("skip_track", {})), True),
        (RecordedAnswer(call_json("made_up", {})), False),  # the model invented it, then as now
        (RecordedAnswer("not JSON"), False),
        (RecordedAnswer("not JSON", ("send_email",)), False),
        (RecordedAnswer(call_json("send_email", {}), ("send_email", "skip_track")), True),
    ],
)
def test_answer_is_stale_if_other_tools_are_offered(answer: RecordedAnswer, stale: bool) -> None:
    assert answer.is_stale(["send_email"], TOOLS) is stale


def test_stale_answers_are_counted_by_row() -> None:
    planned = requests()
    choosers = guided_choosers({bench.NO_RETRIEVAL: wrong_tool, bench.TUNED: right_tool})
    answers = {
        (request.name, row): RecordedAnswer(call_json(request.expected.tool, {}))
        for request in planned
        for row in bench.CONTEXT_BY_ROW
    }
    assert recorded_rows(answers, planned) == bench.CONTEXT_BY_ROW
    answers[planned[0].name, bench.TUNED] = RecordedAnswer(call_json("skip_track", {}))
    assert stale_answers(answers, planned, choosers, TOOLS) == {
        bench.TUNED: [planned[0].name],
        **{row: [] for row in bench.GUIDED_ROWS},
    }
    answers |= {(request.name, bench.TUNED_COT): RecordedAnswer("") for request in planned}
    assert list(recorded_rows(answers, planned))[-1] == bench.TUNED_COT


def test_tools_are_chosen_once_per_request() -> None:
    calls: list[str] = []

    def choose(request: PlannedRequest) -> list[ToolHit]:
        calls.append(request.name)
        return right_tool(request)

    chooser = bench.cached_tools(choose)
    first, second = requests()[:2]
    assert chooser(first) == chooser(first) == right_tool(first)
    assert chooser(second) == right_tool(second)
    assert calls == [first.name, second.name]
