"""Bearer tokens in a store that several machines share; the counterpart of `TokenFile`."""

import hmac
import secrets
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING

from contextune.errors import InvalidRequestError
from contextune.serve.http.tokens import (
    PREFIX,
    ServiceToken,
    check_user,
    new_token_id,
    secret_digest,
    unknown_token,
)

if TYPE_CHECKING:
    from contextune.store.postgres.service_tables import ServiceTables

_ID_BYTES = 4


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
