"""Settings of the HTTP service: file paths, threads and limits."""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from contextune._internal.postgres_url import is_postgres
from contextune.errors import InvalidDataError


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """Limits per token, request, process and user."""

    rate: float = 20.0
    """Requests a second per token."""
    burst: int = 40
    """Requests a token may make at once."""
    cpu: float = 1.0
    """Seconds of CPU per second that the requests of a user may take, in each process."""
    cpu_burst: float = 20.0
    """Seconds of CPU that a user may take at once."""
    body: int = 2_000_000
    """Maximum size of a request body in bytes."""
    timeout: float = 30.0
    """Seconds to receive a body, wait and process a request, all together."""
    waiting: int = 64
    """Requests that may wait for a thread; further ones get 503."""
    max_wait: float = 5.0
    """Seconds a request may wait for a thread; one that would wait longer gets 503 at once."""
    connections: int = 512
    """Open connections per process; further ones get 503 and are closed."""
    connections_per_address: int = 128
    """Open connections per client address and process."""
    head_timeout: float = 10.0
    """Seconds until the head of a request must have arrived, from the first byte or from connecting."""
    items: int = 100_000
    """Stored items per user."""
    uses: int = 1_000_000
    """Stored uses per user."""
    item_bytes: int = 200_000
    """Bytes of one item."""
    total_bytes: int = 500_000_000
    """Bytes of stored items, uses and feedback per user."""
    feedback_bytes: int = 20_000_000
    """Bytes of stored feedback per user."""
    reply_bytes: int = 4_000_000
    """Bytes of items in one reply; at least one item is sent."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not value > 0:
                raise InvalidDataError(f"{name}={value!r} is not a usable limit: it must be above 0")


def _cores() -> int:
    return os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Everything a service process needs; without `catalog` it uses the bundled toolbox."""

    store: Path | str
    """The file of the store, or the URL of a store in PostgreSQL."""
    tokens: Path | None = None
    """The file of tokens; without one they are in the store, which must be in PostgreSQL."""
    catalog: Path | str | None = None
    """A file, or the URL of a catalogue in PostgreSQL."""
    threads: int = field(default_factory=_cores)
    """Worker threads for retrieval and ranking; network I/O runs beside them."""
    limits: ServiceLimits = ServiceLimits()
    policy: str = ""
    """Settings of the decision policy, as `Policy.parse` reads them."""
    hosts: tuple[str, ...] = ()
    """Host names the service answers for, as in `AllowedHosts`; none: every name."""
    ranker: Path | None = None
    """Folder of a ranker, or of versions of one; None: the bundled ranker."""
    wait: bool = True
    """Whether requests wait until the user's new items are embedded; else they are answered by words."""

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise InvalidDataError(f"threads={self.threads!r}: at least one is needed")
        if self.tokens is None and not is_postgres(self.store):
            raise InvalidDataError("tokens=None: a store in a file needs a file of tokens")

    def to_json(self) -> str:
        """Serialize, for another process."""
        return json.dumps(asdict(self), default=str)

    @classmethod
    def from_json(cls, text: str) -> "ServiceSettings":
        """Deserialize the output of `to_json`."""
        data: dict[str, Any] = json.loads(text)
        catalog = data["catalog"]
        return cls(
            data["store"] if is_postgres(data["store"]) else Path(data["store"]),
            Path(data["tokens"]) if data["tokens"] else None,
            catalog if is_postgres(catalog) else Path(catalog) if catalog else None,
            data["threads"],
            ServiceLimits(**data["limits"]),
            data["policy"],
            tuple(data["hosts"]),
            Path(data["ranker"]) if data["ranker"] else None,
            data["wait"],
        )
