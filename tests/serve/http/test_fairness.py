"""One user's load does not stop the others: turns in the queue, a thread for others, a budget of CPU time."""

import asyncio
import string
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from pathlib import Path
from threading import Event, Lock
from time import monotonic, thread_time

import httpx
import pytest
from tests.serve.conftest import client_with_token, running
from tests.serve.waiting import PATIENCE

from contextune._internal.cpu_time import map_in_threads
from contextune.serve.http.errors import ApiError
from contextune.serve.http.limits import CpuBudget
from contextune.serve.http.tokens import TokenFile
from contextune.serve.http.worker_pool import ServiceTimes, WorkerPool, owner, set_owner


class _Gate:
    """A call that records its user and blocks its thread until it is let through."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.open = Event()
        self._lock = Lock()

    def __call__(self) -> str:
        with self._lock:
            self.order.append(owner())
        self.open.wait(PATIENCE)
        return owner()


async def _as_user(user: str, pool: WorkerPool, call: Callable[[], str]) -> str:
    set_owner(user)
    return await pool.run(call)


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.005)


def test_users_take_turns() -> None:
    gate = _Gate()
    times = ServiceTimes({"call": 0.01})

    async def main() -> None:
        pool = WorkerPool(1, 100, PATIENCE, times=times)
        flood = [asyncio.create_task(_as_user("flood", pool, gate)) for _ in range(30)]
        await _until(lambda: pool.open_calls == 30 and len(gate.order) == 1)
        victim = asyncio.create_task(_as_user("victim", pool, gate))
        await _until(lambda: pool.open_calls == 31)
        gate.open.set()
        assert await victim == "victim"
        await asyncio.gather(*flood)
        await asyncio.to_thread(pool.close)

    asyncio.run(main())
    assert gate.order[1] == "victim"
    assert gate.order.count("flood") == 30


def test_full_queue_makes_room_for_a_user_below_their_share() -> None:
    gate = _Gate()

    async def main() -> None:
        pool = WorkerPool(1, 9, PATIENCE)
        flood = [asyncio.create_task(_as_user("flood", pool, gate)) for _ in range(10)]
        await _until(lambda: pool.open_calls == 10)
        with pytest.raises(ApiError):
            await _as_user("flood", pool, gate)
        victim = asyncio.create_task(_as_user("victim", pool, gate))
        await _until(lambda: any(task.done() for task in flood))
        gate.open.set()
        assert await victim == "victim"
        results = await asyncio.gather(*flood, return_exceptions=True)
        refused = [result for result in results if isinstance(result, ApiError)]
        assert [error.code for error in refused] == ["busy"]
        await asyncio.to_thread(pool.close)

    asyncio.run(main())


def test_a_thread_is_left_for_other_users() -> None:
    gate, quick = _Gate(), _Gate()
    quick.open.set()

    async def main() -> None:
        pool = WorkerPool(3, 100, PATIENCE)
        assert await _as_user("victim", pool, quick) == "victim"
        flood = [asyncio.create_task(_as_user("flood", pool, gate)) for _ in range(10)]
        await _until(lambda: len(gate.order) == 2)
        for _ in range(3):  # answered while the other user holds all the threads they can get
            assert await _as_user("victim", pool, quick) == "victim"
        assert len(gate.order) == 2
        gate.open.set()
        await asyncio.gather(*flood)
        await asyncio.to_thread(pool.close)

    asyncio.run(main())


def test_a_single_user_gets_all_threads() -> None:
    gate = _Gate()

    async def main() -> None:
        pool = WorkerPool(3, 100, PATIENCE)
        calls = [asyncio.create_task(_as_user("only", pool, gate)) for _ in range(5)]
        await _until(lambda: len(gate.order) == 3)
        gate.open.set()
        await asyncio.gather(*calls)
        await asyncio.to_thread(pool.close)

    asyncio.run(main())


def test_budget_is_owed_and_grows_back() -> None:
    now = 0.0
    budget = CpuBudget(0.5, 2.0, clock=lambda: now)
    assert budget.seconds_until_free("a") == 0
    budget.charge("a", 1.9)
    assert budget.seconds_until_free("a") == 0
    budget.charge("a", 1.1)
    assert (budget.seconds_until_free("a"), budget.seconds_until_free("b")) == (2, 0)
    now = 2.1
    assert budget.seconds_until_free("a") == 0
    budget.charge("a", 1000.0)
    assert budget.seconds_until_free("a") == 60


def test_user_without_budget_is_refused_and_others_are_not() -> None:
    call = partial(spin, 0.05)

    async def main() -> None:
        pool = WorkerPool(1, 10, PATIENCE, budget=CpuBudget(0.001, 0.04))
        assert await _as_user("busy", pool, call) == "busy"
        with pytest.raises(ApiError) as refused:
            await _as_user("busy", pool, call)
        assert (refused.value.status, refused.value.code) == (429, "too_often")
        assert "Retry-After" in refused.value.headers
        assert await _as_user("victim", pool, call) == "victim"
        await asyncio.to_thread(pool.close)

    asyncio.run(main())


def spin(seconds: float) -> str:
    start = thread_time()
    while thread_time() - start < seconds:
        pass
    return owner()


def test_threads_that_work_for_a_call_are_charged() -> None:
    """Reading and embedding run in threads of the models."""

    async def main(call: Callable[[], str]) -> None:
        pool = WorkerPool(1, 10, PATIENCE, budget=CpuBudget(0.001, 0.08))
        assert await _as_user("busy", pool, call) == "busy"
        with pytest.raises(ApiError) as refused:
            await _as_user("busy", pool, call)
        assert refused.value.status == 429
        await asyncio.to_thread(pool.close)

    with ThreadPoolExecutor(2) as models:

        def call() -> str:
            map_in_threads(models, spin, [0.05, 0.05])
            return owner()

        asyncio.run(main(call))


def test_victim_is_answered_while_another_token_floods(tmp_path: Path) -> None:
    """Over HTTP: long requests of one token, as many as the queue takes, do not hold up another's."""
    text = " ".join(
        f"remind me at {hour} to call {letter}" for letter in string.ascii_lowercase for hour in "345"
    )
    numbers = count()

    def seconds(client: httpx.Client, asked: str) -> float:
        start = monotonic()
        assert client.post("/v1/ask", json={"text": asked}).status_code == 200
        return monotonic() - start

    with running(tmp_path) as service:
        token = TokenFile(service.tokens).add("flood")

        def flood(done: Event) -> list[int]:
            statuses: list[int] = []
            with client_with_token(service.url, token) as client:
                while not done.is_set():
                    asked = f"{next(numbers)} {text}"[:300]
                    statuses.append(client.post("/v1/ask", json={"text": asked}).status_code)
            return statuses

        def worst_beside_flood(victim: httpx.Client) -> float:
            done = Event()
            with ThreadPoolExecutor(12) as threads:
                floods = [threads.submit(flood, done) for _ in range(12)]
                try:
                    return max(seconds(victim, "play some jazz") for _ in range(5))
                finally:
                    done.set()
                    assert all(task.result() for task in floods)  # the flood was served, too

        with client_with_token(service.url, token) as client, service.client("victim") as victim:
            for each in (client, victim):
                assert each.put("/v1/me", json={}).status_code == 204
            seconds(victim, "play some jazz")
            quiet = max(seconds(victim, "play some jazz") for _ in range(3))
            # calls that run are not interrupted; behind all twelve, it would wait for six on each thread
            longest = max(seconds(client, f"{next(numbers)} {text}"[:300]) for _ in range(2))
            assert any(worst_beside_flood(victim) < 3 * quiet + 3 * longest for _ in range(3))
