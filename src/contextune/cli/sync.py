"""`contextune sync`: read mail, calendars and contacts from servers."""

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from contextune._internal.plural import pluralize
from contextune._internal.untrusted import neutralize
from contextune.cli import output
from contextune.cli.groups import command_group
from contextune.cli.imports.run import DEFAULT_USER
from contextune.cli.options import StoreName, open_store, resolve_user, store_path
from contextune.errors import ContextuneError, InvalidDataError, InvalidRequestError, UnknownUserError

if TYPE_CHECKING:
    from contextune.importers.live import SyncReport, SyncState
    from contextune.store import ServiceStore

app = command_group(help="Read mail, calendars and contacts from servers.")

Names = Annotated[list[str] | None, typer.Argument(help="Accounts; default: all.", metavar="[NAME]…")]


@app.command()
def add(
    url: Annotated[
        str, typer.Argument(help="imaps://host for mail, https://host/… for calendars and contacts.")
    ],
    username: Annotated[str, typer.Option("--username", help="The user name on the server.")],
    name: Annotated[
        str | None, typer.Option("--name", help="A name for the account; default: the host.")
    ] = None,
    user: Annotated[
        str | None,
        typer.Option("--user", help="Id of the user; default: the only one of the store, or “me”."),
    ] = None,
    password_env: Annotated[
        str,
        typer.Option(
            "--password-env", help="Environment variable with the password, instead of the keyring."
        ),
    ] = "",
    store: StoreName = None,
) -> None:
    """Add an account: check that the server accepts it, and keep its password in the system's keyring."""
    from contextune.importers.live import SyncAccount, SyncState
    from contextune.importers.live.accounts import read_password, store_password
    from contextune.importers.live.dav import DavSource
    from contextune.importers.live.run import open_source

    path = store_path(store)
    account = SyncAccount(name or "", url, username, user or "", password_env)
    account.check()
    account = replace(account, name=name or account.parts.hostname or url)
    if password_env:
        password = read_password(account)
    else:
        password = typer.prompt(
            f"Password of {username} (an app password, if the provider has them)", hide_input=True
        )
    with open_store(store, create=True) as opened:
        owner = DEFAULT_USER if user is None and not opened.users() else resolve_user(opened, user)
        account = replace(account, user=owner)
        with SyncState(SyncState.beside(path)) as state:
            if account.name in {other.name for other in state.accounts() if other.user != owner}:
                raise InvalidDataError(f"another user has an account {account.name}: choose another --name")
            source = open_source(account, password, state, datetime.now().astimezone())
            try:
                is_dav = isinstance(source, DavSource)
                count = source.collection_count() if is_dav else source.folder_count()
            finally:
                source.close()
            if not password_env:
                store_password(account, password)
            _put_user(opened, owner, username)
            state.add_account(account)
    output.out.print(
        f"{account.name}: {pluralize(count, 'collection' if is_dav else 'folder')}."
        " Read it with 'contextune sync run'.",
        markup=False,
        highlight=False,
    )


@app.command("list")
def list_(store: StoreName = None) -> None:
    """Print the accounts."""
    with _state(store) as state:
        accounts = state.accounts()
        table = Table("account", "address", "user name", "user", "last read", header_style="dim")
        table.add_column("items", justify="right")
        for account in accounts:
            items = f"{len(state.items(account.name)):,}"
            row = (
                account.name,
                account.url,
                account.username,
                account.user,
                account.last_run or "never",
                items,
            )
            table.add_row(*map(neutralize, row))
    if accounts:
        output.out.print(table)
    else:
        output.out.print("No accounts. Add one with 'contextune sync add URL --username NAME'.", markup=False)


@app.command()
def run(
    names: Names = None,
    embed: Annotated[bool, typer.Option(help="Embed the items now instead of at the first request.")] = True,
    store: StoreName = None,
) -> None:
    """Read what changed on the servers since the last time.

    Items that are gone from a server are deleted. Exit status: 0, or 1 if an account could not be read.
    """
    from contextune.importers.live import sync_account
    from contextune.importers.live.accounts import read_password

    failed = False
    with _state(store) as state, open_store(store) as opened:
        accounts = state.accounts(names or ())
        if not accounts:
            raise InvalidRequestError("no accounts: add one with 'contextune sync add URL --username NAME'")
        for account in accounts:
            try:
                with output.progress(f"Reading {neutralize(account.name)}") as update:
                    report = sync_account(
                        opened,
                        state,
                        account,
                        read_password(account),
                        progress=lambda count, update=update: update(count, count),
                    )
            except ContextuneError as error:
                output.print_error(str(error))
                failed = True
                continue
            _print_report(account.name, report)
        if embed:
            for user in dict.fromkeys(account.user for account in accounts):
                _embed(opened, user)
    if failed:
        raise typer.Exit(1)


@app.command()
def remove(
    name: Annotated[str, typer.Argument(help="The account.")],
    keep_items: Annotated[
        bool, typer.Option("--keep-items", help="Keep the items that came from it in the store.")
    ] = False,
    store: StoreName = None,
) -> None:
    """Remove an account, its password, and the items that came from it alone."""
    from contextune.importers.live.accounts import delete_password
    from contextune.importers.live.run import delete_items

    with _state(store) as state, open_store(store) as opened:
        (account,) = state.accounts([name])
        delete_password(account)
        gone = state.remove_account(name)
        deleted = 0
        if not keep_items and account.user in opened.users():
            deleted = delete_items(opened, account.user, gone).deleted
    output.out.print(f"{name} is removed, with {pluralize(deleted, 'item')}.", markup=False, highlight=False)


def _state(store: str | None) -> "SyncState":
    from contextune.importers.live import SyncState

    return SyncState(SyncState.beside(store_path(store)))


def _put_user(store: "ServiceStore", user: str, username: str) -> None:
    """Create the user if needed; a user name that is an address is one of their addresses."""
    from contextune.types import User

    try:
        owner = store.user(user)
    except UnknownUserError:
        owner = User(user)
    if "@" in username and username.casefold() not in owner.addresses:
        given: str | list[str] = owner.profile.get("email") or []
        emails = [given] if isinstance(given, str) else given
        owner = replace(owner, profile={**owner.profile, "email": [*emails, username]})
    store.put_user(owner)


def _embed(store: "ServiceStore", user: str) -> None:
    from contextune.tuner import Tuner

    if user in store.users():
        with output.progress("Embedding") as update:
            Tuner(store, progress=update).prepare(user)


def _print_report(name: str, report: "SyncReport") -> None:
    parts = [f"{report.fetched:,} fetched", f"{report.new:,} new", f"{report.changed:,} changed"]
    parts.append(f"{report.deleted:,} deleted")
    if report.contacts or report.deleted_contacts:
        parts.append(f"{report.contacts:,} new and {report.deleted_contacts:,} deleted contacts")
    if skipped := report.skipped.total():
        parts.append(f"{skipped:,} skipped")
    output.out.print(
        f"{neutralize(name)}: {', '.join(parts)}.", markup=False, highlight=False, soft_wrap=True
    )
    for why, count in report.skipped.most_common(5):
        output.out.print(f"  {count:,} × {neutralize(why)}", markup=False, highlight=False, soft_wrap=True)
