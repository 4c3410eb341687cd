"""Bearer tokens: digests in a file, or in a store that several machines share, each belonging to one user.

A token is `ctx_<id>_<secret>`. The id is public and selects the entry. The secret has 256 random bits, which
cannot be guessed, so a fast digest is sufficient; a slow password hash would only delay every request.
The id of a read-only token begins with `r`; it cannot be changed, as the secret belongs to the id.
"""

import hmac
import json
import os
import secrets
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import blake2b, sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

from contextune.errors import InvalidRequestError, MissingExtraError, StoreError

PREFIX = "ctx"
"""Of every token."""
_READ_ONLY = "r"
"""First letter of the ids of read-only tokens; other ids are hexadecimal."""
_DUMMY_DIGEST = "0" * 64
"""Compared with when the id is unknown, so that both cases take the same time."""

if TYPE_CHECKING:
    from contextune.store.postgres.service_tables import ServiceTables

_ID_BYTES = 4


@dataclass(frozen=True, slots=True)
class ServiceToken:
    """One entry of the file: the owner of a token and the digest of its secret."""

    id: str
    user: str
    digest: str
    made: str

    @property
    def read_only(self) -> bool:
        """Whether requests that store, change or delete something are refused."""
        return self.id.startswith(_READ_ONLY)


@dataclass(frozen=True, slots=True)
class _TokenFileState:
    key: bytes
    """Key of the keyed digests that replace users in logs."""
    tokens: Mapping[str, ServiceToken]


class TokenFile:
    """The file of tokens. Every process sees a change at its next request."""

    def __init__(self, path: str | Path, *, lock_timeout: float = 5.0) -> None:
        """`lock_timeout` is how many seconds to wait for another process that is writing the file."""
        self.path = Path(path).absolute()
        self._lock_timeout = lock_timeout
        self._cache_lock = Lock()
        self._cache_key: tuple[int, ...] = ()
        self._cache = _TokenFileState(b"", {})

    def authenticate(self, token: str) -> ServiceToken | None:
        """The entry of a valid token, else None; compares in constant time."""
        token_id, secret = split_token(token)
        entry = self._load().tokens.get(token_id)
        return entry if is_valid(entry, secret) else None

    def pseudonym(self, user: str) -> str:
        """A stable identifier of the user for logs; it cannot be reversed without this file."""
        return blake2b(user.encode("utf-8", "surrogatepass"), key=self._load().key, digest_size=6).hexdigest()

    def all(self) -> list[ServiceToken]:
        """All tokens, oldest first."""
        return list(self._load().tokens.values())

    def add(self, user: str, *, read_only: bool = False) -> str:
        """Create a token for a user and return it; only its digest is stored."""
        check_user(user)
        secret = secrets.token_urlsafe(32)
        made = datetime.now(UTC).isoformat(timespec="seconds")
        token = ServiceToken(new_token_id(read_only=read_only), user, secret_digest(secret), made)
        with self._write_lock():
            state = self._load()
            key = state.key or secrets.token_bytes(32)
            self._save(_TokenFileState(key, {**state.tokens, token.id: token}))
        return f"{PREFIX}_{token.id}_{secret}"

    def put(self, tokens: Iterable[ServiceToken]) -> None:
        """Add tokens of another store; raise `StoreError` if there is another one of the same id."""
        with self._write_lock():
            state = self._load()
            merged = dict(state.tokens)
            for token in tokens:
                if merged.setdefault(token.id, token) != token:
                    raise StoreError(
                        f"{str(self.path)!r} has another token {token.id!r}: choose another file of tokens"
                    )
            self._save(_TokenFileState(state.key or secrets.token_bytes(32), merged))

    def remove(self, token_id: str) -> ServiceToken:
        """Revoke a token by its id; it is invalid from the next request on."""
        with self._write_lock():
            state = self._load()
            if token_id not in state.tokens:
                raise InvalidRequestError(unknown_token(token_id))
            rest = {other: token for other, token in state.tokens.items() if other != token_id}
            self._save(_TokenFileState(state.key, rest))
        return state.tokens[token_id]

    def _load(self) -> _TokenFileState:
        """The current content, cached until the file changes; a missing file has no tokens."""
        try:
            stat = self.path.stat()
        except FileNotFoundError:
            return _TokenFileState(b"", {})
        except OSError as error:
            raise StoreError(f"cannot read the token file {str(self.path)!r}: {error.strerror}") from error
        cache_key = stat.st_mtime_ns, stat.st_size, stat.st_ino
        with self._cache_lock:
            if cache_key != self._cache_key:
                self._cache, self._cache_key = _read(self.path), cache_key
            return self._cache

    @contextmanager
    def _write_lock(self) -> Generator[None]:
        """Exclude other writers. The operating system releases the lock when its holder dies."""
        try:
            from filelock import FileLock, Timeout
        except ModuleNotFoundError as error:
            raise MissingExtraError("changing tokens", "serve") from error
        lock = FileLock(f"{self.path}.lock", timeout=self._lock_timeout, mode=0o600)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        except Timeout:
            raise StoreError(
                f"the token file {str(self.path)!r} is locked by another command: try again when it has ended"
            ) from None
        except OSError as error:
            raise self._write_error(error) from error
        try:
            yield
        finally:
            lock.release()

    def _save(self, state: _TokenFileState) -> None:
        """Replace the file atomically; needs the write lock."""
        data = {"key": state.key.hex(), "tokens": [asdict(token) for token in state.tokens.values()]}
        temporary = self.path.with_name(f"{self.path.name}.new")
        try:
            temporary.unlink(missing_ok=True)  # left by a process that was killed while writing
            descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as target:
                json.dump(data, target, indent=1)
                target.flush()
                os.fsync(target.fileno())
            temporary.replace(self.path)
        except OSError as error:
            raise self._write_error(error) from error

    def _write_error(self, error: OSError) -> StoreError:
        return StoreError(f"cannot write the token file {str(self.path)!r}: {error.strerror}")


def new_token_id(*, read_only: bool) -> str:
    """A random id of eight letters and digits that says what the token may do."""
    token_id = secrets.token_hex(4)
    return f"{_READ_ONLY}{token_id[1:]}" if read_only else token_id


def split_token(token: str) -> tuple[str, str]:
    """The id and the secret of a token; the id is empty if it is not a token."""
    prefix, _, rest = token.partition("_")
    token_id, _, secret = rest.partition("_")
    return (token_id if prefix == PREFIX else ""), secret


def is_valid(entry: ServiceToken | None, secret: str) -> bool:
    """Whether the secret is that of the entry; compares in constant time, also without an entry."""
    valid = hmac.compare_digest(entry.digest if entry else _DUMMY_DIGEST, secret_digest(secret))
    return entry is not None and valid


def check_user(user: str) -> str:
    """Return the id of a user; raise `InvalidRequestError` if no token can be made for it."""
    if not user or not user.isprintable():
        raise InvalidRequestError(f"invalid user id {user!r}: use printable characters")
    return user


def unknown_token(token_id: str) -> str:
    """What to say of a token id that does not exist."""
    return f"no such token: {token_id!r} ('contextune serve token list' shows all ids)"


def secret_digest(secret: str) -> str:
    """What is stored of the secret of a token."""
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _read(path: Path) -> _TokenFileState:
    try:
        data = cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8")))
        tokens = [
            ServiceToken(**{name: str(value) for name, value in entry.items()}) for entry in data["tokens"]
        ]
        key = bytes.fromhex(data["key"])
        if len(key) != 32:
            raise ValueError
        return _TokenFileState(key, {token.id: token for token in tokens})
    except (ValueError, TypeError, KeyError, AttributeError):
        raise StoreError(f"{str(path)!r} is not a token file: choose another path, or restore it") from None
    except OSError as error:
        raise StoreError(f"cannot read the token file {str(path)!r}: {error.strerror}") from error


class TokenTable:
    """The table of tokens. An id ends with its checksum, so that invented ids cost no query."""

    def __init__(self, tables: "ServiceTables") -> None:
        self._tables = tables
        self._keys = tables.token_keys()
        self.key = self._keys[0]

    def is_id(self, token_id: str) -> bool:
        """Whether this store has made the id, or one that was copied into it."""
        start, checksum = token_id[: 2 * _ID_BYTES], token_id[2 * _ID_BYTES :].encode("utf-8", "replace")
        return any(hmac.compare_digest(checksum, _checksum(start, key).encode()) for key in self._keys)

    def pseudonym(self, user: str) -> str:
        """A stable identifier of the user for logs; it cannot be reversed without the key in the store."""
        return blake2b(user.encode("utf-8", "surrogatepass"), key=self.key, digest_size=6).hexdigest()

    def all(self) -> list[ServiceToken]:
        """All tokens, oldest first."""
        return [ServiceToken(*row) for row in self._tables.tokens()]

    def add(self, user: str, *, read_only: bool = False) -> str:
        """Create a token for a user and return it; only its digest is stored."""
        from contextune.store.postgres.service_tables import TokenRow

        secret, start = secrets.token_urlsafe(32), new_token_id(read_only=read_only)
        token_id = f"{start}{_checksum(start, self.key)}"
        made = datetime.now(UTC).isoformat(timespec="seconds")
        self._tables.add_token(TokenRow(token_id, check_user(user), secret_digest(secret), made))
        return f"{PREFIX}_{token_id}_{secret}"

    def remove(self, token_id: str) -> ServiceToken:
        """Revoke a token by its id; every process is notified."""
        removed = self._tables.remove_token(token_id)
        if removed is None:
            raise InvalidRequestError(unknown_token(token_id))
        return ServiceToken(*removed)


def _checksum(start: str, key: bytes) -> str:
    text = start.encode("utf-8", "replace")
    return blake2b(text, key=key, digest_size=_ID_BYTES, person=b"token id").hexdigest()
