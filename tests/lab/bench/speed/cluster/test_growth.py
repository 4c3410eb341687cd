"""Growth on paper: the simulation against queueing theory, and what grows with the users."""

import pytest

from contextune_lab.bench.speed.cluster.costs import ClusterCosts
from contextune_lab.bench.speed.cluster.growth import (
    Assumptions,
    first_limits,
    needs,
    predict_run,
    simulate,
)

COSTS = ClusterCosts(
    users=2000,
    items_per_user=33,
    processes=2,
    maximum=60,
    cpu_ms=20,
    database_cpu_ms=3,
    cold_ms=25,
    store_bytes=250_000,
    memory_bytes=400_000,
    process_bytes=4e8,
    sent_bytes=400,
    received_bytes=5000,
    writes=0.2,
    rate=36,
    p50=30,
    p99=120,
)


def test_queue_has_the_latencies_of_theory() -> None:
    # one server, exponential times: the sojourn is exponential with rate (1 - 0.5) / 20 ms
    load = simulate(25, 1, warm_ms=20, cold_ms=0, servers=1, session=1)
    assert load.p50 == pytest.approx(40 * 0.693, rel=0.1)
    assert load.p99 == pytest.approx(40 * 4.605, rel=0.15)


def test_users_beyond_the_memory_are_read_again() -> None:
    few = simulate(20, 50, warm_ms=5, cold_ms=20, cached=64, session=1)
    many = simulate(20, 128, warm_ms=5, cold_ms=20, cached=64, session=1)
    in_sessions = simulate(20, 10**6, warm_ms=5, cold_ms=20, cached=10**5, session=5)
    assert few.misses == 0
    assert many.misses == pytest.approx(0.5, abs=0.03)  # uniform users: half of them are in memory
    assert in_sessions.misses == pytest.approx(0.2, abs=0.03)  # the first of five


def test_needs_grow_with_users_and_are_the_same_each_time() -> None:
    small, large = needs(COSTS, [1000, 10**7], Assumptions())
    assert needs(COSTS, [1000], Assumptions()) == [small]
    assert (small.replicas, small.limits) == (2, ())
    assert large.rate == pytest.approx(10_000 * small.rate)
    assert large.replicas > 100
    assert large.terabytes == pytest.approx(2.5)
    assert "connections" in large.limits
    assert large.users > first_limits(COSTS, Assumptions())["connections"]


def test_prediction_of_the_measured_run_is_what_was_measured() -> None:
    same = predict_run(COSTS, Assumptions(), users=COSTS.users, processes=COSTS.processes)
    assert same.maximum == pytest.approx(COSTS.maximum, rel=0.05)


def test_fewer_users_are_served_faster() -> None:
    few, many = (predict_run(COSTS, Assumptions(), users=users, processes=2) for users in (20, 5000))
    assert few.maximum > COSTS.maximum > many.maximum
    assert few.p50 < many.p50
