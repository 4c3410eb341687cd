"""LambdaMART on a learnable task, and invalid model files."""

import gzip
import json
import pickle
import subprocess
import sys
from pathlib import Path

import lightgbm
import numpy as np
import pytest

from contextune.errors import RankerError
from contextune.rank import CandidateGroup, Ranker, RankerSettings
from contextune.rank.booster import Booster

NAMES = ("signal", "noise", "more noise")
QUICK = RankerSettings(rounds=30, seeds=2, smallest_leaf=5)


def groups(count: int, seed: int = 0) -> list[CandidateGroup]:
    """The candidates with the highest first feature are relevant."""
    random = np.random.default_rng(seed)
    candidates: list[CandidateGroup] = []
    for _ in range(count):
        matrix = random.normal(size=(12, 3)).astype(np.float32)
        grades = np.zeros(12, np.int64)
        grades[np.argsort(-matrix[:, 0])[:2]] = (2, 1)
        candidates.append(CandidateGroup(matrix, grades))
    return candidates


@pytest.fixture(scope="module")
def ranker() -> Ranker:
    return Ranker.fit(groups(120), NAMES, QUICK)


def precision_at_1(ranker: Ranker, seed: int) -> float:
    tests = groups(50, seed)
    return float(np.mean([group.grades[np.argmax(ranker.score(group.matrix))] > 0 for group in tests]))


def test_fit_learns_the_relevant_feature(ranker: Ranker) -> None:
    assert precision_at_1(ranker, 1) > 0.9


def test_training_is_deterministic(ranker: Ranker) -> None:
    assert Ranker.fit(groups(120), NAMES, QUICK).models == ranker.models


def test_contributions_add_up_to_the_score(ranker: Ranker) -> None:
    matrix = groups(1, 2)[0].matrix
    parts = ranker.contributions(matrix)
    assert parts.shape == matrix.shape
    difference = ranker.score(matrix) - parts.sum(1)
    np.testing.assert_allclose(difference, difference[0], atol=1e-9)  # the mean score, the same for all
    assert np.abs(parts[:, 0]).mean() > 2 * np.abs(parts[:, 1:]).mean()


def test_round_trip_through_a_file(ranker: Ranker, tmp_path: Path) -> None:
    ranker.save(tmp_path / "deep" / "r.json.gz")
    again = Ranker.load(tmp_path / "deep" / "r.json.gz", NAMES)
    matrix = groups(1, 3)[0].matrix
    np.testing.assert_array_equal(again.score(matrix), ranker.score(matrix))
    assert again.about["settings"]["rounds"] == QUICK.rounds
    again.save(tmp_path / "again.gz")
    assert (tmp_path / "again.gz").read_bytes() == (tmp_path / "deep" / "r.json.gz").read_bytes()


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (("signal", "noise"), "unknown 'more noise'"),
        (("signal", "noise", "other"), "missing 'other'"),
        (("noise", "signal", "more noise"), "order is different"),
    ],
)
def test_file_with_other_features_is_refused(
    ranker: Ranker, tmp_path: Path, names: tuple[str, ...], reason: str
) -> None:
    ranker.save(tmp_path / "r.gz")
    with pytest.raises(RankerError, match=f"{reason}.*train it again"):
        Ranker.load(tmp_path / "r.gz", names)


EMPTY, OLD = (
    gzip.compress(b"[]", mtime=0),
    gzip.compress(b'{"format": 1}', mtime=0),
)  # no time stamps: pytest names the cases by their bytes


@pytest.mark.parametrize("content", [b"", b"no gzip", EMPTY, OLD])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "r.gz").write_bytes(content)
    with pytest.raises(RankerError, match="not a ranker"):
        Ranker.load(tmp_path / "r.gz", NAMES)


def test_file_of_another_version_is_refused(tmp_path: Path) -> None:
    content: dict[str, object] = {"format": 99, "features": NAMES, "models": []}
    (tmp_path / "r.gz").write_bytes(gzip.compress(json.dumps(content).encode()))
    with pytest.raises(RankerError, match="format 99"):
        Ranker.load(tmp_path / "r.gz", NAMES)


def test_training_continues_from_a_ranker(ranker: Ranker) -> None:
    """Examples with the opposite relevance lower the precision."""
    inverted = [CandidateGroup(-group.matrix, group.grades) for group in groups(120, 4)]
    after = Ranker.fit(inverted, NAMES, RankerSettings(rounds=60, seeds=2, smallest_leaf=5), before=ranker)
    assert precision_at_1(after, 5) < precision_at_1(ranker, 5)
    with pytest.raises(RankerError, match="other features"):
        Ranker.fit(inverted, ("a", "b", "c"), QUICK, before=ranker)


def test_fit_without_data_is_refused() -> None:
    with pytest.raises(RankerError, match="no training data"):
        Ranker.fit([], NAMES)


def test_progress_reaches_the_total() -> None:
    calls: list[tuple[int, int]] = []
    Ranker.fit(groups(20), NAMES, QUICK, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (60, 60)
    assert calls == sorted(calls)


def test_empty_matrix_has_no_scores(ranker: Ranker) -> None:
    assert len(ranker.score(np.empty((0, 3), np.float32))) == 0


def test_scores_and_contributions_are_those_of_lightgbm(ranker: Ranker) -> None:
    matrix = groups(1, 4)[0].matrix
    boosters = [lightgbm.Booster(model_str=model) for model in ranker.models]
    scores = [np.asarray(booster.predict(matrix)) for booster in boosters]
    np.testing.assert_allclose(ranker.score(matrix), np.mean(scores, axis=0), rtol=0, atol=1e-12)
    parts = [np.asarray(booster.predict(matrix, pred_contrib=True))[:, :-1] for booster in boosters]
    np.testing.assert_allclose(ranker.contributions(matrix), np.mean(parts, axis=0), rtol=0, atol=1e-12)
    every_second = np.asfortranarray(matrix)[::2]
    np.testing.assert_array_equal(ranker.score(every_second), ranker.score(matrix)[::2])


def test_scoring_imports_neither_lightgbm_nor_scipy(ranker: Ranker, tmp_path: Path) -> None:
    ranker.save(tmp_path / "r.json.gz")
    code = (
        "import sys, pathlib, numpy as np; from contextune.rank import Ranker;"
        f"ranker = Ranker.load(pathlib.Path({str(tmp_path / 'r.json.gz')!r}), {NAMES!r});"
        "assert len(ranker.score(np.zeros((4, 3), np.float32))) == 4;"
        "assert ranker.contributions(np.zeros((4, 3), np.float32)).shape == (4, 3);"
        "assert not {'lightgbm', 'contextune_lightgbm', 'scipy', 'pandas'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_booster_is_pickled_by_its_model(ranker: Ranker) -> None:
    matrix = groups(1, 5)[0].matrix
    again = pickle.loads(pickle.dumps(Booster(ranker.models[0])))
    np.testing.assert_array_equal(again.predict(matrix), Booster(ranker.models[0]).predict(matrix))


def test_damaged_model_text_is_an_error() -> None:
    with pytest.raises(RankerError, match="not a ranking model of LightGBM"):
        Booster("not a model")


def test_wrong_number_of_columns_is_an_error(ranker: Ranker) -> None:
    with pytest.raises(RankerError, match="number of features"):
        ranker.score(np.zeros((2, 5), np.float32))
