"""Check the simulation of growth against a small run: predicted beside measured."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from contextune.datasets import Persona
from contextune_lab.bench.speed.cluster.benchmark import find_maximum
from contextune_lab.bench.speed.cluster.costs import ClusterCosts
from contextune_lab.bench.speed.cluster.growth import Assumptions, predict_run
from contextune_lab.bench.speed.cluster.processes import ShowProgress, database, running_cluster
from contextune_lab.bench.speed.load_client import LoadProfile

_USERS = 200
_PROCESSES = 2
_REQUESTS = 400
_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class SimulationCheck:
    """A small run and what was predicted for it."""

    users: int
    maximum: float
    """Requests per second that were answered."""
    predicted_maximum: float
    rate: float
    """Requests per second of the steady load: a share of the measured maximum."""
    p50: float
    predicted_p50: float
    """At the same share of the predicted maximum."""
    failures: int


def check_simulation(
    costs: ClusterCosts,
    assumptions: Assumptions,
    personas: Sequence[Persona],
    *,
    show: ShowProgress,
    users: int = _USERS,
    requests: int = _REQUESTS,
    seconds: float = _SECONDS,
    url: str | None = None,
) -> SimulationCheck:
    """Predict a run of few users from measured costs, run it, and return both."""
    profile = LoadProfile(requests, writes=costs.writes)
    with (
        database(url) as stores,
        running_cluster(personas, stores, users=users, processes=_PROCESSES, show=show) as cluster,
    ):
        maximum = find_maximum(cluster, profile, show)
        rate = assumptions.load * maximum
        with show("Steady load") as update:
            steady = replace(profile, rate=rate, requests=max(1, int(rate * seconds)))
            load = cluster.run(steady, 10 * requests, update)
    predicted = predict_run(costs, assumptions, users=users, processes=_PROCESSES)
    return SimulationCheck(users, maximum, predicted.maximum, rate, load.p50, predicted.p50, load.failures)
