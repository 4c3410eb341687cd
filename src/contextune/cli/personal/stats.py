"""`contextune stats`: a user's own data over time, by application, with what was used and found."""

import json as json_module
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from contextune._internal.plural import pluralize
from contextune.cli import output
from contextune.cli.answer_text import item_title
from contextune.cli.options import StoreName, UserName, open_store, resolve_user
from contextune.cli.output import plain_table

if TYPE_CHECKING:
    from contextune.store import ServiceStore
    from contextune.types import Feedback, Item, Progress, UsageEvent, User

_PAGE = 5_000
"""Items or uses that are read together."""
_BAR = 40
"""Characters of the longest bar."""
_TOP = 5
"""Items and tools that are listed."""


@dataclass(frozen=True, slots=True)
class AppStats:
    """Counts of one application."""

    app: str
    items: int
    first: str
    last: str
    """Days of the oldest and of the latest item."""
    used_items: int
    uses: int
    last_use: str


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of a user's data; months are written as 2024-05."""

    items: int
    apps: tuple[AppStats, ...]
    items_by_month: dict[str, int]
    uses_by_month: dict[str, int]
    most_used: tuple[tuple[str, str, int], ...]
    """Application, title and number of uses."""
    requests: int
    """Requests with feedback."""
    right: int
    """Items that were found and right, by feedback."""
    wrong: int
    tools: dict[str, int]
    """Tools that were called, by feedback, without wrong ones."""


def stats(
    app: Annotated[list[str] | None, typer.Option("--app", help="Only of this application.")] = None,
    months: Annotated[int, typer.Option("--months", min=1, help="Number of months to print.")] = 12,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    user: UserName = None,
    store: StoreName = None,
) -> None:
    """Print your data over time and by application, with what was used and found."""
    with open_store(store) as opened, output.progress("Reading") as update:
        owner = opened.user(resolve_user(opened, user))
        items, uses = _read(opened, owner.id, update)
        feedback = opened.feedback(owner.id)
    if app:
        names = {name.casefold() for name in app}
        items = [item for item in items if item.app.casefold() in names]
        kept = {item.id for item in items}
        uses = [use for use in uses if use.item in kept]
    counts = count_data(owner, items, uses, feedback)
    if json:
        typer.echo(json_module.dumps(_to_json(counts), ensure_ascii=False, indent=2))
        return
    output.print_line(
        f"[bold]{pluralize(counts.items, 'item')}[/] of {pluralize(len(counts.apps), 'application')}, "
        f"{pluralize(len(uses), 'use')}, {pluralize(len(owner.contacts), 'contact')}, "
        f"{pluralize(len(owner.places), 'place')}"
    )
    if counts.items:
        _print_apps(counts)
        _print_months("Items by month", counts.items_by_month, months)
        _print_months("Uses by month", counts.uses_by_month, months)
        _print_use(counts)


def _read(store: "ServiceStore", user: str, progress: "Progress") -> "tuple[list[Item], list[UsageEvent]]":
    """All items and uses, page by page; `progress` is called with their number."""
    items, uses = store.items_page(user, limit=_PAGE), store.uses_page(user, limit=_PAGE)
    total = items.total + uses.total
    all_items, all_uses = items.entries, uses.entries
    progress(len(all_items) + len(all_uses), total)
    while items.next is not None:
        items = store.items_page(user, start=items.next, limit=_PAGE)
        all_items += items.entries
        progress(len(all_items) + len(all_uses), total)
    while uses.next is not None:
        uses = store.uses_page(user, start=uses.next, limit=_PAGE)
        all_uses += uses.entries
        progress(len(all_items) + len(all_uses), total)
    read = {item.id for item in all_items}  # another process may have added items meanwhile
    return all_items, [use for use in all_uses if use.item in read]


def count_data(
    user: "User", items: "Sequence[Item]", uses: "Sequence[UsageEvent]", feedback: "Sequence[Feedback]"
) -> Stats:
    """Count items and uses by application and month, on the user's clock, and what feedback says."""
    from contextune.types import local_time

    days = {item.id: local_time(item.time, user.zone) for item in items if item.time}
    use_count = Counter(use.item for use in uses)
    last_use = {use.item: local_time(use.time, user.zone) for use in uses}  # uses are sorted by time
    by_app: dict[str, list[Item]] = {}
    for item in items:
        by_app.setdefault(item.app, []).append(item)
    apps = [_count_app(app, group, days, use_count, last_use) for app, group in by_app.items()]
    titles = {item.id: (item.app, item_title(item)) for item in items}
    return Stats(
        items=len(items),
        apps=tuple(sorted(apps, key=lambda counts: (-counts.items, counts.app))),
        items_by_month=_by_month(days.values()),
        uses_by_month=_by_month(local_time(use.time, user.zone) for use in uses),
        most_used=tuple((*titles[item], count) for item, count in use_count.most_common(_TOP)),
        requests=len(feedback),
        right=sum(len(entry.used) for entry in feedback),
        wrong=sum(len(entry.rejected) for entry in feedback),
        tools=dict(Counter(entry.tool for entry in feedback if entry.tool and entry.ok).most_common()),
    )


def _count_app(
    app: str,
    items: "Sequence[Item]",
    days: dict[str, datetime],
    uses: Counter[str],
    last_use: dict[str, datetime],
) -> AppStats:
    times = sorted(days[item.id] for item in items if item.id in days)
    used = [item.id for item in items if item.id in uses]
    return AppStats(
        app,
        len(items),
        f"{times[0]:%Y-%m-%d}" if times else "",
        f"{times[-1]:%Y-%m-%d}" if times else "",
        len(used),
        sum(uses[item] for item in used),
        f"{max(last_use[item] for item in used):%Y-%m-%d}" if used else "",
    )


def _by_month(times: Iterable[datetime]) -> dict[str, int]:
    return dict(sorted(Counter(f"{time:%Y-%m}" for time in times).items()))


def _print_apps(counts: Stats) -> None:
    rows = [
        (row.app, f"{row.items:,}", row.first, row.last, f"{row.used_items:,}", f"{row.uses:,}", row.last_use)
        for row in counts.apps
    ]
    columns = ("application", "items", "first", "last", "used items", "uses", "last use")
    output.out.print()
    output.out.print(plain_table(columns, rows))


def _print_months(title: str, months: dict[str, int], limit: int) -> None:
    """A bar for each of the last months, also for those without any; later ones, of a calendar, as a sum."""
    if not months:
        return
    past = [month for month in months if month <= f"{datetime.now():%Y-%m}"] or list(months)
    shown = _calendar(past[-limit:], limit)
    most = max(months.get(month, 0) for month in shown)
    output.print_line(f"\n[bold]{title}[/]")
    for month in shown:
        count = months.get(month, 0)
        bar = "█" * max(round(_BAR * count / most), 1 if count else 0)
        output.print_line(f"{month}  [cyan]{bar}[/]{' ' if bar else ''}{count:,}")
    if later := sum(count for month, count in months.items() if month > shown[-1]):
        output.print_line(f"later    {later:,}", style="dim")


def _calendar(months: Sequence[str], limit: int) -> list[str]:
    """All months up to the last one, at most `limit`, starting at the first."""
    year, month = (int(part) for part in months[-1].split("-"))
    calendar: list[str] = []
    while len(calendar) < limit and f"{year:04}-{month:02}" >= months[0]:
        calendar.append(f"{year:04}-{month:02}")
        year, month = (year, month - 1) if month > 1 else (year - 1, 12)
    return calendar[::-1]


def _print_use(counts: Stats) -> None:
    if counts.most_used:
        output.print_line("\n[bold]Most used[/]")
        rows = [(f"{count:,}", app, title) for app, title, count in counts.most_used]
        output.out.print(plain_table(("uses", "from", "item"), rows, wrap=("item",)))
    output.print_line("\n[bold]Found[/]")
    if not counts.requests:
        output.print_line(
            "No feedback yet: it is given in the inspector, over HTTP and MCP, and by Tuner.feedback.",
            style="dim",
        )
        return
    output.print_line(
        f"{pluralize(counts.requests, 'request')} with feedback: "
        f"{pluralize(counts.right, 'item')} right, {counts.wrong:,} wrong"
    )
    for tool, count in list(counts.tools.items())[:_TOP]:
        output.out.print(f"{count:,}  {tool}", markup=False, highlight=False)


def _to_json(counts: Stats) -> dict[str, Any]:
    from dataclasses import asdict

    most_used = [{"app": app, "title": title, "uses": uses} for app, title, uses in counts.most_used]
    return {**asdict(counts), "most_used": most_used}
