"""Print the report of an import: counts by format, what was skipped, and why."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from contextune._internal.plural import pluralize
from contextune._internal.untrusted import neutralize
from contextune.cli import output

if TYPE_CHECKING:
    from contextune.importers import ImportReport
    from contextune.importers.files import SkippedEntry

_MAX_REASONS = 12
"""How many reasons for skipping are printed, the most frequent first."""


def print_report(
    report: "ImportReport",
    user: str,
    *,
    dry_run: bool = False,
    skipped: "Sequence[SkippedEntry] | None" = None,
) -> None:
    """Print the report; with `skipped`, every skipped entry instead of an example per reason."""
    if report.rows:
        table = Table("format", "application", header_style="dim")
        for column in ("items", "new", "changed"):
            table.add_column(column, justify="right")
        for row in report.rows:
            table.add_row(
                row.format, row.app, *(f"{number:,}" for number in (row.items, row.new, row.changed))
            )
        output.out.print(table)
    if skipped is not None:
        for entry in skipped:
            # file names are untrusted: they must not move the cursor
            line = f"skipped {neutralize(entry.where)}: {neutralize(entry.why)}"
            output.out.print(line, markup=False, highlight=False, soft_wrap=True)
    elif report.skipped:
        _print_reasons(report)
    for unread in report.unread_times:
        output.out.print(
            neutralize(str(unread)), style="yellow", markup=False, highlight=False, soft_wrap=True
        )
    if report.later:
        verb = "is" if report.later == 1 else "are"
        output.out.print(
            f"{pluralize(report.later, 'item')} {verb} dated later than the moment of the import, and kept: "
            "check this machine's clock, or pass --as-of.",
            style="yellow",
            highlight=False,
            soft_wrap=True,
        )
    prefix = "Dry run, nothing is written: " if dry_run else ""
    output.out.print(
        f"{prefix}{summarize(report)}. User: {neutralize(user)}.",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def _print_reasons(report: "ImportReport") -> None:
    table = Table(title="Skipped", title_justify="left", header_style="dim")
    table.add_column("times", justify="right")
    table.add_column("why", overflow="fold")
    table.add_column("such as", overflow="fold")
    for reason in report.skipped[:_MAX_REASONS]:
        table.add_row(f"{reason.count:,}", Text(neutralize(reason.why)), Text(neutralize(reason.where[0])))
    output.out.print(table)
    others = len(report.skipped) - _MAX_REASONS
    rest = f"… and for {pluralize(others, 'other reason')}. " if others > 0 else ""
    output.out.print(f"{rest}import --verbose lists every skipped entry.", style="dim", highlight=False)


def summarize(report: "ImportReport") -> str:
    """The counts of an import in one line."""
    return ", ".join(_counts(report))


def _counts(report: "ImportReport") -> Iterator[str]:
    if files := sum(report.files.values()):
        yield f"{pluralize(files, 'file')} with {report.size / 2**20:,.1f} MB read"
        yield f"{pluralize(report.items, 'item')} ({report.new:,} new, {report.changed:,} changed)"
    else:
        yield "No file was read"
    if report.uses:
        yield f"{pluralize(report.uses, 'use')} ({report.new_uses:,} new)"
    if report.contacts:
        yield f"{pluralize(report.contacts, 'contact')} ({report.new_contacts:,} new)"
    if report.gone:
        yield f"{pluralize(report.gone, 'item')} moved or cancelled"
    if unread := sum(unread.count for unread in report.unread_times):
        yield f"{pluralize(unread, 'time')} not readable"
    if skipped := sum(reason.count for reason in report.skipped):
        yield f"{skipped:,} skipped"
