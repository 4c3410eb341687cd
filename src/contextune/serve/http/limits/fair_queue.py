"""A queue that is served user by user: who was served least comes first, however many calls others queue."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field

_WEIGHT = 0.1
"""Weight of the latest call."""


class ServiceTimes:
    """Averages by name; not synchronized, the pool's lock protects it."""

    def __init__(self, averages: Mapping[str, float] | None = None) -> None:
        """Start from known averages, by name."""
        self._averages = dict(averages or {})

    def expected(self, name: str) -> float:
        """Seconds that a call of this name will take; 0 before the first one."""
        return self._averages.get(name, 0.0)

    def record(self, name: str, seconds: float) -> None:
        """Count a finished call."""
        before = self._averages.get(name, seconds)
        self._averages[name] = before + _WEIGHT * (seconds - before)


@dataclass(eq=False, slots=True)
class QueuedCall:
    """A call with its user, deadline and expected duration."""

    name: str
    owner: str
    call: Callable[[], object]
    expected: float
    deadline: float
    queued: float
    started: float = 0.0
    future: Future[object] = field(default_factory=Future[object])


class FairQueue:
    """Calls by user, in the order in which they came; not synchronized, the pool's lock protects it."""

    def __init__(self) -> None:
        self._calls: dict[str, deque[QueuedCall]] = {}
        self._served: dict[str, float] = {}
        """By user, the seconds of service; who comes back starts at the least of those who wait."""
        self._least = 0.0

    def __len__(self) -> int:
        return sum(map(len, self._calls.values()))

    def __iter__(self) -> Iterator[QueuedCall]:
        return (job for calls in self._calls.values() for job in calls)

    @property
    def owners(self) -> list[str]:
        """The users who have calls in it."""
        return list(self._calls)

    def of(self, owner: str) -> deque[QueuedCall]:
        """The calls of a user, oldest first."""
        return self._calls.get(owner, deque())

    def append(self, job: QueuedCall) -> None:
        """Add a call behind the others of its user."""
        self._calls.setdefault(job.owner, deque()).append(job)
        self._served[job.owner] = max(self._served.get(job.owner, 0.0), self._least)

    def remove(self, job: QueuedCall) -> None:
        """Take a call out of the queue."""
        calls = self._calls[job.owner]
        calls.remove(job)
        if not calls:
            del self._calls[job.owner]

    def clear(self) -> None:
        """Take out all calls."""
        self._calls.clear()

    def next_owner(self, may_run: Callable[[str], bool]) -> str | None:
        """Of the users with calls who may run one, the one who was served least; None if there is none."""
        owners = [name for name in self._calls if may_run(name)]
        if not owners:
            return None
        chosen = min(owners, key=lambda name: self._served[name])
        self._least = max(self._least, self._served[chosen])
        return chosen

    def add_service(self, owner: str, seconds: float) -> None:
        """Count service for a user; negative if a call took less than was counted before."""
        self._served[owner] = self._served.get(owner, self._least) + seconds
        if len(self._served) > 2 * len(self._calls) + 64:  # those below are worth no entry
            self._served = {
                name: served
                for name, served in self._served.items()
                if name in self._calls or served > self._least
            }

    def largest(self) -> QueuedCall | None:
        """The newest call of the user with the most calls."""
        calls = max(self._calls.values(), key=len, default=None)
        return calls[-1] if calls else None

    def ahead_of(self, owner: str) -> float:
        """Expected seconds of the calls that come before a new one of this user."""
        turns = len(self.of(owner)) + 1
        others = (calls for name, calls in self._calls.items() if name != owner)
        before = sum(job.expected for calls in others for job in list(calls)[:turns])
        return before + sum(job.expected for job in self.of(owner))
