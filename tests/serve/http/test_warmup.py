"""Background warm-up: only the user whose items are indexed waits."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from threading import Event, Semaphore

import pytest
from tests.serve.conftest import mail, running
from tests.serve.waiting import PATIENCE

from contextune.embed import Matrix, OnnxEmbedder
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
        forgetting = asyncio.create_task(warmup.cancel("much"))
        await let_tasks_run()
        assert not forgetting.done()
        prepare.released.set()
        await asyncio.wait_for(forgetting, PATIENCE)
        assert prepare.prepared == ["much"]
        await asyncio.to_thread(warmup.close)

    asyncio.run(main())


class ChunkedPrepare:
    """Prepares in chunks of one change; records each as (user, number done)."""

    def __init__(self, sizes: dict[str, int]) -> None:
        self.sizes = sizes
        self.steps: list[tuple[str, int]] = []
        self.started, self.released = Event(), Event()
        self.warmup = Warmup(self, PATIENCE)

    def __call__(self, user: str) -> None:
        for done in range(1, self.sizes[user] + 1):
            self.started.set()
            self.released.wait(PATIENCE)
            self.steps.append((user, done))
            self.warmup.interrupt(done, self.sizes[user])


def test_large_job_is_interrupted_by_smaller_ones_and_goes_on() -> None:
    async def main() -> None:
        prepare = ChunkedPrepare({"much": 500, "some": 30, "few": 25})
        warmup = prepare.warmup
        warmup.start("much", 500)
        await asyncio.to_thread(prepare.started.wait, PATIENCE)
        warmup.start("some", 30)
        warmup.start("few", 25)
        prepare.released.set()
        await warmup.wait("few")
        await warmup.wait("some")
        await warmup.wait("much")
        await asyncio.to_thread(warmup.close)
        few, some = (prepare.steps.index((user, 1)) for user in ("few", "some"))
        assert few == 1  # after the first chunk of the large job, which had begun
        assert prepare.steps[few : few + 25] == [("few", done) for done in range(1, 26)]
        assert some == 27  # the large job goes on in between
        assert prepare.steps[-1] == ("much", 500)
        assert len(prepare.steps) == 555

    asyncio.run(main())


def test_large_job_is_not_interrupted_by_a_larger_one() -> None:
    async def main() -> None:
        prepare = ChunkedPrepare({"some": 30, "much": 500})
        prepare.warmup.start("some", 30)
        await asyncio.to_thread(prepare.started.wait, PATIENCE)
        prepare.warmup.start("much", 500)
        prepare.released.set()
        await prepare.warmup.wait("much")
        await asyncio.to_thread(prepare.warmup.close)
        assert [user for user, _ in prepare.steps] == ["some"] * 30 + ["much"] * 500

    asyncio.run(main())


def test_running_job_of_a_forgotten_user_ends_at_its_next_chunk() -> None:
    async def main() -> None:
        prepare = ChunkedPrepare({"much": 500})
        prepare.warmup.start("much", 500)
        await asyncio.to_thread(prepare.started.wait, PATIENCE)
        forgetting = asyncio.create_task(prepare.warmup.cancel("much"))
        await let_tasks_run()
        prepare.released.set()
        await forgetting
        await asyncio.to_thread(prepare.warmup.close)
        assert prepare.steps == [("much", 1)]

    asyncio.run(main())


def test_user_with_few_new_items_is_answered_while_a_large_one_is_prepared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    permits = Semaphore(0)
    embed = OnnxEmbedder.embed

    def embed_with_permit(self: OnnxEmbedder, texts: Sequence[str]) -> Matrix:
        if any("Kiln" in text for text in texts):
            permits.acquire(timeout=PATIENCE)
        return embed(self, texts)

    def items(word: str, count: int) -> dict[str, object]:
        return {"items": [mail(str(number), f"{word} {number}") for number in range(count)]}

    monkeypatch.setattr(OnnxEmbedder, "embed", embed_with_permit)
    with running(tmp_path) as service, service.client("much") as much, service.client("few") as few:
        for client in (much, few):
            client.put("/v1/me", json={}).raise_for_status()
        much.put("/v1/items", json=items("Kiln", 300)).raise_for_status()
        few.put("/v1/items", json=items("Glaze", 21)).raise_for_status()
        permits.release()  # one chunk of the large user; the next one blocks
        answer = few.post("/v1/context", json={"text": "Glaze"})
        assert len(answer.raise_for_status().json()["context"]) > 0
        permits.release(1000)
