"""Accounts on servers, what was read from each, and their passwords.

A small database beside the store holds addresses of servers, user names, marks of versions and ids of items,
but no password or text. Passwords are in the system's keyring, or in an environment variable.
"""

import os
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import SplitResult, urlsplit

from contextune.errors import InvalidDataError, MissingExtraError
from contextune.importers.live.source import SyncError

IMAP, DAV = "imap", "dav"
_KINDS = {"imap": IMAP, "imaps": IMAP, "http": DAV, "https": DAV}
_SCHEMA = """
CREATE TABLE IF NOT EXISTS accounts (
    name TEXT PRIMARY KEY, url TEXT NOT NULL, username TEXT NOT NULL, user TEXT NOT NULL,
    password_variable TEXT NOT NULL, last_run TEXT NOT NULL DEFAULT ''
);
CREATE TABLE IF NOT EXISTS collections (
    account TEXT NOT NULL, collection TEXT NOT NULL, mark TEXT NOT NULL, PRIMARY KEY (account, collection)
);
CREATE TABLE IF NOT EXISTS resources (
    account TEXT NOT NULL, collection TEXT NOT NULL, resource TEXT NOT NULL, version TEXT NOT NULL,
    read_on TEXT NOT NULL, PRIMARY KEY (account, collection, resource)
);
CREATE TABLE IF NOT EXISTS items (
    account TEXT NOT NULL, collection TEXT NOT NULL, resource TEXT NOT NULL, item TEXT NOT NULL,
    PRIMARY KEY (account, collection, resource, item)
);
CREATE INDEX IF NOT EXISTS items_by_item ON items (item);
"""
_SERVICE = "contextune sync"
_WITHOUT = "name an environment variable that has it with --password-env VARIABLE"


@dataclass(frozen=True, slots=True)
class SyncAccount:
    """An account on a server, and the user whose data it has."""

    name: str
    url: str
    """imaps://, imap://, https:// or http://, without user name and password."""
    username: str
    user: str
    password_variable: str = ""
    """The environment variable with the password; empty if it is in the system's keyring."""
    last_run: str = ""

    @property
    def kind(self) -> str:
        """`IMAP` or `DAV`."""
        return _KINDS[self.parts.scheme]

    @property
    def parts(self) -> SplitResult:
        """The parts of the address."""
        return urlsplit(self.url)

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine, so that nobody can listen."""
        return self.parts.hostname in ("localhost", "127.0.0.1", "::1")

    def check(self) -> None:
        """Raise `InvalidDataError` if the address cannot be used."""
        try:
            scheme, host, port = self.parts.scheme, self.parts.hostname, self.parts.port
        except ValueError:
            scheme, host, port = "", "", 0
        if scheme not in _KINDS or not host or port == 0:
            raise InvalidDataError(
                f"{self.url!r} is not the address of a server: write it as imaps://host or https://host/path"
            )
        if self.parts.username or self.parts.password:
            raise InvalidDataError("the address contains a user name: pass it as --username instead")
        if scheme == "http" and not self.is_local:
            raise InvalidDataError(f"{self.url}: the password would be sent unencrypted; use https://")


class SyncState:
    """The accounts of a store, and which items came from which resource of a server."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path)
        path.chmod(0o600)
        self._database.executescript(_SCHEMA)

    @staticmethod
    def beside(store: Path) -> Path:
        """Where the state of a store is."""
        return store.with_name(f"{store.name}.sync")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def add_account(self, account: SyncAccount) -> None:
        """Add an account, or replace the one with the same name; what was read from it stays known."""
        account.check()
        with self._database:
            row = astuple(account)
            self._database.execute("INSERT OR REPLACE INTO accounts VALUES (?, ?, ?, ?, ?, ?)", row)

    def accounts(self, names: Collection[str] = ()) -> list[SyncAccount]:
        """All accounts, or those with these names; raises `InvalidDataError` for an unknown name."""
        rows = self._database.execute("SELECT * FROM accounts ORDER BY name").fetchall()
        accounts = {row[0]: SyncAccount(*row) for row in rows}
        for name in names:
            if name not in accounts:
                known = ", ".join(accounts) or "none"
                raise InvalidDataError(
                    f"no such account: {name} (accounts: {known}; add one with 'sync add')"
                )
        return [account for account in accounts.values() if not names or account.name in names]

    def remove_account(self, name: str) -> list[str]:
        """Remove an account; the items that came from it alone."""
        with self._database:
            rows = self._database.execute("SELECT item FROM items WHERE account = ?", (name,)).fetchall()
            for table in ("items", "resources", "collections"):
                self._database.execute(f"DELETE FROM {table} WHERE account = ?", (name,))  # noqa: S608
            self._database.execute("DELETE FROM accounts WHERE name = ?", (name,))
            return self._unreferenced({item for (item,) in rows})

    def set_last_run(self, name: str, time: str) -> None:
        """Record when an account was read."""
        with self._database:
            self._database.execute("UPDATE accounts SET last_run = ? WHERE name = ?", (time, name))

    def collections(self, account: str) -> dict[str, str]:
        """The mark of each collection: what tells the server which changes are known."""
        query = "SELECT collection, mark FROM collections WHERE account = ?"
        return dict(self._database.execute(query, (account,)).fetchall())

    def resources(self, account: str, collection: str) -> dict[str, str]:
        """The version of each resource of a collection."""
        query = "SELECT resource, version FROM resources WHERE account = ? AND collection = ?"
        return dict(self._database.execute(query, (account, collection)).fetchall())

    def items(self, account: str) -> frozenset[str]:
        """The ids of all items and contacts that came from an account."""
        query = "SELECT DISTINCT item FROM items WHERE account = ?"
        return frozenset(item for (item,) in self._database.execute(query, (account,)))

    def stale_series(self, account: str, collection: str, before: str) -> list[str]:
        """Resources with recurring events that were read before a day, and must be expanded again."""
        query = """
            SELECT DISTINCT resource FROM resources JOIN items USING (account, collection, resource)
            WHERE account = ? AND collection = ? AND read_on < ? AND item LIKE '%-%-%'
                AND item NOT LIKE 'contact %'"""
        return [resource for (resource,) in self._database.execute(query, (account, collection, before))]

    def put_resources(
        self,
        account: str,
        versions: Mapping[tuple[str, str], str],
        items: Mapping[tuple[str, str], Sequence[str]],
        day: str,
    ) -> list[str]:
        """Record resources and their items, by collection and resource; items that none has any more."""
        with self._database:
            former = self._take_items(account, versions)
            self._database.executemany(
                "INSERT OR REPLACE INTO resources VALUES (?, ?, ?, ?, ?)",
                [(account, *key, version, day) for key, version in versions.items()],
            )
            self._database.executemany(
                "INSERT OR IGNORE INTO items VALUES (?, ?, ?, ?)",
                [(account, *key, item) for key in versions for item in items.get(key, ())],
            )
            return self._unreferenced(former)

    def remove_resources(self, account: str, keys: Collection[tuple[str, str]]) -> list[str]:
        """Forget resources; the items that no other resource has."""
        with self._database:
            former = self._take_items(account, keys)
            self._database.executemany(
                "DELETE FROM resources WHERE account = ? AND collection = ? AND resource = ?",
                [(account, *key) for key in keys],
            )
            return self._unreferenced(former)

    def put_collections(self, account: str, marks: Mapping[str, str]) -> None:
        """Record the marks of collections, and forget all others."""
        with self._database:
            self._database.execute("DELETE FROM collections WHERE account = ?", (account,))
            self._database.executemany(
                "INSERT INTO collections VALUES (?, ?, ?)",
                [(account, collection, mark) for collection, mark in marks.items()],
            )

    def known_collections(self, account: str) -> frozenset[str]:
        """Collections of which resources are known."""
        query = "SELECT DISTINCT collection FROM resources WHERE account = ?"
        return frozenset(collection for (collection,) in self._database.execute(query, (account,)))

    def _take_items(self, account: str, keys: Iterable[tuple[str, str]]) -> set[str]:
        former: set[str] = set()
        where = "WHERE account = ? AND collection = ? AND resource = ?"
        for key in keys:
            values = (account, *key)
            former.update(
                item
                for (item,) in self._database.execute(f"SELECT item FROM items {where}", values)  # noqa: S608
            )
            self._database.execute(f"DELETE FROM items {where}", values)  # noqa: S608
        return former

    def _unreferenced(self, items: Collection[str]) -> list[str]:
        query = "SELECT 1 FROM items WHERE item = ?"
        return sorted(item for item in items if not self._database.execute(query, (item,)).fetchone())


def remove_accounts_of(store: Path, user: str) -> list[SyncAccount]:
    """Erase the accounts of a user, down to the bytes in the file; the accounts."""
    path = SyncState.beside(store)
    if not path.exists():
        return []
    with SyncState(path) as state:
        accounts = [account for account in state.accounts() if account.user == user]
        for account in accounts:
            state.remove_account(account.name)
    if accounts:
        with closing(sqlite3.connect(path)) as database:
            database.execute("VACUUM")
    return accounts


def read_password(account: SyncAccount) -> str:
    """The password of an account; raises `SyncError` if there is none."""
    if variable := account.password_variable:
        password = os.environ.get(variable)
        if not password:
            raise SyncError(
                f"{account.name}: the environment variable {variable} is empty: set it to the password"
            )
        return password
    keyring = _keyring()
    try:
        password = keyring.get_password(_SERVICE, _key(account))
    except keyring.errors.KeyringError as error:
        raise _failure(error) from None
    if not password:
        raise SyncError(
            f"{account.name}: the keyring has no password: add the account again with 'contextune sync add'"
        )
    return password


def store_password(account: SyncAccount, password: str) -> None:
    """Store the password of an account in the system's keyring."""
    keyring = _keyring()
    try:
        keyring.set_password(_SERVICE, _key(account), password)
    except keyring.errors.KeyringError as error:
        raise _failure(error) from None


def delete_password(account: SyncAccount) -> None:
    """Delete the password of an account from the keyring, if it is there."""
    if account.password_variable:
        return
    keyring = _keyring()
    try:
        keyring.delete_password(_SERVICE, _key(account))
    except keyring.errors.KeyringError:
        return


def forget_accounts(store: Path, user: str) -> None:
    """Erase the accounts of a user on servers, and their passwords in the keyring."""
    for account in remove_accounts_of(store, user):
        delete_password(account)


def _key(account: SyncAccount) -> str:
    return f"{account.name} {account.username}"


def _failure(error: Exception) -> SyncError:
    if type(error).__name__ == "NoKeyringError":
        return SyncError(f"this system has no keyring for the password: {_WITHOUT}")
    return SyncError(f"the keyring does not open ({type(error).__name__}): unlock it, or {_WITHOUT}")


def _keyring() -> Any:
    """The module."""
    try:
        import keyring
    except ImportError:
        raise MissingExtraError("the system's keyring", "sync") from None
    return keyring
