"""Passwords in the keyring and in environment variables; accounts and their addresses."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

keyring: Any = pytest.importorskip("keyring")

from keyring.backend import KeyringBackend  # noqa: E402
from keyring.backends import fail  # noqa: E402

from contextune.errors import InvalidDataError  # noqa: E402
from contextune.importers.live.accounts import (  # noqa: E402  # noqa: E402
    SyncAccount,
    SyncState,
    delete_password,
    forget_accounts,
    read_password,
    store_password,
)
from contextune.importers.live.source import SyncError  # noqa: E402

ACCOUNT = SyncAccount("post", "imaps://mail.example.com", "ines@example.com", "ines")


class MemoryKeyring(KeyringBackend):
    """A keyring in memory."""

    priority = 1  # pyright: ignore[reportAssignmentType, reportUnannotatedClassAttribute]

    def __init__(self) -> None:
        super().__init__()
        self.passwords: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.passwords.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.passwords[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.passwords.pop((service, username), None) is None:
            raise keyring.errors.PasswordDeleteError


@pytest.fixture
def memory() -> Iterator[MemoryKeyring]:
    before = keyring.get_keyring()
    backend = MemoryKeyring()
    keyring.set_keyring(backend)
    yield backend
    keyring.set_keyring(before)


def test_password_is_kept_in_the_keyring(memory: MemoryKeyring) -> None:
    with pytest.raises(SyncError, match="the keyring has no password"):
        read_password(ACCOUNT)
    store_password(ACCOUNT, "secret")
    assert read_password(ACCOUNT) == "secret"
    delete_password(ACCOUNT)
    delete_password(ACCOUNT)
    assert not memory.passwords


def test_system_without_a_keyring_is_told_what_to_do(memory: MemoryKeyring) -> None:
    keyring.set_keyring(fail.Keyring())
    for action in (lambda: read_password(ACCOUNT), lambda: store_password(ACCOUNT, "x")):
        with pytest.raises(SyncError, match=r"no keyring for the password: .*--password-env"):
            action()


def test_password_in_an_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    account = SyncAccount("post", "imaps://mail.example.com", "ines", "ines", "POST_PASSWORD")
    with pytest.raises(SyncError, match="POST_PASSWORD is empty"):
        read_password(account)
    monkeypatch.setenv("POST_PASSWORD", "secret")
    assert read_password(account) == "secret"


def test_no_password_is_in_the_state(tmp_path: Path, memory: MemoryKeyring) -> None:
    path = SyncState.beside(tmp_path / "me.db")
    with SyncState(path) as state:
        state.add_account(ACCOUNT)
        store_password(ACCOUNT, "open sesame")
        state.put_resources("post", {("INBOX", "1/2"): "1"}, {("INBOX", "1/2"): ["mail-1"]}, "2024-05-16")
        assert state.items("post") == {"mail-1"}
    assert b"sesame" not in path.read_bytes()
    assert path.stat().st_mode & 0o077 == 0
    forget_accounts(tmp_path / "me.db", "ines")
    assert not memory.passwords
    assert b"mail.example.com" not in path.read_bytes()


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("mail.example.com", "write it as imaps://host"),
        ("ftp://example.com", "write it as imaps://host"),
        ("imaps://", "write it as imaps://host"),
        ("https://example.com:99999/", "write it as imaps://host"),
        ("https://ines:secret@example.com/", "pass it as --username"),
        ("http://example.com/dav", "unencrypted"),
    ],
)
def test_unusable_addresses_are_refused(url: str, why: str) -> None:
    with pytest.raises(InvalidDataError, match=why) as caught:
        SyncAccount("x", url, "ines", "ines").check()
    assert "secret" not in str(caught.value)


def test_unknown_account_is_named_with_the_known_ones(tmp_path: Path) -> None:
    with SyncState(tmp_path / "s") as state:
        state.add_account(ACCOUNT)
        with pytest.raises(InvalidDataError, match=r"no such account: mail .*post"):
            state.accounts(["mail"])
