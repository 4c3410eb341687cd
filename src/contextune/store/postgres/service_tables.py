"""`ServiceTables`: tokens and rate limits that the processes of a service share, in PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple

from contextune.errors import StoreError
from contextune.store.postgres.connections import PostgresDatabase, check_text

_TAKE = """
    INSERT INTO rates AS bucket (token, level, taken, time)
    SELECT id, %(burst)s - %(lease)s, %(lease)s, now() FROM tokens WHERE id = %(token)s
    ON CONFLICT (token) DO UPDATE SET (level, taken, time) = (
        SELECT available - amount, amount, greatest(bucket.time, now())
        FROM (SELECT least(
            %(burst)s,
            bucket.level + %(rate)s * greatest(0, extract(epoch FROM now() - bucket.time))
        )) AS refilled (available),
        LATERAL (SELECT CASE WHEN available < %(cost)s THEN 0 ELSE least(available, %(lease)s) END)
            AS given (amount)
    ) RETURNING taken, level"""


class TokenRow(NamedTuple):
    """A token: who owns it, and the digest of its secret."""

    id: str
    user: str
    digest: str
    made: str


class RateRow(NamedTuple):
    """What the bucket of a token held, and when, by the clock of the server."""

    level: float
    taken: float
    time: datetime


class Allowance(NamedTuple):
    """What a bucket has given for the requests of a token."""

    taken: float
    """0 if the bucket does not hold the cost of the request."""
    level: float
    """What is left."""


def user_digest(key: bytes, user: str) -> str:
    """The name of a user in notifications; the trigger `notify_user` computes the same."""
    return sha256(key + user.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class ServiceTables(PostgresDatabase):
    """Tokens and rates; with a pool of its own, so that requests are authenticated while all others wait."""

    def __init__(self, url: str, *, timeout: float = 30.0, max_connections: int = 2) -> None:
        super().__init__(url, timeout=timeout, max_connections=max_connections)

    def key(self) -> bytes:
        """The key of all digests, the same for every process; 32 random bytes."""
        return self._query("list", "secrets", "SELECT value FROM secrets WHERE name = 'key'")[0][0]

    def token_keys(self) -> list[bytes]:
        """The keys of the checksums in ids of tokens: that of this store, then those of copied tokens."""
        query = "SELECT value FROM secrets ORDER BY name <> 'key', name"
        return [row[0] for row in self._query("list", "secrets", query)]

    def add_token_key(self, key: bytes) -> None:
        """Accept the ids of tokens that another store has made, from the next start of each process on."""
        query = "INSERT INTO secrets (name, value) VALUES (%s, %s) ON CONFLICT DO NOTHING RETURNING name"
        name = f"copied {sha256(key).hexdigest()[:16]}"
        self._query("list", "secrets", query, (name, key), write=True)

    def token(self, token: str) -> TokenRow | None:
        """The token of this id."""
        query = "SELECT id, owner, digest, made FROM tokens WHERE id = %s"
        rows = self._query("token", token, query, (token,))
        return TokenRow(*rows[0]) if rows else None

    def tokens(self) -> list[TokenRow]:
        """All tokens, oldest first."""
        query = "SELECT id, owner, digest, made FROM tokens ORDER BY made, id"
        return [TokenRow(*row) for row in self._query("list", "tokens", query)]

    def add_token(self, token: TokenRow) -> None:
        """Store a new token."""
        check_text(token.user, "the user id")
        self._query(
            "token",
            token.id,
            "INSERT INTO tokens (id, owner, digest, made) VALUES (%s, %s, %s, %s) RETURNING id",
            token,
            write=True,
        )

    def remove_token(self, token: str) -> TokenRow | None:
        """Delete a token and notify all processes; None if there is no such token."""
        query = "DELETE FROM tokens WHERE id = %s RETURNING id, owner, digest, made"
        rows = self._query("token", token, query, (token,), write=True)
        return TokenRow(*rows[0]) if rows else None

    def take(self, token: str, *, cost: float, lease: float, rate: float, burst: float) -> Allowance | None:
        """Take `lease` requests of a token from its bucket, or what it holds if that is at least `cost`.

        The bucket holds `burst` requests, is full at first, and is refilled by `rate` a second of the clock
        of the server. None if there is no such token.
        """
        values = {"token": token, "cost": cost, "lease": lease, "rate": rate, "burst": burst}
        rows = self._query("token", token, _TAKE, values, write=True)
        return Allowance(*rows[0]) if rows else None

    def rate(self, token: str) -> RateRow | None:
        """The bucket of a token; None before its first request."""
        rows = self._query("token", token, "SELECT level, taken, time FROM rates WHERE token = %s", (token,))
        return RateRow(*rows[0]) if rows else None

    def put_rate(self, token: str, rate: RateRow) -> None:
        """Replace the bucket of a token."""
        query = """INSERT INTO rates (token, level, taken, time) VALUES (%s, %s, %s, %s)
            ON CONFLICT (token) DO UPDATE
            SET (level, taken, time) = (excluded.level, excluded.taken, excluded.time) RETURNING token"""
        self._query("token", token, query, (token, *rate), write=True)

    def existing_users(self, users: Sequence[str]) -> set[str]:
        """Those of the users that the store has."""
        query = "SELECT id FROM users WHERE id = ANY(%s)"
        return {row[0] for row in self._query("list", "ids", query, (list(users),))}

    def identity(self) -> tuple[object, ...]:
        """The same for all URLs of one database, and different for its copies."""
        query = "SELECT oid, pg_postmaster_start_time() FROM pg_database WHERE datname = current_database()"
        return self._query("list", "sizes", query)[0]

    def database_bytes(self) -> int:
        """The size of the database on the disk of the server, with all tables and indexes."""
        query = "SELECT pg_database_size(current_database())"
        return int(self._query("list", "sizes", query)[0][0])


def copy_tokens(source: ServiceTables, target: ServiceTables) -> int:
    """Copy all tokens, with what is left of their rates; return their number. Copying again changes nothing.

    A service over the target accepts them once it is started again. Raise `StoreError` if the target has
    another token of the same id.
    """
    known = set(target.token_keys())
    for key in source.token_keys():
        if key not in known:
            target.add_token_key(key)
    tokens, present = source.tokens(), {token.id: token for token in target.tokens()}
    for token in tokens:
        if token.id not in present:
            target.add_token(token)
            if rate := source.rate(token.id):
                target.put_rate(token.id, rate)
        elif present[token.id] != token:
            raise StoreError(
                f"the target has another token {token.id!r}: remove it there with "
                "'contextune serve token remove', and copy again"
            )
    return len(tokens)
