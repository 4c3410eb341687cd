"""Thread pool for overload: a queue that can be served in time, deadlines, and no work for absent clients.

A call is refused when it arrives if the calls before it will take too long, judging by recent calls. A call
that waits leaves the queue when its client is gone, when it has waited too long, or when it could no longer
finish before its deadline. Once calls are late, the newest is served first: its client is the most likely to
be still waiting, while the oldest would be answered just after its client has given up. If that goes on, and
is no burst, calls that would be late are refused at once, and those that are late soon.

All of that holds among the calls of one user. Users take turns by the time they were served, none fills the
queue while others wait, and none takes the last thread while there are others. What a call costs in CPU time
is charged to its user's budget, that of the models' threads included; a user without any is refused.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from threading import Condition, Thread
from time import monotonic
from typing import ParamSpec, TypeVar, cast

from contextune._internal.cpu_time import cpu_seconds
from contextune.serve.http.errors import over_budget, overloaded, timed_out
from contextune.serve.http.limits import CpuBudget

_OWNER: ContextVar[str] = ContextVar("contextune_owner", default="")
_DEADLINE: ContextVar[float | None] = ContextVar("contextune_deadline", default=None)
_WEIGHT = 0.1
"""Weight of the latest call."""
Params = ParamSpec("Params")
Result = TypeVar("Result")
_LATE = 0.1
"""Share of the maximum wait after which a call is late: the newest call then comes first."""
_MAX_RETRY_AFTER = 60
_OTHERS_SEEN = 60.0
"""Seconds for which a thread is left free for the other users after one of them was seen."""


def set_owner(user: str) -> None:
    """Set the user of the request that this task handles; queues and budgets are divided by user."""
    _OWNER.set(user)


def owner() -> str:
    """The user of the request; "" for those without one, such as health checks."""
    return _OWNER.get()


def start_deadline(seconds: float) -> None:
    """Give the request that this task handles so many seconds from now."""
    _DEADLINE.set(monotonic() + seconds)


def deadline(timeout: float) -> float:
    """The time on the monotonic clock by which the request must be answered; without one, after `timeout`."""
    value = _DEADLINE.get()
    return monotonic() + timeout if value is None else value


def seconds_left(timeout: float) -> float:
    """Seconds until the deadline, not below zero; without a deadline, `timeout`."""
    return max(0.0, deadline(timeout) - monotonic())


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


class WorkerPool:
    """Runs blocking calls in a fixed number of threads, each with its own connection to the store."""

    def __init__(
        self,
        threads: int,
        max_waiting: int,
        timeout: float,
        max_wait: float | None = None,
        times: ServiceTimes | None = None,
        budget: CpuBudget | None = None,
    ) -> None:
        """`max_wait` limits the seconds in the queue; by default `timeout` does."""
        self._max_threads = threads
        self._max_open = threads + max_waiting
        self._timeout = timeout
        self._max_wait = min(timeout, max_wait or timeout)
        self._times = times or ServiceTimes()
        self._budget = budget
        self._queue = FairQueue()
        self._seen: dict[str, float] = {}
        """When each user last had a call, for those seen lately."""
        self._running: set[QueuedCall] = set()
        self._threads: list[Thread] = []
        self._changed = Condition()
        self._is_closed = False
        self._late_since: float | None = None
        """When the first call was late since the queue was last empty."""

    @property
    def open_calls(self) -> int:
        """Number of calls in progress or queued."""
        return len(self._queue) + len(self._running)

    async def run(
        self, call: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs
    ) -> Result:
        """Run a call in a thread; raises an `ApiError` if it cannot be started or finished in time.

        Cancelling the caller withdraws a call that has not begun. A thread cannot be interrupted: a call
        that timed out runs on, keeps its thread, and its result is discarded.
        """
        # the context carries the request's span
        bound = partial(copy_context().run, call, *args, **kwargs)
        job = self._submit(str(getattr(call, "__name__", "call")), bound, deadline(self._timeout))
        result = asyncio.wrap_future(job.future)
        try:
            in_queue = min(self._max_wait, job.deadline - monotonic())
            if not await _is_done(result, in_queue) and self._withdraw(job):
                raise overloaded(self._retry_after(job.owner))
            if not await _is_done(result, job.deadline - monotonic()):
                raise timed_out()
        except BaseException:
            self._withdraw(job)
            result.cancel()
            raise
        return cast("Result", result.result())

    def close(self) -> None:
        """Wait for calls in progress; cancel queued ones."""
        with self._changed:
            self._is_closed = True
            for job in self._queue:
                job.future.cancel()
            self._queue.clear()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _submit(self, name: str, call: Callable[[], object], end: float) -> QueuedCall:
        """Queue a call; raises if the queue is full or too long, or the user has no budget."""
        user = owner()
        if user and self._budget and (seconds := self._budget.seconds_until_free(user)):
            raise over_budget(seconds)
        with self._changed:
            if self._is_closed or (self.open_calls >= self._max_open and not self._make_room(user)):
                raise overloaded(self._retry_after(user))
            now, expected = monotonic(), self._times.expected(name)
            self._see(user, now)
            if self.open_calls >= self._max_threads:  # an idle thread takes any call, and updates the average
                wait = self._expected_wait(now, user)
                # in an overload by few users, one who has nothing in the queue comes next
                is_next = not self._queue.of(user) and len(self._queue.owners) <= self._max_threads
                is_strict = self._is_overloaded(now) and not is_next
                longest = _LATE * self._max_wait if is_strict else self._max_wait
                if wait > min(longest, end - now - expected):
                    raise overloaded(self._retry_after(user))
            job = QueuedCall(name, user, call, expected, end, now)
            self._queue.append(job)
            if len(self._threads) < min(self._max_threads, self.open_calls):
                thread = Thread(target=self._work, name=f"work_{len(self._threads)}", daemon=True)
                self._threads.append(thread)
                thread.start()
            self._changed.notify()
            return job

    def _withdraw(self, job: QueuedCall) -> bool:
        """Take a call out of the queue; False if it has begun or ended."""
        with self._changed:
            if not job.future.cancel() or job not in self._queue:
                return False
            self._queue.remove(job)
            return True

    def _make_room(self, user: str) -> bool:
        """Refuse a call of the user with the most, if this one has less than a fair share; needs the lock."""
        running = Counter(job.owner for job in self._running)
        users = {user, *self._queue.owners, *running}
        largest = self._queue.largest()
        share = self._max_open // len(users)
        if largest is None or largest.owner == user or len(self._queue.of(user)) + running[user] >= share:
            return False
        self._queue.remove(largest)
        if largest.future.set_running_or_notify_cancel():
            largest.future.set_exception(overloaded(self._retry_after(largest.owner)))
        return True

    def _see(self, user: str, now: float) -> None:
        if user:
            self._seen[user] = now
        self._seen = {name: time for name, time in self._seen.items() if now - time < _OTHERS_SEEN}

    def _may_run(self, user: str) -> bool:
        """Whether a user may have one more thread: the last one is for the others, while there are any."""
        taken = sum(job.owner == user for job in self._running)
        return taken + 1 < self._max_threads or not taken or not self._seen.keys() - {user}

    def _expected_wait(self, now: float, user: str) -> float:
        """Seconds until a call of the user that is queued now would begin; needs the lock."""
        rest = sum(max(0.0, job.expected - (now - job.started)) for job in self._running)
        return (rest + self._queue.ahead_of(user)) / self._max_threads

    def _retry_after(self, user: str) -> int:
        """Seconds after which the calls before a new one of the user will have begun, at least one."""
        with self._changed:
            return min(_MAX_RETRY_AFTER, max(1, ceil(self._expected_wait(monotonic(), user))))

    def _work(self) -> None:
        while self._run_next():  # a function of its own, so that no data of a request outlives it here
            pass

    def _run_next(self) -> bool:
        """Wait for a call and run it; False when the pool is closed."""
        job = self._take()
        if job is None:
            return False
        start = cpu_seconds()
        try:
            try:
                result = job.call()
            finally:
                if self._budget and job.owner:
                    self._budget.charge(job.owner, cpu_seconds() - start)
        except BaseException as error:  # the caller gets it
            self._finish(job)
            job.future.set_exception(error)
        else:
            self._finish(job)
            job.future.set_result(result)
        finally:
            del job  # an exception refers to this frame
        return True

    def _take(self) -> QueuedCall | None:
        """The next call that can still finish in time; None when the pool is closed."""
        with self._changed:
            while True:
                while not self._queue:
                    self._late_since = None
                    if self._is_closed:
                        return None
                    self._changed.wait()
                user = self._queue.next_owner(self._may_run)
                if user is None:
                    self._changed.wait(1.0)  # until a call ends, or the others were seen too long ago
                    continue
                now = monotonic()
                calls = self._queue.of(user)
                late = self._is_late(calls[0], now)
                job = calls[-1] if late else calls[0]
                self._queue.remove(job)
                if late:
                    self._refuse_late(now)
                if not job.future.set_running_or_notify_cancel():
                    continue
                # half of the timeout is always enough to try, so that a wrong average corrects itself
                if now + min(job.expected, self._timeout / 2) > job.deadline:
                    job.future.set_exception(overloaded(self._retry_after(user)))
                    continue
                job.started = now
                self._queue.add_service(user, job.expected)
                self._running.add(job)
                return job

    def _is_late(self, job: QueuedCall, now: float) -> bool:
        return now - job.queued > _LATE * self._max_wait

    def _is_overloaded(self, now: float) -> bool:
        """Whether calls have been late for longer than a burst may last."""
        return self._late_since is not None and now - self._late_since > self._max_wait

    def _refuse_late(self, now: float) -> None:
        """Refuse late calls in an overload; needs the lock."""
        self._late_since = self._late_since or now
        if not self._is_overloaded(now):
            return
        for job in [job for job in self._queue if self._is_late(job, now)]:
            self._queue.remove(job)
            if job.future.set_running_or_notify_cancel():
                job.future.set_exception(overloaded(self._retry_after(job.owner)))

    def _finish(self, job: QueuedCall) -> None:
        with self._changed:
            self._running.discard(job)
            if not self._queue:
                self._late_since = None
            seconds = monotonic() - job.started
            self._times.record(job.name, seconds)
            self._queue.add_service(job.owner, seconds - job.expected)
            self._changed.notify_all()  # one that waits may have been kept from this thread


async def _is_done(future: "asyncio.Future[object]", seconds: float) -> bool:
    """Whether the future is done within so many seconds; a cancelled caller does not cancel it."""
    done, _ = await asyncio.wait([future], timeout=max(0.0, seconds))
    return bool(done)
