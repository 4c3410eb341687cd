"""Answers: untrusted texts without control characters, the call or the question first."""

import io

import pytest
from rich.progress import Progress

from contextune.cli import answer_text, output
from contextune.plan import Policy, Readings, Steps
from contextune.tools import bundled_toolbox
from contextune.types import Argument, Item, ItemHit, Plan, Source

PERSIAN = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
UNTRUSTED = f"\x1b]0;renamed\x07\x1b[2J\x9b31mKiln\u202e slots\r\ud83d {PERSIAN}"
PRINTED = f"]0;renamed[2J31mKiln slots {PERSIAN}"


def test_texts_are_printed_without_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    mail = Item("m1", "Mail", {"subject": UNTRUSTED, "date": "2024-05-13T09:00"})
    hits = [ItemHit(mail, 1.0, (f"shares the words: {UNTRUSTED}",))]
    answer_text.print_items(hits, None, why=True)
    argument = Argument(UNTRUSTED, (Source("item", "m1", "subject"),))
    answer_text.print_plan(Plan("read_email", {UNTRUSTED: argument}), [mail], why=True)
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


def printed(capsys: pytest.CaptureFixture[str], plan: Plan | None, fits: float | None = None) -> list[str]:
    answer_text.print_plan(plan, [], fits=fits)
    return capsys.readouterr().out.splitlines()


def test_answer_leads_with_the_call_or_the_question(capsys: pytest.CaptureFixture[str]) -> None:
    bruno = 'call_contact(contact="Bruno Kosuta")'
    kiln = Plan("Notes/read_note", {"title": Argument("Kiln")}, 0.95, name="read_note")
    assert printed(capsys, decide(kiln)) == ['read_note(title="Kiln") (make this call, 95% sure)']
    assert printed(capsys, decide(call("Bruno Kosuta", 0.6))) == [
        "Call Bruno Kosuta? (confirm first, 60% sure)",
        bruno,
    ]
    assert printed(capsys, decide(call("Bruno Kosuta", 0.5), call("Bruno Rossi", 0.4))) == [
        "Call Bruno Kosuta or Bruno Rossi? (ask first, 50% sure)",
        "  1. Bruno Kosuta (50%)",
        "  2. Bruno Rossi (40%)",
        bruno,
    ]
    assert printed(capsys, decide(call("Bruno Kosuta", 0.2), none=0.8), fits=0.1) == [
        "Nothing here can do that (90% sure)",
    ]
    note = Plan("Notes/read_note", {"title": Argument("Kiln")}, 0.3, name="read_note")
    assert printed(capsys, decide(note, none=0.7), fits=0.3) == [
        "Nothing here can do that (70% sure)",
        'nearest: read_note(title="Kiln") (only 30% sure)',
    ]
    assert printed(capsys, None) == ["Nothing here can do that: there is no tool to call."]


def test_doubtful_step_decides_on_all_steps(capsys: pytest.CaptureFixture[str]) -> None:
    steps = Steps((decide(call("Bruno Kosuta", 0.9)), decide(call("Bruno Rossi", 0.5))))
    answer_text.print_steps(steps, [])
    assert capsys.readouterr().out.splitlines()[0] == "2 steps: confirm first, 45% sure of all"
    assert not steps.ready


def test_own_styles_are_kept() -> None:
    console = output.Terminal(force_terminal=True, color_system="standard", width=60)
    with console.capture() as caught:
        console.print("[bold red]error:[/] kiln", highlight=False)
    assert "\x1b[1;31merror:\x1b[0m" in caught.get()


def test_progress_bar_estimates_the_time_left_from_the_average_speed() -> None:
    now = 0.0
    bar = Progress(output.TimeLeftColumn(), get_time=lambda: now)
    task = bar.add_task("Embedding", total=1000)

    def shown() -> str:
        return str(output.TimeLeftColumn().render(bar.tasks[0]))

    assert shown() == ""
    now = 60.0
    bar.update(task, completed=128)
    now = 100.0  # long after the last update
    assert shown() == "about 11 min left"
    bar.update(task, completed=900)
    assert shown() == "about 11 s left"
    bar.update(task, completed=1000)
    assert shown() == ""


def test_progress_is_shown_on_terminals_only_and_lazily(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = output.Terminal(file=io.StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr(output, "err", terminal)
    with output.progress("Embedding", lazy=True) as update:
        written = terminal.file
        assert isinstance(written, io.StringIO)
        assert written.getvalue() == ""
        update(1, 2)
        assert "Embedding" in written.getvalue()
        update(2, 2)
    quiet = output.Terminal(file=io.StringIO(), width=100)
    monkeypatch.setattr(output, "err", quiet)
    with output.progress("Embedding") as update:
        update(1, 2)
    assert isinstance(quiet.file, io.StringIO)
    assert quiet.file.getvalue() == ""
