"""What one user puts in is made ready without anybody else waiting for it."""

import asyncio
from threading import Event

import pytest

from contextune.serve.http.errors import ApiError
from contextune.serve.http.warmup import Warmup


class Slow:
    """Makes ready whoever comes; for one of them it takes until it is let go."""

    def __init__(self) -> None:
        self.begun, self.free = Event(), Event()
        self.made: list[str] = []

    def __call__(self, user: str) -> None:
        if user == "much":
            self.begun.set()
            self.free.wait(30)
        if user == "broken":
            raise ValueError(user)
        self.made.append(user)


async def begun(slow: Slow, preparing: Warmup) -> None:
    preparing.start("much", 1000)
    await asyncio.to_thread(slow.begun.wait, 30)


def test_only_the_user_waits() -> None:
    async def main() -> None:
        slow = Slow()
        preparing = Warmup(slow, 30)
        await begun(slow, preparing)
        preparing.start("little", 1)
        await preparing.done("little")  # it is left to their own request
        await preparing.done("nobody")
        waits = asyncio.create_task(preparing.done("much"))
        await asyncio.sleep(0.01)
        assert not waits.done()
        slow.free.set()
        await waits
        await asyncio.to_thread(preparing.close)
        assert slow.made == ["much"]

    asyncio.run(main())


def test_it_does_not_wait_for_ever() -> None:
    async def main() -> None:
        slow = Slow()
        preparing = Warmup(slow, 0.05)
        await begun(slow, preparing)
        preparing.start("also much", 1)
        preparing.start("also much", 1000)
        for user in ("much", "also much"):
            with pytest.raises(ApiError) as refused:
                await preparing.done(user)
            assert (refused.value.status, refused.value.code) == (503, "preparing")
        slow.free.set()
        await asyncio.to_thread(preparing.close)

    asyncio.run(main())


def test_what_changes_while_it_runs_is_made_ready_after() -> None:
    async def main() -> None:
        slow = Slow()
        preparing = Warmup(slow, 30)
        await begun(slow, preparing)
        preparing.start("much", 1000)
        slow.free.set()
        await preparing.done("much")
        await preparing.done("much")
        await asyncio.to_thread(preparing.close)
        assert slow.made == ["much", "much"]

    asyncio.run(main())


def test_what_is_stopped_or_fails_leaves_nothing_behind() -> None:
    async def main() -> None:
        slow = Slow()
        preparing = Warmup(slow, 30)
        await begun(slow, preparing)
        preparing.start("forgotten", 1000)
        await preparing.stop("forgotten")
        await preparing.done("forgotten")
        slow.free.set()
        await preparing.stop("much")  # it has begun: forgetting waits for it
        assert slow.made == ["much"]
        preparing.start("broken", 1000)
        await preparing.done("broken")
        await asyncio.to_thread(preparing.close)
        assert slow.made == ["much"]

    asyncio.run(main())


def test_forgetting_waits_for_what_is_at_work_though_a_later_job_was_left() -> None:
    async def main() -> None:
        slow = Slow()
        preparing = Warmup(slow, 30)
        await begun(slow, preparing)
        preparing.start("much", 1)  # what came meanwhile
        await preparing.done("much")  # and is left to their own request
        forgetting = asyncio.create_task(preparing.stop("much"))
        await asyncio.sleep(0.05)
        assert not forgetting.done()
        slow.free.set()
        await asyncio.wait_for(forgetting, 30)
        assert slow.made == ["much"]
        await asyncio.to_thread(preparing.close)

    asyncio.run(main())
