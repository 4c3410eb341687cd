"""What the program prints of others' texts says nothing to the terminal."""

import pytest

from contextune.cli import output
from contextune.types import Argument, Item, ItemHit, Plan, Source

PERSIAN = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
ODD = f"\x1b]0;renamed\x07\x1b[2J\x9b31mKiln\u202e slots\r\ud83d {PERSIAN}"
SEEN = f"]0;renamed[2J31mKiln slots {PERSIAN}"


def test_nothing_that_was_written_moves_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    mail = Item("m1", "Mail", {"subject": ODD, "date": "2024-05-13T09:00"})
    output.hits([ItemHit(mail, 1.0, (f"shares the words: {ODD}",))], title=ODD)
    output.plan(Plan("read_email", {ODD: Argument(ODD, (Source("item", "m1", "subject"),))}), [mail])
    output.error(ODD)
    printed = capsys.readouterr()
    said = printed.out + printed.err
    assert not {"\x1b", "\x07", "\x9b", "\r", "\u202e", "\ud83d"} & set(said)
    assert f"error: {SEEN}\n" in printed.err


def test_its_own_colours_stay() -> None:
    console = output.Terminal(force_terminal=True, color_system="standard", width=60)
    with console.capture() as caught:
        console.print("[bold red]error:[/] kiln", highlight=False)
    assert "\x1b[1;31merror:\x1b[0m" in caught.get()
