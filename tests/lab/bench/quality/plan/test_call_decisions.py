"""Rows of the benchmark of calls and decisions."""

from datetime import datetime

import numpy as np
import pytest

from contextune.plan import ExpectedCall, PlanningInput, Policy
from contextune.plan.calls.feature_names import NAMES
from contextune.plan.calls.ranker import CallProbabilities
from contextune.tools import bundled_toolbox
from contextune.types import Argument, Contact, Plan, Request, User
from contextune_lab.bench.plan_tables import call_table
from contextune_lab.bench.quality.plan.call_decisions import (
    CONTACT,
    EXPLICIT,
    LIST,
    NAMED,
    NO_SUCH_TOOL,
    NOTHING_STORED,
    call_cases,
    call_rows,
    explicit_kind,
)
from contextune_lab.train.rankers.calls.examples import CallExample, FilledRequest
from contextune_lab.train.rankers.calls.requests import FULL, PLAIN, CallRequest
from contextune_lab.train.rankers.calls.train import RankedExample

TOOLS = {tool.name: tool for tool in bundled_toolbox()}
USER = User("ana", contacts=(Contact("Marta Reis", "marta@example.org"),))


def request(name: str, tool: str | None, **args: object) -> CallRequest:
    inputs = PlanningInput(Request("text", USER.id, datetime(2024, 5, 16, 9)), USER)
    expected = ExpectedCall.from_args(tool, args) if tool else None
    source = FULL if tool else PLAIN
    return CallRequest(name, "ana", 0, EXPLICIT, source, True, inputs, [], 0.5, tool, expected)


@pytest.mark.parametrize(
    ("tool", "args", "relevant", "kind"),
    [
        ("call_contact", {"contact": "Marta Reis"}, False, CONTACT),
        ("send_email", {"recipient": "marta@example.org", "body": "*"}, False, CONTACT),
        ("start_group_call", {"contacts": ["Marta Reis", "Zoe"]}, True, CONTACT),
        ("pin_note", {"title": "percurso"}, True, NAMED),
        ("play_song", {"song_name": "La Llorona"}, False, NOTHING_STORED),
        ("list_events", {"date": "2024-05-17"}, False, LIST),
        ("list_unread_emails", {}, False, LIST),
        ("pause_playback", {}, False, NOTHING_STORED),
    ],
)
def test_explicit_requests_are_grouped_by_what_they_name(
    tool: str, args: dict[str, object], relevant: bool, kind: str
) -> None:
    assert explicit_kind(request("r", tool, **args), TOOLS, relevant) == kind


def ranked(
    call: CallRequest, plan: Plan, probability: float, none: float, *, right: bool
) -> tuple[FilledRequest, RankedExample]:
    flags = np.array([right])
    example = CallExample(
        call.name,
        call.group,
        0,
        call.kind,
        call.source,
        True,
        np.zeros((1, len(NAMES)), np.float32),
        flags,
        flags,
        flags,
        call.tool is not None,
        True,
    )
    probabilities = CallProbabilities(np.array([1.0]), np.array([probability]), none)
    return FilledRequest(example, call, (plan,)), RankedExample(example, probabilities)


def test_rows_count_wrong_calls_that_are_made_and_right_ones_that_are_not() -> None:
    call = Plan("PhoneCall/call_contact", {"contact": Argument("Marta Reis")}, name="call_contact")
    pairs = [
        ranked(request("right", "call_contact", contact="Marta Reis"), call, 0.95, 0.01, right=True),
        ranked(request("wrong", "call_contact", contact="Marta Reis"), call, 0.95, 0.01, right=False),
        ranked(request("doubted", "call_contact", contact="Marta Reis"), call, 0.6, 0.01, right=True),
        ranked(request("refused", "call_contact", contact="Marta Reis"), call, 0.1, 0.9, right=False),
        ranked(request("unserved", None), call, 0.1, 0.9, right=False),
        ranked(request("unserved, made", None), call, 0.95, 0.01, right=False),
    ]
    filled, rows = zip(*pairs, strict=True)
    policy = Policy()
    cases = call_cases(filled, rows, TOOLS, {}, policy)
    table = call_rows(cases, TOOLS, policy)
    assert set(table) == {EXPLICIT, CONTACT, NO_SUCH_TOOL}
    explicit = table[EXPLICIT]
    assert (explicit.requests, explicit.ast, explicit.refused) == (4, 0.5, 0.25)
    assert explicit.decisions.acted_wrongly == 0.25
    assert explicit.decisions.asked_needlessly == 0.25
    assert table[NO_SUCH_TOOL].decisions.held_back == 0.5
    shown = call_table("plan-calls", "contextune bench plan --calls FOLDER", table)
    assert [row.name for row in shown.rows] == [EXPLICIT, CONTACT, "no tool serves", NO_SUCH_TOOL]
    assert all(len(row.cells) in (0, len(shown.columns)) for row in shown.rows)
