"""Worker pool under load: a queue that can be served in time, deadlines, and calls nobody waits for."""

import asyncio
from collections.abc import Awaitable, Callable
from threading import Event
from time import monotonic

import pytest
from tests.serve.waiting import PATIENCE

from contextune.serve.http import worker_pool
from contextune.serve.http.errors import ApiError
from contextune.serve.http.worker_pool import ServiceTimes, WorkerPool, start_deadline


class Hold:
    """A call that blocks its thread until it is released."""

    def __init__(self) -> None:
        self.started, self.released = Event(), Event()

    def __call__(self) -> str:
        self.started.set()
        self.released.wait(PATIENCE)
        return "done"


def run_beside(hold: Hold, pool: WorkerPool, check: Callable[["asyncio.Task[str]"], Awaitable[None]]) -> None:
    """Run the check while the call holds a thread of the pool."""

    async def main() -> None:
        task = asyncio.create_task(pool.run(hold))
        await asyncio.to_thread(hold.started.wait, PATIENCE)
        await check(task)
        hold.released.set()
        assert await task == "done"
        await asyncio.to_thread(pool.close)
        assert pool.open_calls == 0

    asyncio.run(main())


def test_average_follows_recent_calls() -> None:
    times = ServiceTimes()
    assert times.expected("ask") == 0.0
    times.record("ask", 1.0)
    assert times.expected("ask") == 1.0
    for _ in range(100):
        times.record("ask", 3.0)
    assert times.expected("ask") == pytest.approx(3.0, abs=0.01)
    assert times.expected("me") == 0.0


def test_full_queue_rejects_and_loses_nothing() -> None:
    held, free = Event(), Event()

    def hold() -> str:
        held.set()
        free.wait(PATIENCE)
        return "done"

    async def main() -> None:
        pool = WorkerPool(1, 1, PATIENCE)
        first = asyncio.create_task(pool.run(hold))
        await asyncio.to_thread(held.wait, PATIENCE)
        second = asyncio.create_task(pool.run(lambda: "second"))
        await asyncio.sleep(0)
        with pytest.raises(ApiError) as refused:
            await pool.run(lambda: "third")
        assert (refused.value.status, refused.value.code, pool.open_calls) == (503, "busy", 2)
        free.set()
        assert [await first, await second] == ["done", "second"]
        assert pool.open_calls == 0
        pool.close()

    asyncio.run(main())


def test_timed_out_call_keeps_its_slot() -> None:
    free = Event()

    async def main() -> None:
        pool = WorkerPool(1, 0, 0.05)
        with pytest.raises(ApiError) as refused:
            await pool.run(free.wait, PATIENCE)
        assert (refused.value.status, refused.value.code) == (503, "timed_out")
        with pytest.raises(ApiError) as refused:
            await pool.run(lambda: None)
        assert refused.value.code == "busy"
        free.set()
        await asyncio.to_thread(pool.close)
        assert pool.open_calls == 0

    asyncio.run(main())


def test_timeout_error_of_the_call_itself_is_raised() -> None:
    def fail() -> None:
        raise TimeoutError("of a disk")

    async def main() -> None:
        pool = WorkerPool(1, 1, PATIENCE)
        with pytest.raises(TimeoutError, match="of a disk"):
            await pool.run(fail)
        pool.close()

    asyncio.run(main())


def test_call_that_would_wait_too_long_is_refused_at_once() -> None:
    ran: list[str] = []
    hold = Hold()
    pool = WorkerPool(1, 100, PATIENCE, 5.0, times=ServiceTimes({"ask": 2.0}))

    def ask() -> None:
        ran.append("ask")

    async def check(_: object) -> None:
        queued = [asyncio.create_task(pool.run(ask)) for _ in range(3)]  # they wait 0, 2 and 4 seconds
        await asyncio.sleep(0)
        with pytest.raises(ApiError) as refused:
            await pool.run(ask)
        assert (refused.value.status, refused.value.code) == (503, "busy")
        assert refused.value.headers == {"Retry-After": "6"}
        hold.released.set()
        await asyncio.gather(*queued)
        assert ran == ["ask"] * 3

    run_beside(hold, pool, check)


def test_idle_thread_takes_a_call_however_long_it_may_take() -> None:
    async def main() -> None:
        pool = WorkerPool(1, 1, PATIENCE, 5.0, times=ServiceTimes({"ask": 10 * PATIENCE}))

        def ask() -> str:
            return "answer"

        assert await pool.run(ask) == "answer"
        pool.close()

    asyncio.run(main())


def test_call_that_cannot_finish_before_its_deadline_is_not_started() -> None:
    ran: list[str] = []

    def ask() -> None:
        ran.append("ask")

    async def main() -> None:
        pool = WorkerPool(1, 1, PATIENCE, times=ServiceTimes({"ask": 100.0}))
        start_deadline(60.0)
        with pytest.raises(ApiError) as refused:
            await pool.run(ask)
        assert (refused.value.status, refused.value.code) == (503, "busy")
        pool.close()

    asyncio.run(main())
    assert not ran


@pytest.mark.parametrize("limit", ["wait", "deadline"])
def test_call_that_has_waited_too_long_is_not_started(limit: str) -> None:
    ran: list[str] = []
    hold = Hold()
    pool = WorkerPool(1, 10, PATIENCE, 0.05 if limit == "wait" else PATIENCE)

    async def check(_: object) -> None:
        if limit == "deadline":
            start_deadline(0.05)
        with pytest.raises(ApiError) as refused:
            await pool.run(ran.append, "ask")
        assert (refused.value.status, refused.value.code) == (503, "busy")
        assert pool.open_calls == 1

    run_beside(hold, pool, check)
    assert not ran


def test_call_of_a_cancelled_request_is_not_started() -> None:
    ran: list[str] = []
    hold = Hold()
    pool = WorkerPool(1, 10, PATIENCE)

    async def check(_: object) -> None:
        asked = asyncio.create_task(pool.run(ran.append, "ask"))
        await asyncio.sleep(0)
        assert pool.open_calls == 2
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        assert pool.open_calls == 1

    run_beside(hold, pool, check)
    assert not ran


def test_newest_call_comes_first_once_calls_are_late(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    hold = Hold()
    now = [monotonic()]
    monkeypatch.setattr(worker_pool, "monotonic", lambda: now[0])
    pool = WorkerPool(1, 10, PATIENCE)

    async def check(_: object) -> None:
        queued = [asyncio.create_task(pool.run(ran.append, name)) for name in "abc"]
        await asyncio.sleep(0)
        now[0] += PATIENCE / 5
        hold.released.set()
        await asyncio.gather(*queued)

    run_beside(hold, pool, check)
    assert ran == ["c", "b", "a"]


def test_late_calls_are_refused_soon_if_that_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest of two calls waits in a burst, and is refused once calls have been late for longer."""
    ran: list[str] = []
    holds = [Hold() for _ in range(3)]
    now = [monotonic()]
    monkeypatch.setattr(worker_pool, "monotonic", lambda: now[0])
    max_wait = 10.0
    pool = WorkerPool(1, 10, 100 * max_wait, max_wait)

    async def check(_: object) -> None:
        oldest = asyncio.create_task(pool.run(ran.append, "oldest"))
        await asyncio.sleep(0)
        now[0] += 0.2 * max_wait  # late, but it may be a burst
        second = asyncio.create_task(pool.run(holds[1]))
        await asyncio.sleep(0)
        holds[0].released.set()
        await asyncio.to_thread(holds[1].started.wait, PATIENCE)
        assert not oldest.done()
        third = asyncio.create_task(pool.run(holds[2]))
        newest = asyncio.create_task(pool.run(ran.append, "newest"))
        await asyncio.sleep(0)
        now[0] += 1.1 * max_wait  # no burst
        with pytest.raises(ApiError, match="too many requests are waiting"):
            await pool.run(ran.append, "would be late")  # those before it take 0.2 of the maximum wait
        holds[1].released.set()
        assert await second == "done"
        await newest
        for late in (oldest, third):
            with pytest.raises(ApiError, match="too many requests are waiting"):
                await late

    run_beside(holds[0], pool, check)
    assert ran == ["newest"]
    assert not holds[2].started.is_set()


def test_calls_are_no_longer_refused_once_the_queue_was_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    holds = [Hold(), Hold()]
    now = [monotonic()]
    monkeypatch.setattr(worker_pool, "monotonic", lambda: now[0])
    pool = WorkerPool(1, 10, 1000, 10)

    async def check(_: object) -> None:
        late = asyncio.create_task(pool.run(ran.append, "late"))
        await asyncio.sleep(0)
        now[0] += 2
        holds[0].released.set()
        await late
        now[0] += 20
        again = asyncio.create_task(pool.run(holds[1]))
        await asyncio.to_thread(holds[1].started.wait, PATIENCE)
        others = [asyncio.create_task(pool.run(ran.append, name)) for name in "ab"]
        await asyncio.sleep(0)
        now[0] += 2
        holds[1].released.set()
        await asyncio.gather(again, *others)

    run_beside(holds[0], pool, check)
    assert ran == ["late", "b", "a"]
