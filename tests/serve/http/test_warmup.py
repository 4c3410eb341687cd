"""Background warm-up: only the user whose items are indexed waits."""

import asyncio
from threading import Event

import pytest
from tests.serve.waiting import PATIENCE

from contextune.serve.http.errors import ApiError
from contextune.serve.http.warmup import Warmup


class SlowPrepare:
    """Records prepared users; the job of user "much" blocks until it is released."""

    def __init__(self) -> None:
        self.started, self.released = Event(), Event()
        self.prepared: list[str] = []

    def __call__(self, user: str) -> None:
        if user == "much":
            self.started.set()
            self.released.wait(PATIENCE)
        if user == "broken":
            raise ValueError(user)
        self.prepared.append(user)


async def let_tasks_run() -> None:
    """Give other tasks every chance to finish, without depending on time."""
    for _ in range(100):
        await asyncio.sleep(0)


async def start_large_job(prepare: SlowPrepare, warmup: Warmup) -> None:
    warmup.start("much", 1000)
    await asyncio.to_thread(prepare.started.wait, PATIENCE)


def test_only_the_user_with_a_large_job_waits() -> None:
    async def main() -> None:
        prepare = SlowPrepare()
        warmup = Warmup(prepare, PATIENCE)
        await start_large_job(prepare, warmup)
        warmup.start("little", 1)
        await warmup.wait("little")  # the job is left to the request
        await warmup.wait("nobody")
        waits = asyncio.create_task(warmup.wait("much"))
        await let_tasks_run()
        assert not waits.done()
        prepare.released.set()
        await waits
        await asyncio.to_thread(warmup.close)
        assert prepare.prepared == ["much"]

    asyncio.run(main())


def test_waiting_times_out_with_503() -> None:
    async def main() -> None:
        prepare = SlowPrepare()
        warmup = Warmup(prepare, 0.05)
        await start_large_job(prepare, warmup)
        warmup.start("also much", 1)
        warmup.start("also much", 1000)
        for user in ("much", "also much"):
            with pytest.raises(ApiError) as refused:
                await warmup.wait(user)
            assert (refused.value.status, refused.value.code) == (503, "preparing")
        prepare.released.set()
        await asyncio.to_thread(warmup.close)

    asyncio.run(main())


def test_changes_during_a_job_start_another() -> None:
    async def main() -> None:
        prepare = SlowPrepare()
        warmup = Warmup(prepare, PATIENCE)
        await start_large_job(prepare, warmup)
        warmup.start("much", 1000)
        prepare.released.set()
        await warmup.wait("much")
        await warmup.wait("much")
        await asyncio.to_thread(warmup.close)
        assert prepare.prepared == ["much", "much"]

    asyncio.run(main())


def test_cancelled_and_failed_jobs_are_removed() -> None:
    async def main() -> None:
        prepare = SlowPrepare()
        warmup = Warmup(prepare, PATIENCE)
        await start_large_job(prepare, warmup)
        warmup.start("forgotten", 1000)
        await warmup.cancel("forgotten")
        await warmup.wait("forgotten")
        prepare.released.set()
        await warmup.cancel("much")  # it is running, so this waits
        assert prepare.prepared == ["much"]
        warmup.start("broken", 1000)
        await warmup.wait("broken")
        await asyncio.to_thread(warmup.close)
        assert prepare.prepared == ["much"]

    asyncio.run(main())


def test_cancel_waits_for_the_running_job_behind_a_cancelled_one() -> None:
    async def main() -> None:
        prepare = SlowPrepare()
        warmup = Warmup(prepare, PATIENCE)
        await start_large_job(prepare, warmup)
        warmup.start("much", 1)  # a later change
        await warmup.wait("much")  # whose job is left to the request
        forgetting = asyncio.create_task(warmup.cancel("much"))
        await let_tasks_run()
        assert not forgetting.done()
        prepare.released.set()
        await asyncio.wait_for(forgetting, PATIENCE)
        assert prepare.prepared == ["much"]
        await asyncio.to_thread(warmup.close)

    asyncio.run(main())
