"""Tables of stored texts, which may come from strangers."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from contextune._internal.untrusted import neutralize


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
