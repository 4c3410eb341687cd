"""Sampling tokens by temperature, top_k and top_p."""

from collections import Counter

import numpy as np
import pytest

from contextune.llm import Sampling
from contextune.llm.local import sample_token

ODDS = np.array([0.1, 0.4, 0.05, 0.3, 0.15])
SCORES = np.log(ODDS).astype(np.float32)


def counts(sampling: Sampling, times: int = 2000) -> dict[int, float]:
    random = np.random.default_rng(1)
    counter = Counter(sample_token(SCORES, sampling, random) for _ in range(times))
    return {token: counter[token] / times for token in sorted(counter)}


def test_frequencies_match_probabilities() -> None:
    assert list(counts(Sampling(1.0)).values()) == pytest.approx(ODDS.tolist(), abs=0.04)


def test_greedy_cases() -> None:
    assert counts(Sampling(0.0), 3) == {1: 1}
    assert counts(Sampling(1.0, top_k=1), 50) == {1: 1}
    assert counts(Sampling(1.0, top_p=0.01), 50) == {1: 1}


def test_top_k() -> None:
    assert counts(Sampling(1.0, top_k=3)) == pytest.approx({1: 0.47, 3: 0.353, 4: 0.176}, abs=0.04)
    assert counts(Sampling(1.0, top_k=99)).keys() == {0, 1, 2, 3, 4}


def test_top_p() -> None:
    assert counts(Sampling(1.0, top_p=0.6)) == pytest.approx({1: 0.571, 3: 0.429}, abs=0.04)
    assert counts(Sampling(1.0, top_p=0.8)).keys() == {1, 3, 4}
    assert counts(Sampling(1.0, top_p=0.9, top_k=2)).keys() == {1, 3}


def test_temperature() -> None:
    squares = (ODDS**2 / (ODDS**2).sum()).tolist()
    assert list(counts(Sampling(0.5)).values()) == pytest.approx(squares, abs=0.04)


def test_masked_tokens_are_never_sampled() -> None:
    scores = np.full(50, -np.inf, np.float32)
    scores[[7, 9]] = 1.0
    random = np.random.default_rng(1)
    for sampling in (Sampling(2.0), Sampling(2.0, top_p=0.9), Sampling(2.0, top_k=40), Sampling(0)):
        assert {sample_token(scores, sampling, random) for _ in range(50)} <= {7, 9}
