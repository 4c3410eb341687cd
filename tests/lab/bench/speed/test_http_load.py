"""HTTP load test on a small scale, including leak detection."""

import asyncio
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

import pytest
from tests.counting_embedder import CountingEmbedder
from tests.serve.conftest import running
from tests.serve.waiting import PATIENCE

from contextune._internal.assets import asset
from contextune.datasets import Persona, read_persona
from contextune.embed import default_embedder
from contextune.serve.http.settings import ServiceSettings
from contextune.serve.http.tokens import TokenFile
from contextune.store import SQLiteStore
from contextune.tuner import Tuner
from contextune_lab.bench.speed import goodput, http_load, soak
from contextune_lab.bench.speed.http_load import create_users
from contextune_lab.bench.speed.load_client import LoadClient, LoadProfile, LoadResult, LoadRun


def personas() -> list[Persona]:
    all_personas = [read_persona(asset(f"personas/{name}.json")) for name in ("a08", "b05")]
    return [replace(persona, items=persona.items[:6]) for persona in all_personas]


@pytest.fixture(scope="module")
def two_workers() -> Iterator[http_load.LoadedService]:
    """A service in processes of its own; they take seconds to start."""
    with http_load.loaded_service(personas(), users=3, workers=2) as service:
        yield service


@pytest.fixture
def shared(two_workers: http_load.LoadedService, monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure the running service, instead of starting another."""

    def running(*_: object) -> nullcontext[http_load.LoadedService]:
        return nullcontext(two_workers)

    for module in (http_load, soak):
        monkeypatch.setattr(module, "loaded_service", running)


@pytest.mark.usefixtures("shared")
def test_concurrent_users_get_only_their_items() -> None:
    progress_calls: list[int] = []
    profile = LoadProfile(requests=50, clients=3, fresh=False)
    load = http_load.measure(
        personas(), profile, users=3, workers=2, progress=lambda done, _: progress_calls.append(done)
    )
    assert (load.requests, load.users, load.failures, load.leaks) == (50, 3, 0, 0)
    assert load.items > 50
    assert 0 < load.p50 <= load.p95 <= load.p99
    assert progress_calls == [50]


def test_leaks_and_failures_are_counted(tmp_path: Path) -> None:
    settings = ServiceSettings(tmp_path / "store.db", tmp_path / "tokens.json")
    with SQLiteStore(settings.store) as store:
        user, other = create_users(store, personas()[:1], 2, TokenFile(tmp_path / "tokens.json"))
    with running(tmp_path) as service:
        port = int(service.url.rpartition(":")[2])
        own = LoadRun(port, [user, other], LoadProfile(requests=6, clients=2, rate=100)).run()
        mixed = LoadRun(port, [replace(user, token=other.token)], LoadProfile(requests=3, clients=1)).run()
        nobody = LoadRun(port, [replace(user, token="none")], LoadProfile(requests=3, clients=1)).run()
    assert (own.leaks, own.failures) == (0, 0)
    assert mixed.leaks == mixed.items > 0
    assert (nobody.failures, nobody.items) == (3, 0)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="memory is read from /proc")
def test_goodput_counts_answers_that_are_in_time() -> None:
    profile = LoadProfile(requests=24, clients=3, fresh=False)
    result = goodput.measure(personas(), profile, users=2, factors=[1, 3], patience=PATIENCE)
    assert result.maximum.load.failures == 0
    assert list(result.overloads) == [1, 3]
    for factor, overload in result.overloads.items():
        assert (overload.load.requests, overload.load.late) == (24, 0)
        assert overload.load.failures == overload.load.refused
        assert overload.megabytes > 50
        assert result.share(factor) > 0


def test_user_is_answered_beside_a_flood() -> None:
    profile = LoadProfile(requests=6, clients=4, patience=PATIENCE)
    result = goodput.measure_fairness(personas(), profile, rate=20)
    assert (result.alone.failures, result.beside.failures, result.beside.leaks) == (0, 0, 0)
    assert (result.alone.requests, result.beside.requests, result.flood.requests) == (6, 6, 6)


def test_clients_without_patience_are_late(tmp_path: Path) -> None:
    settings = ServiceSettings(tmp_path / "store.db", tmp_path / "tokens.json")
    with SQLiteStore(settings.store) as store:
        clients = create_users(store, personas()[:1], 1, TokenFile(tmp_path / "tokens.json"))
    with running(tmp_path) as service:
        port = int(service.url.rpartition(":")[2])
        load = LoadRun(port, clients, LoadProfile(requests=5, rate=100, patience=1e-6)).run()
    assert (load.late, load.failures, load.rate) == (5, 5, 0.0)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="memory is read from /proc")
@pytest.mark.usefixtures("shared")
def test_soak_reports_memory_and_descriptors() -> None:
    profile = LoadProfile(requests=30, clients=3, fresh=False)
    result = soak.measure(personas(), profile, seconds=1, users=3, workers=2)
    assert (result.load.failures, result.load.leaks) == (0, 0)
    assert result.rate > 0
    for sample in (result.first, result.last):
        assert sample.megabytes > 50
        assert sample.descriptors > 10


def test_growth_is_the_slope_of_the_memory() -> None:
    load = LoadResult(1, 1, 1.0, 1.0, 1.0, 1.0, 0, 0, 0, 0, 0)
    filling = [soak.ResourceSample(float(second), 100.0 * second, 20) for second in range(2)]
    steady = [soak.ResourceSample(float(second), 200.0 + 0.5 * second, 20) for second in range(2, 10)]
    result = soak.SoakResult(load, 1.0, [*filling, *steady])
    assert result.megabytes_per_hour == pytest.approx(1800)
    assert (result.first.seconds, result.last.seconds) == (2.0, 9.0)


def test_first_request_of_a_copy_embeds_only_its_text(tmp_path: Path) -> None:
    [persona, _] = personas()
    with SQLiteStore(tmp_path / "store.db") as store:
        clients = create_users(store, [persona], 2, TokenFile(tmp_path / "tokens.json"))
        embedder = CountingEmbedder(default_embedder())
        request = replace(persona.request(persona.queries[0]), user=clients[1].user)
        Tuner(store, embedder=embedder).context(request)
    assert request.text in embedder.texts
    assert not [text for text in embedder.texts if "opened" in text or "played" in text]


def test_request_on_a_connection_that_the_service_ended_is_sent_again() -> None:
    """A service may end an idle connection while a request is under way; that is no failure of its own."""
    answer = b'{"context": []}'
    response = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(answer), answer)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for is_first in (True, False):
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].split()[0]))
            if is_first:  # the second request of a connection gets no answer
                writer.write(response)
                await writer.drain()
        writer.close()

    async def main(ports: list[int], started: Event, done: Event) -> None:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            ports.append(server.sockets[0].getsockname()[1])
            started.set()
            await asyncio.to_thread(done.wait, PATIENCE)

    ports: list[int] = []
    started, done = Event(), Event()
    thread = Thread(target=lambda: asyncio.run(main(ports, started, done)))
    thread.start()
    assert started.wait(PATIENCE)
    clients = [LoadClient("ines", "token", ({"text": "kiln"},))]
    result = LoadRun(ports, clients, LoadProfile(requests=6, clients=1, patience=PATIENCE)).run()
    done.set()
    thread.join()
    assert (result.failures, result.requests) == (0, 6)
