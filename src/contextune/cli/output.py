"""What the commands print: tables and progress bars."""

import unicodedata
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import platformdirs
import typer
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

from contextune import types
from contextune.errors import InvalidRequestError
from contextune.evaluate.report import to_rich, write
from contextune.evaluate.results import ResultTable as ResultTable
from contextune.plan import Steps, explain
from contextune.store import SQLiteStore, Store
from contextune.types import Item, ItemHit, Plan, ToolHit

_KEPT = "\n\u200c\u200d"
"""Lines are ours, and many words and emoji are not spelled without joiners."""
_MUTE = ("Cc", "Cf", "Cs")


class Terminal(Console):
    """As rich's, whose own styles and cursor pass; of texts, all that can be seen."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """What is shown, piece by piece."""
        for piece in super().render(renderable, options):
            if piece.control or piece.text.isprintable():
                yield piece
            else:
                yield Segment(_shown(piece.text), piece.style)


def _shown(text: str) -> str:
    return "".join(one for one in text if one in _KEPT or unicodedata.category(one) not in _MUTE)


out = Terminal()
err = Terminal(stderr=True)

StorePath = Annotated[
    Path | None,
    typer.Option(
        "--store", envvar="CONTEXTUNE_STORE", help="The store's file; default: in your data folder."
    ),
]


def store_path(path: Path | None) -> Path:
    """Where the store is that is meant: at `path`, or in the user's data folder."""
    if path is not None:
        return path
    return platformdirs.user_data_path("contextune", appauthor=False, ensure_exists=True) / "contextune.db"


def open_store(path: Path | None) -> SQLiteStore:
    """The store at `path`, or the user's own."""
    return SQLiteStore(store_path(path))


def whose(store: Store, user: str | None) -> str:
    """The user who is meant: who is named, or else the only one there is."""
    if user is not None:
        return user
    users = store.users()
    if not users:
        raise InvalidRequestError("the store is empty: contextune import PATH… fills it with your own files")
    if len(users) > 1:
        raise InvalidRequestError(f"the store has {len(users)} users: say with --user whose data is meant")
    return users[0]


def error(message: str) -> None:
    """One line on standard error."""
    err.print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True, highlight=False)


@contextmanager
def progress(title: str, total: int | None = None, *, sized: bool = False) -> Generator[types.Progress]:
    """A bar on standard error; what it yields takes how much is done, of how much: things, or bytes."""
    count = DownloadColumn() if sized else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), count, TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(title, total=total)

        def update(done: int, of: int) -> None:
            bar.update(task, completed=done, total=of)

        yield update


def results(table: ResultTable, folder: Path | None) -> None:
    """What was measured; written to a folder too, if one is named."""
    for part in to_rich(table):
        out.print(part)
    if folder:
        write(table, folder)
        out.print(f"Written to {folder}.", markup=False)


def hits(found: Sequence[ItemHit], *, title: str, marked: frozenset[str] = frozenset()) -> None:
    """Ranked items as a table; ids in `marked` get a tick."""
    table = Table(title=escape(title), title_justify="left", title_style="bold", header_style="dim")
    table.add_column("", justify="right")
    table.add_column("score", justify="right")
    table.add_column("from")
    table.add_column("item", ratio=1)
    table.add_column("when", no_wrap=True)
    table.add_column("why")
    for rank, hit in enumerate(found, 1):
        item = hit.item
        tick = "[green]✓[/]" if item.id in marked else ""
        why = escape("; ".join(hit.reasons))
        table.add_row(
            f"{tick} {rank}", f"{hit.score:.3f}", escape(item.app), escape(item.title), _when(item), why
        )
    out.print(table)


def tools(found: Sequence[ToolHit], *, right: str | None = None) -> None:
    """The best tools in one line; the right one gets a tick."""
    names = [f"{'[green]✓[/] ' if hit.tool.name == right else ''}{escape(hit.tool.name)}" for hit in found]
    out.print(f"tools: {', '.join(names)}")


def plan(found: Plan | None, items: Sequence[Item], *, right: bool | None = None) -> None:
    """The call in one line, then where each value comes from and what is still to be asked."""
    if found is None:
        out.print("plan: none")
        return
    tick = "[green]✓[/] " if right else ""
    out.print(f"plan: {tick}[bold]{escape(explain.call(found))}[/]", highlight=False, soft_wrap=True)
    for name, said in explain.reasons(found, {item.id: item for item in items}):
        out.print(f"  {escape(name)}: {escape(said)}", highlight=False, soft_wrap=True, style="dim")
    for one in found.missing:
        out.print(f"  to ask: {escape(one.question)}", highlight=False, soft_wrap=True)


def steps(found: Steps, items: Sequence[Item]) -> None:
    """Several calls, each as `plan` prints one; what is known only later is shown as where it will be."""
    known = {item.id: item for item in items}
    for place, one in enumerate(found, 1):
        out.print(f"step {place}: [bold]{escape(explain.call(one))}[/]", highlight=False, soft_wrap=True)
        for name, said in explain.reasons(one, known):
            out.print(f"  {escape(name)}: {escape(said)}", highlight=False, soft_wrap=True, style="dim")
        for lacking in one.missing:
            out.print(f"  to ask: {escape(lacking.question)}", highlight=False, soft_wrap=True)


def _when(item: Item) -> str:
    return item.time.strftime("%a %d %b %H:%M") if item.time else ""
