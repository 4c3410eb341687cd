"""The cluster benchmark on a small scale: real PostgreSQL, two processes, and figures that survive."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from contextune._internal.assets import asset
from contextune.datasets import Persona, read_persona
from contextune.errors import InvalidRequestError
from contextune.store import open_store
from contextune.types import Progress
from contextune_lab.bench.results_file import FILE_NAME, BenchResults
from contextune_lab.bench.speed.cluster import benchmark, processes, store_comparison
from contextune_lab.bench.speed.cluster.costs import ClusterCosts
from contextune_lab.bench.speed.cluster.growth import Assumptions
from contextune_lab.bench.speed.cluster.growth_check import check_simulation
from contextune_lab.cli.bench import app

pytest.importorskip("psycopg", reason="needs the extra contextune[postgres]")


@pytest.fixture(autouse=True)
def patient_services(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, a second is too short to connect and to answer."""
    monkeypatch.setattr(processes, "_LIMITS", replace(processes._LIMITS, max_wait=60.0))  # pyright: ignore[reportPrivateUsage]


def personas() -> list[Persona]:
    all_personas = [read_persona(asset(f"personas/{name}.json")) for name in ("a08", "b05")]
    return [replace(persona, items=persona.items[:6]) for persona in all_personas]


@contextmanager
def _show(_title: str) -> Generator[Progress]:
    yield lambda _done, _total: None


def test_all_parts_are_measured_on_two_processes(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_comparison, "_LOADED_ITEMS", 50)
    monkeypatch.setattr(store_comparison, "_REPETITIONS", 1)
    figures: dict[str, float] = {}
    counts: list[int] = []

    def record(part: Mapping[str, float]) -> None:
        figures.update(part)
        counts.append(len(figures))

    costs = benchmark.measure(
        personas(), url=postgres_url, users=4, minutes=0.05, requests=20, show=_show, record=record
    )
    assert len(counts) > 5  # recorded part by part
    assert figures["steady, failed requests"] == figures["steady, items of other users"] == 0
    assert figures["steady, items in the answers"] > 0
    assert figures["forgotten user left the other process, s"] < 60
    assert figures["removed token refused by all, s"] < 60
    assert figures["warm request, new text, PostgreSQL against SQLite"] > 0
    assert figures["overload, answers in time, % of the maximum"] > 0
    assert costs.users == 4
    assert costs.maximum > 0
    assert min(costs.store_bytes, costs.cpu_ms, costs.database_cpu_ms + 1) > 0


def test_check_puts_the_prediction_beside_the_run(postgres_url: str) -> None:
    costs = ClusterCosts(
        users=2000,
        items_per_user=6,
        processes=2,
        maximum=40,
        cpu_ms=30,
        database_cpu_ms=5,
        cold_ms=10,
        store_bytes=1e5,
        memory_bytes=1e5,
        process_bytes=4e8,
        sent_bytes=300,
        received_bytes=3000,
        writes=0.2,
        rate=24,
        p50=50,
        p99=200,
    )
    result = check_simulation(
        costs, Assumptions(), personas(), show=_show, users=4, requests=20, seconds=1, url=postgres_url
    )
    assert result.failures == 0
    assert result.rate == pytest.approx(0.6 * result.maximum)
    assert min(result.maximum, result.p50, result.predicted_p50) > 0
    assert result.predicted_maximum > costs.maximum  # four users stay in memory, 2,000 do not


def test_interrupted_run_keeps_what_it_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, record: benchmark.Record, **__: object) -> ClusterCosts:
        record({"maximum, requests per second": 40.0})
        raise KeyboardInterrupt

    monkeypatch.setattr(benchmark, "measure", interrupted)
    done = CliRunner().invoke(app, ["cluster", "--users", "4", "--out", str(tmp_path)])
    assert done.exit_code == 130
    assert "40.00" in done.output
    table = BenchResults.read(tmp_path / FILE_NAME).tables["speed"]["cluster"]
    assert "contextune bench cluster --users 4 --minutes 10" in table.command


def test_database_with_users_is_refused(postgres_url: str) -> None:
    with open_store(postgres_url) as store:
        store.put_user(personas()[0].user)
    with (
        pytest.raises(InvalidRequestError, match="name an empty database"),
        processes.database(postgres_url),
    ):
        pass
