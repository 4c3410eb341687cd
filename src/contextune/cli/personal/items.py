"""`contextune items`, `show`, `edit` and `delete`: look at items, correct and delete them."""

import json as json_module
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from contextune._internal.plural import pluralize
from contextune._internal.untrusted import neutralize
from contextune.cli import output
from contextune.cli.answer_text import item_title
from contextune.cli.options import StoreName, UserName, open_store, resolve_user
from contextune.cli.output import plain_table
from contextune.errors import InvalidRequestError

if TYPE_CHECKING:
    from contextune.store import ServiceStore
    from contextune.types import Item, User

ItemId = Annotated[str, typer.Argument(help="The id, or how it begins.", metavar="ID")]
_MAX_USES = 5
"""Uses of an item that `show` lists."""


def items(
    words: Annotated[list[str] | None, typer.Argument(help="Only items with all of these words.")] = None,
    app: Annotated[list[str] | None, typer.Option("--app", help="Only of this application.")] = None,
    since: Annotated[str | None, typer.Option(help="From this day or time on, as 2024-05-16.")] = None,
    until: Annotated[str | None, typer.Option(help="Up to this day or time, as 2024-05-16.")] = None,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, help="Number of items to print.")] = 20,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, with all fields.")] = False,
    user: UserName = None,
    store: StoreName = None,
) -> None:
    """List your items, newest first; filter by words, application and time."""
    from contextune.search import tokenize
    from contextune.types import format_item_time, local_time

    start, end = _start(since), _end(until)
    wanted = {word for text in words or () for word in tokenize(text)}
    apps = {name.casefold() for name in app or ()}
    with open_store(store) as opened:
        owner = opened.user(resolve_user(opened, user))
        every = opened.items(owner.id)
    matches: list[tuple[datetime, Item]] = []
    for item in every:
        moment = local_time(item.time, owner.zone) if item.time else datetime.min
        if (apps and item.app.casefold() not in apps) or not (start <= moment <= end):
            continue
        if wanted <= set(tokenize(item.text)):
            matches.append((moment, item))
    matches.sort(key=lambda match: (match[0], match[1].id), reverse=True)
    shown = [item for _, item in matches[:limit]]
    if json:
        rows: list[dict[str, Any]] = [
            {"id": item.id, "app": item.app, "fields": dict(item.fields)} for item in shown
        ]
        typer.echo(json_module.dumps(rows, ensure_ascii=False, indent=2, default=str))
        return
    table = [(item.id, item.app, item_title(item), format_item_time(item, owner.zone)) for item in shown]
    output.out.print(plain_table(("id", "from", "item", "when"), table, wrap=("item",)))
    rest = f", {limit:,} shown: -n {len(matches)} shows all" if len(matches) > limit else ""
    output.out.print(f"{pluralize(len(matches), 'item')} of {len(every):,}{rest}.", highlight=False)


def show(item: ItemId, user: UserName = None, store: StoreName = None) -> None:
    """Print an item: all fields, and when it was used."""
    with open_store(store) as opened:
        owner = opened.user(resolve_user(opened, user))
        found = _find_item(opened, owner, item)
        uses = opened.uses(owner.id, item=found.id)
    from contextune.types import format_item_time, format_time

    when = format_item_time(found, owner.zone)
    output.out.print(Text(item_title(found), "bold"))
    output.print_line(" · ".join(filter(None, (found.app, when, found.id))), style="dim")
    for name, value in found.fields.items():
        text = value if isinstance(value, str) else json_module.dumps(value, ensure_ascii=False, default=str)
        output.out.print(Text.assemble((f"{neutralize(name)}: ", "dim"), text))
    for use in uses[::-1][:_MAX_USES]:
        place = f" at {neutralize(use.place)}" if use.place else ""
        output.print_line(f"[dim]used:[/] {format_time(use.time, owner.zone)}{place}")
    if len(uses) > _MAX_USES:
        output.print_line(f"… and {len(uses) - _MAX_USES:,} times before", style="dim")


def edit(
    item: ItemId,
    changes: Annotated[
        list[str], typer.Argument(help="Fields to change; FIELD= removes one.", metavar="FIELD=VALUE…")
    ],
    user: UserName = None,
    store: StoreName = None,
) -> None:
    """Change fields of an item; importing a newer version of its source changes them back."""
    with open_store(store) as opened:
        owner = opened.user(resolve_user(opened, user))
        found = _find_item(opened, owner, item)
        fields = dict(found.fields)
        for change in changes:
            name, equals, value = change.partition("=")
            if not equals or not name:
                raise InvalidRequestError(f"not a change: {change!r} (write it as FIELD=VALUE)")
            if not value and name not in fields:
                raise InvalidRequestError(f"the item has no field {name!r} (fields: {', '.join(fields)})")
            if value:
                fields[name] = _field_value(value, fields.get(name))
            else:
                del fields[name]
        opened.put_items(owner.id, [replace(found, fields=fields)])
    show(found.id, owner.id, store)


def delete(
    items: Annotated[list[str], typer.Argument(help="The ids, or how they begin.", metavar="ID…")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    user: UserName = None,
    store: StoreName = None,
) -> None:
    """Delete items, with their uses and vectors; importing their source again brings them back."""
    with open_store(store) as opened:
        owner = opened.user(resolve_user(opened, user))
        found = {item.id: item for item in (_find_item(opened, owner, name) for name in items)}
        for item in found.values():
            output.out.print(f"{item.app}: {neutralize(item_title(item))}", markup=False, highlight=False)
        if not yes:
            typer.confirm(f"Delete {pluralize(len(found), 'item')}? This cannot be undone.", abort=True)
        deleted = opened.delete_items(owner.id, found)
    output.out.print(f"{pluralize(deleted, 'item')} deleted.", highlight=False)


def _find_item(store: "ServiceStore", owner: "User", name: str) -> "Item":
    """The item with this id, else the only one whose id begins so."""
    if exact := store.items(owner.id, [name]):
        return exact[0]
    matches = [item for item in store.items(owner.id) if name and item.id.startswith(name)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        ids = ", ".join(item.id for item in matches[:5])
        raise InvalidRequestError(f"{len(matches)} items have an id that begins with {name!r}: {ids}, …")
    raise InvalidRequestError(f"there is no item {name!r}: contextune items lists the ids")


def _field_value(value: str, before: object) -> object:
    """The value as the type of the one before: a list is written with commas, a number with digits."""
    if isinstance(before, Sequence) and not isinstance(before, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(before, int) and not isinstance(before, bool) and value.isdigit():
        return int(value)
    return value


def _start(text: str | None) -> datetime:
    return _moment(text) if text else datetime.min


def _end(text: str | None) -> datetime:
    """The end of a period; a day counts to its end."""
    if not text:
        return datetime.max
    moment = _moment(text)
    return moment if ":" in text else moment + timedelta(days=1, microseconds=-1)


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidRequestError(f"not a day or time: {text!r} (write it as 2024-05-16)") from None
    return datetime.combine(moment.date(), moment.time() if ":" in text else time.min)
