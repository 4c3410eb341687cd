"""HTTP load test on a small scale, including leak detection."""

from dataclasses import replace
from pathlib import Path

from tests.serve.conftest import running

from contextune._internal.assets import asset
from contextune.datasets import Persona, read_persona
from contextune.lab.bench.speed.http_load import LoadProfile, LoadRun, create_users, measure
from contextune.serve.http.settings import ServiceSettings
from contextune.serve.http.tokens import TokenFile
from contextune.store import SQLiteStore


def personas() -> list[Persona]:
    all_personas = [read_persona(asset(f"personas/{name}.json")) for name in ("a08", "b05")]
    return [replace(persona, items=persona.items[:6]) for persona in all_personas]


def test_concurrent_users_get_only_their_items() -> None:
    progress_calls: list[int] = []
    profile = LoadProfile(requests=50, clients=3, fresh=False)
    load = measure(
        personas(), profile, users=3, workers=2, progress=lambda done, _: progress_calls.append(done)
    )
    assert (load.requests, load.users, load.failures, load.leaks) == (50, 3, 0, 0)
    assert load.items > 50
    assert 0 < load.p50 <= load.p95 <= load.p99
    assert progress_calls == [50]


def test_leaks_and_failures_are_counted(tmp_path: Path) -> None:
    settings = ServiceSettings(tmp_path / "store.db", tmp_path / "tokens.json")
    with SQLiteStore(settings.store) as store:
        user, other = create_users(store, personas()[:1], 2, TokenFile(settings.tokens))
    with running(tmp_path) as service:
        port = int(service.url.rpartition(":")[2])
        own = LoadRun(port, [user, other], LoadProfile(requests=6, clients=2, rate=100)).run()
        mixed = LoadRun(port, [replace(user, token=other.token)], LoadProfile(requests=3, clients=1)).run()
        nobody = LoadRun(port, [replace(user, token="none")], LoadProfile(requests=3, clients=1)).run()
    assert (own.leaks, own.failures) == (0, 0)
    assert mixed.leaks == mixed.items > 0
    assert (nobody.failures, nobody.items) == (3, 0)
