"""Batch work on a Ray cluster of several nodes gives what one process gives, also when a node is killed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.fleet.people import SlowWork, write_people
from tests.fleet.ray_nodes import add_node, free_ports

from contextune.fleet import Checkpoint, Execute, Part, PartResult, Work, run_locally, run_parts
from contextune.fleet.embed import EmbedUsers, user_parts
from contextune.fleet.opening import WorkerSettings
from contextune.store import SQLiteStore
from contextune.store.copy_store import digest_user

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'contextune[ray]'")


@dataclass
class Nodes:
    """A cluster of three nodes on this machine, and how to work on it."""

    cluster: Any
    doomed: Any
    execute: Execute


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    from ray.cluster_utils import Cluster

    from contextune.fleet.ray_cluster import ray_cluster

    settings = {"health_check_period_ms": 500, "health_check_failure_threshold": 4}
    common = {"num_cpus": 1, "object_store_memory": 80_000_000}
    head = {
        **common,
        **free_ports(),
        "include_dashboard": False,
        "no_monitor": True,
        "_system_config": settings,
    }
    cluster: Any = Cluster()
    try:
        add_node(cluster, **head)
        _, doomed = (add_node(cluster, **common, **free_ports()) for _ in range(2))
        with ray_cluster(cluster.address, 3) as execute:
            yield Nodes(cluster, doomed, execute)
    finally:
        cluster.shutdown()


def _results(work: Work, parts: Sequence[Part], execute: Execute) -> list[bytes]:
    with Checkpoint() as checkpoint:
        report = run_parts(work, parts, checkpoint, execute=execute)
        assert report.complete
        return list(checkpoint.contents(part.key for part in parts))


def _digests(path: Path) -> list[object]:
    with SQLiteStore(path) as store:
        return [digest_user(store, user) for user in store.users()]


def test_killed_node_loses_and_doubles_nothing(nodes: Nodes, tmp_path: Path) -> None:
    stores = [tmp_path / "alone.db", tmp_path / "cluster.db"]
    for path in stores:
        write_people(path, 9)
    results: list[PartResult] = []

    def execute_and_kill(work: Work, parts: Sequence[Part]) -> Iterator[PartResult]:
        for result in nodes.execute(SlowWork(work, 0.2), parts):
            results.append(result)
            if len(results) == 3:
                nodes.cluster.remove_node(nodes.doomed, allow_graceful=False)
            yield result

    with SQLiteStore(stores[0]) as store:
        parts = list(user_parts(store))
    alone, together = (
        _results(EmbedUsers(WorkerSettings(str(path))), parts, execute)
        for path, execute in zip(stores, (run_locally, execute_and_kill), strict=True)
    )
    assert together == alone
    assert sorted(result.key for result in results) == sorted(part.key for part in parts)
    assert _digests(stores[1]) == _digests(stores[0])
