"""Authentication and rate limits: by a file on this machine, or by a store that several machines share."""

import asyncio
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from math import ceil
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from contextune.errors import ContextuneError
from contextune.serve.http import errors
from contextune.serve.http.limits import RateLimiter
from contextune.serve.http.settings import ServiceLimits
from contextune.serve.http.tokens import ServiceToken, TokenFile, TokenTable, is_valid, split_token

if TYPE_CHECKING:
    from contextune.store.postgres.service_tables import ServiceTables

_THREADS = 2
_LEASES_PER_BURST = 8
_MAX_SECONDS = 1.0
"""Seconds for which a lease, and with it a token, is trusted without asking the store."""
_MAX_LEASES = 10_000


class Credentials(Protocol):
    """Decides who makes a request, and whether it may be made now."""

    async def admit(self, token: str, cost: float) -> ServiceToken:
        """The entry of a valid token within its rate limit; raises an `ApiError` otherwise."""
        ...

    def pseudonym(self, user: str) -> str:
        """A stable identifier of the user for logs."""
        ...

    def close(self) -> None:
        """Close what it has opened."""
        ...


class FileCredentials:
    """A `TokenFile`, and buckets in the memory of this process."""

    def __init__(self, tokens: TokenFile, limits: ServiceLimits) -> None:
        self._tokens = tokens
        self._rates = RateLimiter(limits.rate, limits.burst)

    async def admit(self, token: str, cost: float) -> ServiceToken:
        """The entry of a valid token within its rate limit; raises an `ApiError` otherwise."""
        entry = self._tokens.authenticate(token)
        if entry is None:
            raise errors.unauthorized()
        if seconds := self._rates.take(entry.id, cost):
            raise errors.rate_limited(seconds)
        return entry

    def pseudonym(self, user: str) -> str:
        """A stable identifier of the user for logs."""
        return self._tokens.pseudonym(user)

    def close(self) -> None:
        """There is nothing to close."""


@dataclass(slots=True)
class _Lease:
    """A token, and requests that were taken from its bucket in the store and not made yet."""

    token: ServiceToken
    left: float
    end: float
    """When the store is asked again; what is left then lapses, and has been refilled meanwhile."""


class StoreCredentials:
    """Tokens and buckets in the store.

    A process takes several requests from a bucket at once, so that a busy client does not cost a query each
    time. Every query checks the token too: a removed one is refused after a second at the latest, even if the
    notification is lost.
    """

    def __init__(self, tables: "ServiceTables", limits: ServiceLimits) -> None:
        self._tables = tables
        self.tokens = TokenTable(tables)
        self._rate, self._burst = limits.rate, float(limits.burst)
        self._share = max(1.0, min(self._burst / _LEASES_PER_BURST, self._rate * _MAX_SECONDS))
        self._seconds = min(_MAX_SECONDS, self._share / self._rate)
        self._leases: OrderedDict[str, _Lease] = OrderedDict()
        self._lock = Lock()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="contextune-tokens")

    async def admit(self, token: str, cost: float) -> ServiceToken:
        """The entry of a valid token within its rate limit; raises an `ApiError` otherwise."""
        token_id, secret = split_token(token)
        if not self.tokens.is_id(token_id):
            raise errors.unauthorized()
        cost = min(cost, self._burst)
        lease = self._spend(token_id, secret, cost)
        if lease:
            return lease.token
        call = partial(self._renew, token_id, secret, cost)
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    def pseudonym(self, user: str) -> str:
        """A stable identifier of the user for logs."""
        return self.tokens.pseudonym(user)

    def revoke(self, token_id: str) -> None:
        """Ask the store again before the next request with this token."""
        with self._lock:
            self._leases.pop(token_id, None)

    def revoke_all(self) -> None:
        """Ask the store again for every token."""
        with self._lock:
            self._leases.clear()

    def close(self) -> None:
        """End the threads and close the connections."""
        self._threads.shutdown()
        self._tables.close()

    def _spend(self, token_id: str, secret: str, cost: float) -> _Lease | None:
        """Pay for a request from the current lease; None if the store must be asked."""
        with self._lock:
            lease = self._leases.get(token_id)
            if lease is None or lease.end < monotonic():
                return None
            if not is_valid(lease.token, secret):
                raise errors.unauthorized()
            if lease.left < cost:
                return None
            lease.left -= cost
            return lease

    def _renew(self, token_id: str, secret: str, cost: float) -> ServiceToken:
        """Check the token in the store, and take requests from its bucket."""
        try:
            with self._lock:
                lease = self._leases.get(token_id)
            token = lease.token if lease else self._read(token_id)
            if token is None or not is_valid(token, secret):
                raise errors.unauthorized()
            amount = max(cost, self._share)
            allowance = self._tables.take(
                token_id, cost=cost, lease=amount, rate=self._rate, burst=self._burst
            )
        except ContextuneError as error:
            raise errors.from_library_error(error, "") from error
        if allowance is None:
            self.revoke(token_id)
            raise errors.unauthorized()
        if not allowance.taken:
            raise errors.rate_limited(max(1, ceil((cost - allowance.level) / self._rate)))
        self._keep(token, allowance.taken - cost, self._seconds)
        return token

    def _read(self, token_id: str) -> ServiceToken | None:
        """The token in the store; kept for a moment, so that wrong secrets cost no further query."""
        row = self._tables.token(token_id)
        if row is None:
            return None
        self._keep(token := ServiceToken(*row), 0.0, _MAX_SECONDS)
        return token

    def _keep(self, token: ServiceToken, left: float, seconds: float) -> None:
        with self._lock:
            self._leases[token.id] = _Lease(token, left, monotonic() + seconds)
            self._leases.move_to_end(token.id)
            while len(self._leases) > _MAX_LEASES:
                self._leases.popitem(last=False)
