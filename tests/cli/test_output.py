"""Untrusted texts are printed without control characters."""

import pytest

from contextune.cli import output
from contextune.plan import Policy, Readings, Steps
from contextune.tools import bundled_toolbox
from contextune.types import Argument, Item, ItemHit, Plan, Source

PERSIAN = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
UNTRUSTED = f"\x1b]0;renamed\x07\x1b[2J\x9b31mKiln\u202e slots\r\ud83d {PERSIAN}"
PRINTED = f"]0;renamed[2J31mKiln slots {PERSIAN}"


def test_texts_are_printed_without_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    mail = Item("m1", "Mail", {"subject": UNTRUSTED, "date": "2024-05-13T09:00"})
    output.print_hits([ItemHit(mail, 1.0, (f"shares the words: {UNTRUSTED}",))], title=UNTRUSTED)
    output.print_plan(
        Plan("read_email", {UNTRUSTED: Argument(UNTRUSTED, (Source("item", "m1", "subject"),))}), [mail]
    )
    output.print_error(UNTRUSTED)
    captured = capsys.readouterr()
    text = captured.out + captured.err
    assert not {"\x1b", "\x07", "\x9b", "\r", "\u202e", "\ud83d"} & set(text)
    assert f"error: {PRINTED}\n" in captured.err


TOOLS = {tool.id: tool for tool in bundled_toolbox()}


def call(contact: str, sure: float) -> Plan:
    return Plan("PhoneCall/call_contact", {"contact": Argument(contact)}, sure, name="call_contact")


def decide(*plans: Plan, none: float = 0.0) -> Plan:
    plan = Policy().decide(Readings(plans, none), TOOLS.__getitem__)
    assert plan is not None
    return plan


def printed(capsys: pytest.CaptureFixture[str], plan: Plan | None) -> list[str]:
    output.print_plan(plan, [])
    lines = capsys.readouterr().out.splitlines()
    return [line for line in lines if "source unknown" not in line]


def test_plan_is_printed_with_decision_certainty_and_question(capsys: pytest.CaptureFixture[str]) -> None:
    first = 'plan: call_contact(contact="Bruno Kosuta")'
    assert printed(capsys, decide(call("Bruno Kosuta", 0.95))) == [first, "  decision: act, 95% sure"]
    assert printed(capsys, decide(call("Bruno Kosuta", 0.6))) == [
        first,
        "  decision: confirm, 60% sure",
        "  Call Bruno Kosuta?",
    ]
    assert printed(capsys, decide(call("Bruno Kosuta", 0.5), call("Bruno Rossi", 0.4))) == [
        first,
        "  decision: ask, 50% sure",
        "  Call Bruno Kosuta or Bruno Rossi?",
        "    1. Bruno Kosuta (50%)",
        "    2. Bruno Rossi (40%)",
    ]
    refused = printed(capsys, decide(call("Bruno Kosuta", 0.2), none=0.8))
    assert refused[0] == 'plan: none; nearest: call_contact(contact="Bruno Kosuta")'
    assert refused[1] == "  decision: none, 20% sure"
    assert refused[2].startswith("  No tool here can do that.")
    assert printed(capsys, None) == ["plan: none: there is no tool to call"]


def test_doubtful_step_decides_on_all_steps(capsys: pytest.CaptureFixture[str]) -> None:
    steps = Steps((decide(call("Bruno Kosuta", 0.9)), decide(call("Bruno Rossi", 0.5))))
    output.print_steps(steps, [])
    assert capsys.readouterr().out.splitlines()[-1] == "all steps: confirm, 45% sure"
    assert not steps.ready


def test_own_styles_are_kept() -> None:
    console = output.Terminal(force_terminal=True, color_system="standard", width=60)
    with console.capture() as caught:
        console.print("[bold red]error:[/] kiln", highlight=False)
    assert "\x1b[1;31merror:\x1b[0m" in caught.get()
