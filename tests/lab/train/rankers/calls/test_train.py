"""Training of the call ranker on synthetic examples, and its figures."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from contextune.plan.calls.classifier import ToolClassifier
from contextune.plan.calls.feature_names import NAMES
from contextune.plan.calls.statistics import CallStatistics
from contextune.rank import RankerSettings
from contextune_lab.reliability import auroc, calibration_error, reliability_bins
from contextune_lab.train.rankers.calls import train as recipe
from contextune_lab.train.rankers.calls.examples import CallExample
from contextune_lab.train.rankers.calls.report import call_figures, none_figures
from contextune_lab.train.rankers.calls.requests import FULL, PLAIN

QUICK = RankerSettings(rounds=40, seeds=1, smallest_leaf=5, rate=0.2, feature_share=1.0)
SURE, FITS, RANK, VARIED, LENGTH = (
    NAMES.index(name) for name in ("sure", "fits", "tool rank", "varied", "length")
)
pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")  # of values that no feature can have


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "SETTINGS", QUICK)
    monkeypatch.setattr(recipe, "RIGHT_SETTINGS", replace(QUICK, objective="binary"))
    monkeypatch.setattr(recipe, "NONE_SETTINGS", replace(QUICK, objective="binary"))


@pytest.fixture(scope="module")
def examples() -> list[CallExample]:
    """Requests whose right call is the surest one, and unserved ones that fit no tool."""
    draw = np.random.default_rng(1)
    made: list[CallExample] = []
    for number in range(150):
        served = number % 3 > 0
        matrix = draw.normal(size=(3, len(NAMES))).astype(np.float32)
        matrix[:, SURE] = draw.uniform(size=3)
        matrix[:, FITS] = draw.uniform(0.4, 1) if served else draw.uniform(0, 0.6)
        matrix[:, RANK], matrix[:, VARIED], matrix[:, LENGTH] = np.arange(3), 0, number // 3 % 8
        right = np.arange(3) == int(np.argmax(matrix[:, SURE]))
        right &= served
        kind = "explicit" if number % 2 else "semantic"
        made.append(
            CallExample(
                f"p{number}/q",
                f"p{number}",
                number % 5,
                kind,
                FULL if served else PLAIN,
                True,
                matrix,
                right,
                right,
                right,
                served,
                True,
            )
        )
    return made


def test_ranker_learns_which_call_is_right(examples: Sequence[CallExample]) -> None:
    ranked, rankers = recipe.cross_validate(examples)
    assert sorted(rankers) == [0, 1, 2, 3, 4]
    for rows in recipe.examples_by_kind(ranked).values():
        figures = call_figures(rows)
        assert figures.requests == 50
        assert figures.best[1] > 0.75 > 0.5 > figures.first[1]
        assert figures.possible == (1.0, 1.0, 1.0)


def test_unserved_requests_are_recognised(examples: Sequence[CallExample]) -> None:
    ranked, _ = recipe.cross_validate(examples)
    assert none_figures(ranked)["AUROC plain"] > 0.8
    for row in ranked:
        assert row.ranked.right.sum() + row.ranked.none <= 1 + 1e-6


def test_excluded_fold_does_not_change_its_own_ranker(examples: Sequence[CallExample]) -> None:
    scrambled = [
        replace(example, tool=example.tool[::-1], ast=example.ast[::-1], exact=example.exact[::-1])
        if example.fold == 2
        else example
        for example in examples
    ]
    matrix = examples[2].matrix
    original, changed = recipe.fit(examples, 2), recipe.fit(scrambled, 2)
    assert original.score(matrix).tolist() == changed.score(matrix).tolist()
    assert recipe.fit(scrambled).score(matrix).tolist() != recipe.fit(examples).score(matrix).tolist()


def test_trained_ranker_can_be_saved(examples: Sequence[CallExample], tmp_path: Path) -> None:
    classifier = ToolClassifier(("a", "b"), np.ones((2, 4), np.float32))
    ranker = recipe.train(examples, classifier, CallStatistics(), {"embedder": "x"})
    ranker.save(tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {
        *("calls.json.gz", "right.json.gz", "none.json.gz", "tools.npz", "card.json")
    }


def test_classifier_learns_which_tool_a_vector_means() -> None:
    draw = np.random.default_rng(0)
    centres = np.eye(3, 8)
    tools = ["call", "play", "read"] * 30
    vectors = np.stack([centres[["call", "play", "read"].index(tool)] for tool in tools])
    vectors += draw.normal(0, 0.1, vectors.shape)
    classifier = recipe.fit_classifier(vectors, tools)
    probabilities = classifier.probabilities(centres[1].astype(np.float32))
    assert probabilities["play"] > 0.8
    assert sum(probabilities.values()) == pytest.approx(1)


def test_auroc_counts_ties_half() -> None:
    labels = np.array([True, False, True, False])
    assert auroc(labels, np.array([0.9, 0.1, 0.8, 0.2])) == 1.0
    assert auroc(labels, np.array([0.5, 0.5, 0.5, 0.5])) == 0.5


def test_calibration_error_of_overconfident_probabilities() -> None:
    labels = np.array([True, False] * 10)
    assert calibration_error(reliability_bins(labels, np.full(20, 0.5))) == pytest.approx(0)
    assert calibration_error(reliability_bins(labels, np.full(20, 0.9))) == pytest.approx(0.4)
