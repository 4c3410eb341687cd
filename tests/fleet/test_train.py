"""Weights of users in training are bounded, and users held out stay the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextune.fleet.train import request_weights, split_users

COUNTS = st.dictionaries(st.text(max_size=4), st.integers(1, 500), min_size=1, max_size=60)


@given(COUNTS, st.floats(0.01, 1))
def test_nobody_has_more_than_the_share(counts: dict[str, int], max_share: float) -> None:
    weights = request_weights(counts, max_share)
    totals = {user: weights[user] * count for user, count in counts.items()}
    largest = max(totals.values()) / sum(totals.values())
    assert largest <= max(max_share, 1 / len(counts)) + 1e-9
    assert all(0 < weight <= 1 for weight in weights.values())


@given(COUNTS)
def test_more_feedback_never_weighs_less(counts: dict[str, int]) -> None:
    weights = request_weights(counts)
    ordered = sorted(counts, key=lambda user: counts[user])
    totals = [weights[user] * counts[user] for user in ordered]
    assert totals == pytest.approx(sorted(totals))


def test_without_a_dominant_user_every_request_counts_fully() -> None:
    assert set(request_weights({f"u{n}": 3 for n in range(30)}).values()) == {1.0}


def test_dominant_user_is_bounded() -> None:
    weights = request_weights({**{f"u{n}": 5 for n in range(38)}, "loud": 10_000})
    assert weights["u0"] == 1
    assert weights["loud"] * 10_000 == pytest.approx(0.05 * (38 * 5 + 10))


def test_same_users_are_held_out_when_others_join() -> None:
    users = [f"user {number}" for number in range(200)]
    training, held_out = split_users(users)
    assert 20 <= len(held_out) <= 60
    assert not {*training} & {*held_out}
    assert {*held_out} <= {*split_users([*users, "new"])[1]}


def test_two_users_are_one_of_each() -> None:
    assert [len(part) for part in split_users(["a", "b"])] == [1, 1]
