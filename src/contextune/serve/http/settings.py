"""How a service is set up: where its files are, and how much anybody may ask of it."""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from contextune.errors import InvalidDataError


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """What one token, one request, one moment and one user may take."""

    rate: float = 20.0
    """Requests a second, for each token."""
    burst: int = 40
    """Requests a token may make at once after a rest."""
    body: int = 2_000_000
    """Bytes of a request's body."""
    timeout: float = 30.0
    """Seconds until a request is given up; also those a client may take to send its body."""
    waiting: int = 64
    """Requests that may wait for a thread; one more is turned away at once."""
    items: int = 100_000
    """Items that are kept of one user."""
    uses: int = 1_000_000
    """Uses that are kept of one user."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not value > 0:
                raise InvalidDataError(f"{name}={value!r} lets nobody in: give a number above 0")


def _cores() -> int:
    return os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """All that a process of the service has to know. `catalog` None stands for the bundled toolbox."""

    store: Path
    tokens: Path
    catalog: Path | None = None
    threads: int = field(default_factory=_cores)
    """Threads that search and rank; the rest of the work is done beside them."""
    limits: ServiceLimits = ServiceLimits()

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise InvalidDataError(f"threads={self.threads!r}: it takes at least one")

    def to_json(self) -> str:
        """To hand to another process."""
        return json.dumps(asdict(self), default=str)

    @classmethod
    def from_json(cls, text: str) -> "ServiceSettings":
        """What another process handed over."""
        given: dict[str, Any] = json.loads(text)
        catalog = given["catalog"]
        return cls(
            Path(given["store"]),
            Path(given["tokens"]),
            Path(catalog) if catalog else None,
            given["threads"],
            ServiceLimits(**given["limits"]),
        )
