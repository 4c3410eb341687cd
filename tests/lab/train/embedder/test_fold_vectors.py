"""Out-of-fold vectors of the tuned embedder."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import WordEmbedder
from tests.lab.train.tiny_tools import few_folds

from contextune.datasets import bundled_personas, training_personas
from contextune.errors import InvalidDataError
from contextune.evaluate.metrics import JudgedRanking, parse_metric
from contextune_lab.bench.quality.context import QueryJudgements
from contextune_lab.train.embedder.collect_folds import collect_public
from contextune_lab.train.embedder.data import FOLDS
from contextune_lab.train.embedder.fold_vectors import FoldVectors, bundled_folds

PERSONAS, MORE = bundled_personas(), training_personas()


@pytest.fixture(scope="module")
def folds() -> FoldVectors:
    return bundled_folds()


@pytest.mark.parametrize(
    ("cot", "floors"),
    [
        (False, {"recall@3": 0.70, "recall@5": 0.80, "recall@10": 0.90}),
        (True, {"recall@3": 0.82, "recall@5": 0.90, "recall@10": 0.96}),
    ],
)
def test_tuned_embedder_reaches_minimum_recall(
    folds: FoldVectors, cot: bool, floors: dict[str, float]
) -> None:
    judged = JudgedRanking.from_run(folds.ranked(cot=cot), QueryJudgements.from_personas(PERSONAS).qrels)
    for name, floor in floors.items():
        assert parse_metric(name)(judged).mean() >= floor, name


def test_ranking_contains_exactly_the_visible_items(folds: FoldVectors) -> None:
    run = folds.ranked(cot=False)
    for persona in PERSONAS:
        for query in persona.queries:
            visible = {item.id for item in persona.items if item.made is None or item.made <= query.time}
            assert sorted(run[f"{persona.id}/{query.id}"]) == sorted(visible)


def test_vectors_of_other_personas_are_rejected(tmp_path: Path) -> None:
    folds = few_folds(tmp_path / "folds.npz", WordEmbedder(), 2)
    assert len(folds.ranked(cot=False)) == sum(len(persona.queries) for persona in folds.personas)
    with pytest.raises(InvalidDataError, match="other personas"):
        replace(folds, personas=folds.personas[1:]).ranked(cot=False)


def test_file_without_fold_vectors_is_rejected(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", x=np.ones(3))
    with pytest.raises(InvalidDataError, match="not a file of fold vectors"):
        FoldVectors(PERSONAS, MORE, tmp_path / "other.npz").ranked(cot=False)
    with pytest.raises(InvalidDataError, match="not a file of fold vectors"):
        FoldVectors(PERSONAS, MORE, tmp_path / "missing.npz").ranked(cot=False)


def test_both_persona_sets_are_spread_over_all_folds(folds: FoldVectors) -> None:
    """Both sets of personas are spread over all folds, so that no model trains on what it is measured on."""
    for personas in (folds.personas, folds.training_only):
        assert {folds.fold[persona.id] for persona in personas} == set(range(5))
    assert not {p.id for p in folds.personas} & {p.id for p in folds.training_only}


def test_public_vectors_are_collected_by_fold(tmp_path: Path) -> None:
    rows = np.eye(3, dtype=np.float16)
    for fold in range(FOLDS):
        arrays: dict[str, Any] = {"tools": rows, "few tools": rows * (fold + 1), "few queries": rows[:1]}
        np.savez(tmp_path / f"vectors-{fold}.npz", **arrays)
    found = collect_public(tmp_path)
    assert set(found) == {f"{fold}/few {part}" for fold in range(FOLDS) for part in ("tools", "queries")}
    assert found["2/few tools"].tolist() == (127 * np.eye(3, dtype=int)).tolist()
