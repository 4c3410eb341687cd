"""Tuned rows with the chain of thought of a large model."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.lab.train.tiny_tools import few_folds

from contextune.context.build_scene import RequestVectors
from contextune.embed import Embedder
from contextune.rank import RankerSettings
from contextune_lab.bench.large_model import large_model_cot
from contextune_lab.bench.quality.large_model_cot import (
    LEARNED,
    PART,
    TUNED,
    cot_examples,
    large_model_cot_rows,
)
from contextune_lab.train.embedder.data import situation_text
from contextune_lab.train.embedder.fold_vectors import FoldVectors
from contextune_lab.train.rankers.context import train as recipe
from contextune_lab.train.rankers.context.examples import from_folds


@pytest.fixture
def folds(tmp_path: Path, word_embedder: Embedder) -> FoldVectors:
    return few_folds(tmp_path / "folds.npz", word_embedder, 3)


@pytest.fixture
def folds_with_cot(folds: FoldVectors, word_embedder: Embedder) -> FoldVectors:
    """The same with the optional part, for the measured personas only."""
    thoughts = large_model_cot()
    rows = [
        RequestVectors(
            *word_embedder.embed([f"{query.text} {thoughts[persona.name(query)]}", situation_text(query)])
        ).situated
        for persona in folds.personas
        for query in persona.queries
    ]
    with np.load(folds.file) as arrays:
        more: dict[str, Any] = {**arrays, PART: np.stack(rows)}
    np.savez(folds.file, **more)
    return folds


def test_without_the_vectors_there_are_no_rows(folds: FoldVectors) -> None:
    assert large_model_cot_rows(folds, {}) == {}


def test_request_is_searched_with_its_thought(folds_with_cot: FoldVectors, word_embedder: Embedder) -> None:
    thoughts = large_model_cot()
    queries = {persona.name(query): query for persona in folds_with_cot.personas for query in persona.queries}
    examples = {example.name: example for example in cot_examples(folds_with_cot)}
    plain = {example.name: example for example in from_folds(folds_with_cot) if example.measured}
    assert examples.keys() == queries.keys() == plain.keys()
    for name, example in examples.items():
        text = f"{queries[name].text} {thoughts[name]}"
        assert example.scene.text == text
        expected = example.scene.vectors @ word_embedder.embed([text])[0]
        np.testing.assert_allclose(example.scene.similarities.text, expected, atol=1e-5)
        assert example.scene.request_classes == plain[name].scene.request_classes
        np.testing.assert_array_equal(example.grades, plain[name].grades)


def test_rows_rank_all_candidates(folds_with_cot: FoldVectors, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = RankerSettings(rounds=3, seeds=1, smallest_leaf=5)
    monkeypatch.setattr(recipe, "FIRST_PASS", fast)
    monkeypatch.setattr(recipe, "SECOND_PASS", fast)
    monkeypatch.setattr(recipe, "GRID", {"ranker": (1.0,), "meaning": (0.0, 0.2)})
    data = recipe.FeaturedExamples.build(from_folds(folds_with_cot))
    trained = recipe.fit_by_fold(data)
    rows = large_model_cot_rows(folds_with_cot, trained)
    assert list(rows) == [TUNED, LEARNED]
    plain = {ranking.example.name: ranking.ranked() for ranking in recipe.rank_held_out(data, trained)}
    for run in rows.values():
        assert {name: sorted(ranking) for name, ranking in run.items()} == {
            name: sorted(ranking) for name, ranking in plain.items()
        }
    assert rows[LEARNED] != plain
