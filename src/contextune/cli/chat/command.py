"""`contextune chat`: read requests line by line and answer each after what was said before."""

import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from contextune.cli import answer_text, output
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

if TYPE_CHECKING:
    from contextune.answers import ExtractedAnswer
    from contextune.plan import Steps
    from contextune.tuner import Tuner
    from contextune.types import Answer, Plan, User

_YES = frozenset({"y", "yes", "yes please", "ok", "okay", "sure", "do it"})
_LEAVE = frozenset({"/quit", "/exit", "/q"})


def chat(
    user: UserName = None,
    time: RequestTime = None,
    place: RequestPlace = None,
    k: Annotated[int, typer.Option("-k", help="How many items to consider.")] = 8,
    llm: LanguageModel = False,
    policy: PolicySettings = "",
    catalog: ToolCatalog = None,
    embedder: EmbedderName = DEFAULT_EMBEDDER,
    store: StoreName = None,
) -> None:
    """Answer request after request, each with what was said before: "and the one before?".

    A number or "yes" answers a question; "right", "wrong" and "it was 2", the second item, are remembered.
    /why explains the last answer, /quit or Ctrl-D ends. Nothing is executed.
    """
    with suppress(ImportError):
        import_module("readline")  # line editing; not on Windows
    from contextune.cli.chat.conversation import Conversation
    from contextune.cli.chat.verdict import read_verdict

    interactive = sys.stdin.isatty()
    if interactive:
        output.print_line("Ask something. /why explains, /quit or Ctrl-D ends.", style="dim")
    with open_tuner(store, catalog, embedder, policy, llm=llm, lazy=True) as tuner:
        owner = tuner.store.user(resolve_user(tuner.store, user))
        tuner.prepare(owner.id)
        conversation = Conversation(tuner, owner, k)
        answer, steps = None, None
        while (line := _read_line(interactive)) is not None:
            if line in _LEAVE:
                break
            if not line:
                continue
            if line == "/why":
                if answer:
                    _print(answer, steps, owner, why=True)
                continue
            if answer and (plan := _choice(line, answer)):
                answer_text.print_plan(plan.accept(), [hit.item for hit in answer.context], why=True)
                continue
            if answer and (verdict := read_verdict(line, answer)):
                verdict.give(tuner, answer)
                output.print_line(verdict.text, style="dim")
                continue
            try:
                answer, steps = conversation.ask(parse_request(line, owner.id, time, place))
            except ContextuneError as error:
                output.print_error(str(error))
                continue
            _print(answer, steps, owner, why=False, extracted=_extract(answer, steps, tuner))


def _read_line(interactive: bool) -> str | None:
    """The next line; None at the end of input or after Ctrl-C."""
    try:
        return input("> " if interactive else "").strip()
    except (EOFError, KeyboardInterrupt):
        if interactive:
            output.out.print()
        return None


def _choice(line: str, answer: "Answer") -> "Plan | None":
    """The call that an answer to the last question means: the number of an option, or yes to the only one."""
    question = answer.plan.question if answer.plan else None
    if question is None or not question.options or (answer.plan and answer.plan.decision == "none"):
        return None
    options = [option.plan for option in question.options]
    if line.isdigit() and 1 <= int(line) <= len(options):
        return options[int(line) - 1]
    return options[0] if line.casefold().strip(" .!") in _YES and len(options) == 1 else None


def _extract(answer: "Answer", steps: "Steps | None", tuner: "Tuner") -> "ExtractedAnswer | None":
    from contextune.answers import extract_answer

    return None if steps and len(steps) > 1 else extract_answer(answer, tuner.store)


def _print(
    answer: "Answer",
    steps: "Steps | None",
    owner: "User",
    *,
    why: bool,
    extracted: "ExtractedAnswer | None" = None,
) -> None:
    items = [hit.item for hit in answer.context]
    answer_text.print_answer(answer, steps, items, owner.zone, why=why, hint="/why", extracted=extracted)
    output.out.print()
