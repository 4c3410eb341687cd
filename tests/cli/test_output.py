"""Untrusted texts are printed without control characters."""

import pytest

from contextune.cli import output
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


def test_own_styles_are_kept() -> None:
    console = output.Terminal(force_terminal=True, color_system="standard", width=60)
    with console.capture() as caught:
        console.print("[bold red]error:[/] kiln", highlight=False)
    assert "\x1b[1;31merror:\x1b[0m" in caught.get()
