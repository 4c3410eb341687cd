"""Passwords of accounts: in the system's keyring, or in an environment variable."""

import os
from pathlib import Path
from typing import Any

from contextune.errors import MissingExtraError
from contextune.importers.live.accounts import SyncAccount, remove_accounts_of
from contextune.importers.live.source import SyncError

_SERVICE = "contextune sync"
_WITHOUT = "name an environment variable that has it with --password-env VARIABLE"


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
