"""Terminal output of the commands: lines, progress bars, errors, and tables of stored texts."""

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
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from contextune._internal.postgres_url import hide_passwords
from contextune._internal.untrusted import neutralize

if TYPE_CHECKING:
    from contextune import types
    from contextune.evaluate.results import ResultTable

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
    err.print(f"[bold red]error:[/] {escape(hide_passwords(message))}", soft_wrap=True, highlight=False)


class TimeLeftColumn(ProgressColumn):
    """The time left by the average speed so far; rich's own column forgets updates older than 30 seconds."""

    def render(self, task: Task) -> Text:
        """The time in words, such as “about 2 min left”; empty before the first update and at the end."""
        if not task.total or not task.completed or not task.elapsed or task.completed >= task.total:
            return Text("")
        return Text(describe_time_left(task.elapsed / task.completed * (task.total - task.completed)), "dim")


def describe_time_left(seconds: float) -> str:
    """The time left in words, in seconds up to two minutes and in minutes above."""
    amount = f"{max(round(seconds), 1)} s" if seconds < 120 else f"{round(seconds / 60)} min"
    return f"about {amount} left"


@contextmanager
def progress(
    title: str, total: int | None = None, *, sized: bool = False, lazy: bool = False
) -> "Generator[types.Progress]":
    """Show a progress bar with the time left if standard error is a terminal; yields its callback.

    `sized` bars count bytes, others count things. A `lazy` bar is shown only while there is work: from the
    first update until all is done.
    """
    count = DownloadColumn() if sized else MofNCompleteColumn()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        count,
        TimeElapsedColumn(),
        TimeLeftColumn(),
    )
    bar = Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
    task = bar.add_task(title, total=total)

    def update(done: int, of: int) -> None:
        if lazy and done < of:
            bar.start()
        bar.update(task, completed=done, total=of)
        if lazy and done >= of:
            bar.stop()

    if not lazy:
        bar.start()
    try:
        yield update
    finally:
        bar.stop()


def print_line(text: str, style: str | None = None) -> None:
    """Print one line of markup to standard output, without wrapping."""
    out.print(text, highlight=False, soft_wrap=True, style=style)


def print_results(table: "ResultTable", folder: Path | None) -> None:
    """Print the tables of a benchmark; also write them to `folder`, if given."""
    from contextune.evaluate.report import to_rich, write_report

    for part in to_rich(table):
        out.print(part)
    if folder:
        write_report(table, folder)
        out.print(f"Written to {folder}.", markup=False)


def plain_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, wrap: Sequence[str] = ()) -> Table:
    """A table without lines; numbers are right-aligned, and only the columns `wrap` are broken."""
    table = Table(box=None, header_style="dim", pad_edge=False)
    for number, column in enumerate(columns):
        cells = [row[number] for row in rows]
        numeric = bool(cells) and all(cell.replace(",", "").isdigit() for cell in cells)
        if column in wrap:
            table.add_column(column, overflow="ellipsis", no_wrap=True, ratio=1)
        else:
            table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(neutralize(cell)) for cell in row))
    return table
