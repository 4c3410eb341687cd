"""`contextune chat`: read requests line by line and answer each after what was said before."""

import sys
from contextlib import suppress
from importlib import import_module
from typing import Annotated

import typer

from contextune.cli import output
from contextune.cli.ask import LanguageModel, open_tuner, parse_request
from contextune.cli.options import (
    DEFAULT_EMBEDDER,
    EmbedderName,
    PolicySettings,
    RequestPlace,
    RequestTime,
    StoreName,
    ToolCatalog,
    UserName,
    resolve_user,
)
from contextune.errors import ContextuneError

_LEAVE = frozenset({"/quit", "/exit", "/q"})


def chat(
    user: UserName = None,
    time: RequestTime = None,
    place: RequestPlace = None,
    k: Annotated[int, typer.Option("-k", help="Number of items to retrieve.")] = 8,
    llm: LanguageModel = False,
    policy: PolicySettings = "",
    catalog: ToolCatalog = None,
    embedder: EmbedderName = DEFAULT_EMBEDDER,
    store: StoreName = None,
) -> None:
    """Answer requests in a conversation: "and the one before?" follows the last answer.

    A number, a name, "yes" or "no" answers a question, which stays open until then. "make it 7" and "no,
    Sunday" correct the last request; "right", "wrong" and "it was 2", the second item, are remembered.
    /why explains the last answer, /quit or Ctrl-D ends. Nothing is executed.
    """
    with suppress(ImportError):
        import_module("readline")  # line editing; not on Windows
    from contextune.cli.chat.dialogue import Dialogue

    interactive = sys.stdin.isatty()
    if interactive:
        output.print_line("Ask something. /why explains, /quit or Ctrl-D ends.", style="dim")
    with open_tuner(store, catalog, embedder, policy, llm=llm, lazy=True) as tuner:
        owner = tuner.store.user(resolve_user(tuner.store, user))
        tuner.prepare(owner.id)
        dialogue = Dialogue(tuner, owner, k)
        while (line := _read_line(interactive)) is not None and line not in _LEAVE:
            if line:
                try:
                    dialogue.reply(line, parse_request(line, owner.id, time, place))
                except ContextuneError as error:
                    output.print_error(str(error))


def _read_line(interactive: bool) -> str | None:
    """The next line; None at the end of input or after Ctrl-C."""
    try:
        return input("> " if interactive else "").strip()
    except (EOFError, KeyboardInterrupt):
        if interactive:
            output.out.print()
        return None
