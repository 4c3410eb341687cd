"""Who may ask: a file of tokens, each for one user. It holds digests only, and gives no token away.

A token is `ctx_<id>_<secret>`. The id is no secret and finds the line; the secret has 256 random bits, which
nobody guesses, so that a plain digest of it is enough and a slow one would only slow down every request.
"""

import hmac
import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import blake2b, sha256
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import Any, cast

from contextune.errors import InvalidRequestError, StoreError

_MARK = "ctx"
_NOBODY = "0" * 64
"""Compared with where there is no such token, so that looking for one takes as long as finding one."""


@dataclass(frozen=True, slots=True)
class ServiceToken:
    """One line of the file: whose token it is, and what its secret is checked against."""

    id: str
    user: str
    digest: str
    made: str


@dataclass(frozen=True, slots=True)
class _TokenFileState:
    key: bytes
    """Of the digests that stand for users in logs."""
    tokens: Mapping[str, ServiceToken]


class TokenFile:
    """The file of tokens. A change to it is seen by the next request, in every process."""

    def __init__(self, path: str | Path, *, patience: float = 5.0) -> None:
        """`patience` is how many seconds to wait for somebody else who is just writing."""
        self.path = Path(path).absolute()
        self._patience = patience
        self._lock = Lock()
        self._seen: tuple[int, ...] = ()
        self._read = _TokenFileState(b"", {})

    def user_of(self, token: str) -> ServiceToken | None:
        """Whose token it is, or None for nobody's; takes as long for one that is almost right."""
        mark, _, rest = token.partition("_")
        name, _, secret = rest.partition("_")
        found = self._file().tokens.get(name) if mark == _MARK else None
        right = hmac.compare_digest(found.digest if found else _NOBODY, _digest(secret))
        return found if found and right else None

    def alias(self, user: str) -> str:
        """What stands for the user in logs: the same every time, and of no use without this file."""
        return blake2b(user.encode("utf-8", "surrogatepass"), key=self._file().key, digest_size=6).hexdigest()

    def all(self) -> list[ServiceToken]:
        """All tokens, in the order they were made."""
        return list(self._file().tokens.values())

    def add(self, user: str) -> str:
        """A new token for the user. This is the only time it can be seen."""
        if not user or not user.isprintable():
            raise InvalidRequestError(f"{user!r} is no id of a user: give one that can be printed")
        secret = secrets.token_urlsafe(32)
        token = ServiceToken(
            secrets.token_hex(4), user, _digest(secret), datetime.now(UTC).isoformat(timespec="seconds")
        )
        with _LockedWrite(self.path, self._patience) as writing:
            file = self._file()
            writing.write(
                _TokenFileState(file.key or secrets.token_bytes(32), {**file.tokens, token.id: token})
            )
        return f"{_MARK}_{token.id}_{secret}"

    def remove(self, name: str) -> ServiceToken:
        """Take a token back, by its id; whoever holds it is turned away from now on."""
        with _LockedWrite(self.path, self._patience) as writing:
            file = self._file()
            if name not in file.tokens:
                raise InvalidRequestError(
                    f"there is no token {name!r}: contextune serve token list shows them"
                )
            writing.write(
                _TokenFileState(file.key, {key: one for key, one in file.tokens.items() if key != name})
            )
        return file.tokens[name]

    def _file(self) -> _TokenFileState:
        """What the file says now; none is one without tokens."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return _TokenFileState(b"", {})
        except OSError as error:
            raise StoreError(f"the tokens {str(self.path)!r} cannot be read: {error.strerror}") from error
        state = found.st_mtime_ns, found.st_size, found.st_ino
        with self._lock:
            if state != self._seen:
                self._read, self._seen = _read(self.path), state
            return self._read


class _LockedWrite:
    """The file beside the file, which only one can make: it holds what is to come, and keeps others out."""

    def __init__(self, path: Path, patience: float) -> None:
        self._path = path
        self._patience = patience
        self._new = path.with_name(f"{path.name}.new")
        self._written = False

    def __enter__(self) -> "_LockedWrite":
        """Keep others out."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._made()
        except OSError as error:
            raise StoreError(f"the tokens {str(self._path)!r} cannot be written: {error.strerror}") from error
        return self

    def _made(self) -> None:
        end = monotonic() + self._patience
        while True:
            try:
                os.close(os.open(self._new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                return
            except FileExistsError:
                if monotonic() > end:
                    raise StoreError(
                        f"{str(self._new)!r} is there: another command is writing tokens; wait for it, "
                        "or remove that file if there is none"
                    ) from None
            sleep(0.01)

    def __exit__(self, *_: object) -> None:
        """Let others in."""
        if not self._written:  # once written it has moved, and one that is there now is somebody else's
            self._new.unlink(missing_ok=True)

    def write(self, file: _TokenFileState) -> None:
        """Put this in the place of the file, wholly or not at all."""
        said = {"key": file.key.hex(), "tokens": [asdict(token) for token in file.tokens.values()]}
        with self._new.open("w", encoding="utf-8") as target:
            json.dump(said, target, indent=1)
            target.flush()
            os.fsync(target.fileno())
        self._new.replace(self._path)
        self._written = True


def _digest(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _read(path: Path) -> _TokenFileState:
    try:
        given = cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8")))
        tokens = [
            ServiceToken(**{name: str(value) for name, value in one.items()}) for one in given["tokens"]
        ]
        key = bytes.fromhex(given["key"])
        if len(key) != 32:
            raise ValueError
        return _TokenFileState(key, {token.id: token for token in tokens})
    except (ValueError, TypeError, KeyError, AttributeError):
        raise StoreError(f"{str(path)!r} is no file of tokens: name another, or restore it") from None
    except OSError as error:
        raise StoreError(f"the tokens {str(path)!r} cannot be read: {error.strerror}") from error
