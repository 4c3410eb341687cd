"""Evaluating plans, on small cases and on BFCL's single-turn data."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.plan import bfcl

from contextune.plan.judge import ANY_TEXT, ExpectedCall, is_hallucinated, judge_plan, judge_plans
from contextune.plan.schema import tool_parameters
from contextune.plan.values import ContactLookup
from contextune.tools import bundled_toolbox
from contextune.types import Argument, Contact, Plan, Tool

TOOLS = {tool.name: tool for tool in bundled_toolbox()}
PEOPLE = ContactLookup([Contact("Rui Duarte", "rui@example.com", "555-0142", "brother")])
needs_bfcl = pytest.mark.skipif(not bfcl.FOLDER.exists(), reason="the public data is not in the repository")


def plan(api: str, **args: Any) -> Plan:
    return Plan(api, {name: Argument(value) for name, value in args.items()})


def marks(given: Plan | None, api: str, **args: Any) -> str:
    found = judge_plan(given, ExpectedCall.from_args(api, args), TOOLS, PEOPLE)
    return "".join(
        letter if mark else "-"
        for letter, mark in (("a", found.ast), ("e", found.exact), ("h", found.hallucinated))
    )


def test_right_call_matches() -> None:
    assert marks(plan("read_note", title="Cone 6 recipes"), "read_note", title="Cone 6 recipes") == "ae-"
    assert marks(plan("read_note", title="  cone 6 recipes."), "read_note", title="Cone 6 recipes") == "ae-"
    assert marks(plan("skip_track"), "skip_track") == "ae-"


def test_wrong_call_does_not_match() -> None:
    assert marks(None, "read_note", title="x") == "---"
    assert marks(plan("pin_note", title="x"), "read_note", title="x") == "---"
    assert marks(plan("read_note", title="y"), "read_note", title="x") == "---"
    assert marks(plan("read_note"), "read_note", title="x") == "---"
    assert marks(plan("read_note", title=7), "read_note", title="7") == "---"


def test_optional_arguments_count_for_exact_match_only() -> None:
    right = {"song_name": "Says", "artist": "Nils Frahm"}
    assert marks(plan("play_song", song_name="Says"), "play_song", **right) == "a--"
    assert marks(plan("play_song", song_name="Says", artist="Ola"), "play_song", **right) == "a--"
    assert marks(plan("play_song", song_name="Says", artist=3), "play_song", song_name="Says") == "---"
    assert marks(plan("play_song", **right), "play_song", song_name="Says") == "a--"


def test_free_text_is_judged_by_presence_and_type() -> None:
    assert marks(plan("search_web", query="anything"), "search_web", query=ANY_TEXT) == "ae-"
    assert marks(plan("search_web", query=""), "search_web", query=ANY_TEXT) == "---"
    assert marks(plan("search_web", query=["a"]), "search_web", query=ANY_TEXT) == "---"


def test_contact_matches_by_name_address_or_number() -> None:
    for known in ("Rui Duarte", "rui@example.com", "555-0142", "RUI DUARTE"):
        assert marks(plan("call_contact", contact=known), "call_contact", contact="Rui Duarte") == "ae-"
    assert marks(plan("call_contact", contact="Ana"), "call_contact", contact="Rui Duarte") == "---"
    both = plan("start_group_call", contacts=["555-0142", "Ana"])
    assert marks(both, "start_group_call", contacts=["Ana", "Rui Duarte"]) == "ae-"
    assert marks(both, "start_group_call", contacts=["Rui Duarte"]) == "---"


def test_times_are_compared_as_times() -> None:
    event = {"event_name": "x"}
    for given in ("2024-05-17T18:00", "2024-05-17T18:00:00", "2024-05-17 18:00"):
        assert marks(plan("reschedule_event", start_time=given, **event), "reschedule_event",
                     start_time="2024-05-17T18:00", **event) == "ae-"  # fmt: skip
    for given in ("2024-05-17", "2024-05-17T18:01", "six"):
        assert marks(plan("reschedule_event", start_time=given, **event), "reschedule_event",
                     start_time="2024-05-17T18:00", **event) == "---"  # fmt: skip
    assert marks(plan("list_events", date="2024-05-17"), "list_events", date="2024-05-17T18:00") == "ae-"


def test_hallucinations_are_reported() -> None:
    assert marks(plan("open_pod_bay"), "read_note", title="x") == "--h"
    assert marks(plan("read_note", title="x", colour="red"), "read_note", title="x") == "--h"


def test_several_calls_match_in_any_order() -> None:
    one, other = plan("read_note", title="a"), plan("read_note", title="b")
    wanted = [ExpectedCall.from_args("read_note", {"title": name}) for name in "ab"]
    assert judge_plans([other, one], wanted, TOOLS).exact
    assert not judge_plans([one, one], wanted, TOOLS).ast
    assert not judge_plans([one], wanted, TOOLS).ast


def golden(calls: list[ExpectedCall]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for call in calls:
        args = {
            name: bfcl.pick(allowed) for name, allowed in call.args.items() if set(map(str, allowed)) != {""}
        }
        found.append({"api": call.tool, "args": args})
    return found


def plans(calls: list[dict[str, Any]]) -> list[Plan]:
    return [plan(call["api"], **call["args"]) for call in calls]


@needs_bfcl
def test_bfcl_gold_calls_match_themselves() -> None:
    count = defects = 0
    for tools, wanted in bfcl.right_calls():
        given = plans(golden(wanted))
        if any(is_hallucinated(one, tools) for one in given):
            defects += 1  # the data itself names arguments that its schemas do not have
            continue
        assert judge_plans(given, wanted, tools).exact, wanted
        count += 1
    assert (count, defects) == (996, 4)


def changed(value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1_000_003
    if isinstance(value, str):
        return f"{value} otherwise"
    if isinstance(value, list):
        return [*value, "otherwise"]  # pyright: ignore[reportUnknownVariableType]
    return {**value, "otherwise": 1}


def retyped(value: Any) -> Any:
    return 7_654_321 if isinstance(value, str) else f"x{value}"


Mutation = Callable[[dict[str, Any], Tool, list[str]], bool]


def another_api(call: dict[str, Any], tool: Tool, required: list[str]) -> bool:
    call["api"] += "_otherwise"
    return True


def dropped(call: dict[str, Any], tool: Tool, required: list[str]) -> bool:
    return bool(required) and call["args"].pop(required[0], None) is not None


def invented(call: dict[str, Any], tool: Tool, required: list[str]) -> bool:
    call["args"]["never_heard_of"] = 1
    return True


def another_value(call: dict[str, Any], tool: Tool, required: list[str]) -> bool:
    call["args"] |= {name: changed(call["args"][name]) for name in required}
    return bool(required)


def another_type(call: dict[str, Any], tool: Tool, required: list[str]) -> bool:
    call["args"] |= {name: retyped(call["args"][name]) for name in required}
    return bool(required)


def swapped(call: dict[str, Any], tool: Tool, required: list[str]) -> bool:
    two = required[:2]
    if len(two) < 2 or str(call["args"][two[0]]) == str(call["args"][two[1]]):
        return False
    call["args"] |= {two[0]: call["args"][two[1]], two[1]: call["args"][two[0]]}
    return True


def emptied(call: dict[str, Any], tool: Tool, required: list[str]) -> bool:
    call["args"] |= dict.fromkeys(required)
    return bool(required)


MUTATIONS: list[Mutation] = [another_api, dropped, invented, another_value, another_type, swapped, emptied]


@needs_bfcl
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_bfcl_changed_calls_do_not_match(mutation: Mutation) -> None:
    tried = 0
    for tools, wanted in bfcl.right_calls():
        if len(wanted) != 1:
            continue
        (call,) = golden(wanted)
        tool = tools[call["api"]]
        required = [p.name for p in tool_parameters(tool) if p.required and p.name in call["args"]]
        if not mutation(call, tool, required):
            continue
        tried += 1
        (given,) = plans([call])
        verdict = judge_plan(given, wanted[0], tools)
        assert not verdict.ast, (call, wanted)
        assert verdict.hallucinated == (mutation in (another_api, invented))
    assert tried > 500
