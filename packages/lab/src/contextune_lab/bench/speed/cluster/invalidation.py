"""How fast processes over one database agree: seconds until a forgotten user or a removed token is gone."""

from collections.abc import Callable, Sequence
from http.client import HTTPConnection
from time import monotonic, sleep
from typing import TYPE_CHECKING

from contextune.errors import InvalidRequestError
from contextune.serve.http.tokens import TokenTable
from contextune_lab.bench.speed.load_client import LoadClient, LoadProfile, LoadRun

if TYPE_CHECKING:
    from contextune.store.postgres.service_tables import ServiceTables

_MAX_SECONDS = 60.0


def seconds_to_forget(ports: Sequence[int], client: LoadClient) -> float:
    """Forget a user by the last process; seconds until the first one has dropped the user from memory."""

    def dropped() -> int:
        lines = _call(ports[0], "GET", "/metrics")[1].decode().splitlines()
        counts = [line for line in lines if line.startswith('contextune_invalidations_total{kind="forget"}')]
        return int(float(counts[0].rpartition(" ")[2])) if counts else 0

    LoadRun(ports[0], [client], LoadProfile(1, 1)).run()
    before = dropped()
    status, _ = _call(ports[-1], "DELETE", "/v1/me", client.token)
    if status != 204:
        raise InvalidRequestError(f"the user was not forgotten: status {status}")
    return _seconds_until(lambda: dropped() > before)


def seconds_to_revoke(ports: Sequence[int], client: LoadClient, tables: "ServiceTables") -> float:
    """Remove a token; seconds until every process refuses it."""
    for port in ports:
        _call(port, "GET", "/v1/me", client.token)
    TokenTable(tables).remove(client.token.split("_")[1])
    refused = [lambda port=port: _call(port, "GET", "/v1/me", client.token)[0] == 401 for port in ports]
    return _seconds_until(lambda: all(check() for check in refused))


def _call(port: int, method: str, path: str, token: str = "") -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=_MAX_SECONDS)
    try:
        connection.request(method, path, headers={"Authorization": f"Bearer {token}"} if token else {})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def _seconds_until(condition: Callable[[], bool]) -> float:
    start = monotonic()
    while not condition() and monotonic() < start + _MAX_SECONDS:
        sleep(0.01)
    return monotonic() - start
