"""Terminal output of the commands: tables, progress bars and error lines."""

import unicodedata
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)
from rich.segment import Segment
from rich.table import Table

if TYPE_CHECKING:
    from contextune import types
    from contextune.evaluate.results import ResultTable
    from contextune.plan import Steps
    from contextune.types import Item, ItemHit, Plan, ToolHit

_KEPT = "\n\u200c\u200d"
"""Line breaks come from us; many words and emoji are not spelled without the two joiners."""
_CONTROL_CATEGORIES = ("Cc", "Cf", "Cs")


class Terminal(Console):
    """A rich console that removes control characters from texts, but not its own styles.

    Items and tools are written by strangers: printing them must not move the cursor or rename the window.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """As the base class, with control characters removed from the text of each segment."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(_remove_control_characters(segment.text), segment.style)


def _remove_control_characters(text: str) -> str:
    return "".join(
        character
        for character in text
        if character in _KEPT or unicodedata.category(character) not in _CONTROL_CATEGORIES
    )


out = Terminal()
err = Terminal(stderr=True)


def print_error(message: str) -> None:
    """Print one line to standard error."""
    err.print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True, highlight=False)


@contextmanager
def progress(title: str, total: int | None = None, *, sized: bool = False) -> "Generator[types.Progress]":
    """Show a progress bar if standard error is a terminal; yields the callback that updates it.

    `sized` bars count bytes, others count things.
    """
    count = DownloadColumn() if sized else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), count, TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(title, total=total)

        def update(done: int, of: int) -> None:
            bar.update(task, completed=done, total=of)

        yield update


def print_results(table: "ResultTable", folder: Path | None) -> None:
    """Print the tables of a benchmark; also write them to `folder`, if given."""
    from contextune.evaluate.report import to_rich, write_report

    for part in to_rich(table):
        out.print(part)
    if folder:
        write_report(table, folder)
        out.print(f"Written to {folder}.", markup=False)


def print_hits(hits: "Sequence[ItemHit]", *, title: str, relevant: frozenset[str] = frozenset()) -> None:
    """Print ranked items as a table, with a tick at those whose ids are `relevant`."""
    table = Table(title=escape(title), title_justify="left", title_style="bold", header_style="dim")
    table.add_column("", justify="right")
    table.add_column("score", justify="right")
    table.add_column("from")
    table.add_column("item", ratio=1)
    table.add_column("when", no_wrap=True)
    table.add_column("why")
    for rank, hit in enumerate(hits, 1):
        item = hit.item
        tick = "[green]✓[/]" if item.id in relevant else ""
        why = escape("; ".join(hit.reasons))
        time = item.time.strftime("%a %d %b %H:%M") if item.time else ""
        table.add_row(f"{tick} {rank}", f"{hit.score:.3f}", escape(item.app), escape(item.title), time, why)
    out.print(table)


def print_tools(hits: "Sequence[ToolHit]", *, expected: str | None = None) -> None:
    """Print the names of the best tools in one line, with a tick at the `expected` one."""
    names = [f"{'[green]✓[/] ' if hit.tool.name == expected else ''}{escape(hit.tool.name)}" for hit in hits]
    out.print(f"tools: {', '.join(names)}")


def print_plan(plan: "Plan | None", items: "Sequence[Item]", *, correct: bool = False) -> None:
    """Print a call in one line, the source of each value, the decision and what to ask the user."""
    if plan is None:
        _print_line("plan: none: there is no tool to call")
        return
    _print_call(f"plan: {'[green]✓[/] ' if correct else ''}", plan, items)


def print_steps(steps: "Steps", items: "Sequence[Item]") -> None:
    """Print each step as `print_plan` prints a call, and the decision on all of them."""
    for number, step in enumerate(steps, 1):
        _print_call(f"step {number}: ", step, items)
    _print_line(f"all steps: {_decision(steps)}")


def _print_call(prefix: str, plan: "Plan", items: "Sequence[Item]") -> None:
    from contextune.plan import explain

    call = f"[bold]{escape(explain.format_call(plan))}[/]"
    if plan.decision == "none":
        _print_line(f"{prefix}none; nearest: {call}")
    else:
        _print_line(f"{prefix}{call}")
    for name, reason in explain.explain_arguments(plan, {item.id: item for item in items}):
        _print_line(f"  {escape(name)}: {escape(reason)}", style="dim")
    _print_line(f"  decision: {_decision(plan)}")
    if plan.question is None:
        return
    _print_line(f"  {escape(plan.question.text)}")
    if len(plan.question.options) > 1:  # a single one only repeats the call
        for number, option in enumerate(plan.question.options, 1):
            _print_line(f"    {number}. {escape(option.label)} ({option.plan.confidence:.0%})")


def _decision(plan: "Plan | Steps") -> str:
    return f"{plan.decision or 'not made'}, {plan.confidence:.0%} sure"


def _print_line(text: str, style: str | None = None) -> None:
    out.print(text, highlight=False, soft_wrap=True, style=style)
