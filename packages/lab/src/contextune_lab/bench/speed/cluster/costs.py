"""Costs of a user and a request, as `bench cluster` measures them and `bench growth` reads them."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from contextune.errors import InvalidDataError


@dataclass(frozen=True, slots=True)
class ClusterCosts:
    """What a user and a request cost, as `contextune bench growth` reads it."""

    users: int
    items_per_user: float
    processes: int
    maximum: float
    """Requests per second that all processes answer together."""
    cpu_ms: float
    """Processor time of the service per request."""
    database_cpu_ms: float
    """Processor time of PostgreSQL per request; 0 if it runs elsewhere."""
    cold_ms: float
    """Milliseconds of processor time that the first request of a user takes more than the next."""
    store_bytes: float
    """Bytes in the database per user."""
    memory_bytes: float
    """Bytes in memory per user that a process has read."""
    process_bytes: float
    """Bytes of a process before it has read any user."""
    sent_bytes: float
    """Bytes of a request, from a client to the service."""
    received_bytes: float
    """Bytes of a response."""
    writes: float
    """Share of the requests that write."""
    rate: float
    """Requests per second of the steady load."""
    p50: float
    """Median latency of the steady load in milliseconds."""
    p99: float


def write_costs(costs: ClusterCosts, path: Path) -> None:
    """Write the costs as JSON, for `contextune bench growth`."""
    path.write_text(json.dumps(asdict(costs), indent=1) + "\n", encoding="utf-8")


def read_costs(path: Path) -> ClusterCosts:
    """The file that `contextune bench cluster --measurements` has written."""
    try:
        return ClusterCosts(**json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise InvalidDataError(f"cannot read the measurements {path}: {error.strerror}") from error
    except (ValueError, TypeError):
        raise InvalidDataError(
            f"{path} has no measurements: write it with 'contextune bench cluster --measurements {path}'"
        ) from None
