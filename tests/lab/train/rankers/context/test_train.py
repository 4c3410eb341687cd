"""Training and cross-validation of the context ranker, on a few personas and with few rounds."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from contextune.context.ranker import ContextRanker, default_ranker
from contextune.context.signals import FEATURE_NAMES
from contextune.datasets import (
    bundled_pairs,
    bundled_persona_file,
    bundled_personas,
    load_persona,
    read_persona,
    training_pairs,
)
from contextune.embed import Embedder
from contextune.errors import RankerError
from contextune.rank import RankerSettings
from contextune.store import SQLiteStore
from contextune.tuner import Tuner
from contextune_lab.bench.quality import ablations as ablation_bench
from contextune_lab.bench.quality.ablations import LEARNING_CURVE, ablations, sample_across_folds
from contextune_lab.train.embedder.data import assign_folds
from contextune_lab.train.embedder.fold_vectors import FoldVectors
from contextune_lab.train.rankers.context import embedded_personas
from contextune_lab.train.rankers.context import train as recipe
from contextune_lab.train.rankers.context.embedded_personas import EmbeddedPersonas, TextVectors
from contextune_lab.train.rankers.context.examples import ContextExample, from_folds
from contextune_lab.train.rankers.context.from_feedback import continue_training, feedback_examples
from contextune_lab.train.rankers.context.haystack import haystack_examples

FAST = RankerSettings(rounds=8, seeds=1)
PERSONA = read_persona(bundled_persona_file("a01"))


@pytest.fixture(scope="module", autouse=True)
def fast_settings() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recipe, "FIRST_PASS", FAST)
        patch.setattr(recipe, "SECOND_PASS", FAST)
        patch.setattr(recipe, "GRID", {"ranker": (1.0,), "store": (0.0, 0.2), "meaning": (0.0, 0.2)})
        yield


@pytest.fixture(scope="module")
def data(context_examples: list[ContextExample]) -> recipe.FeaturedExamples:
    """Three folds: two measured personas, and one measured plus one for training only."""
    chosen = [example for example in context_examples if example.fold < 3]
    return recipe.FeaturedExamples.build(chosen)


@pytest.fixture(scope="module")
def rankings(data: recipe.FeaturedExamples) -> list[recipe.HeldOutRanking]:
    return recipe.cross_validate(data)


def mean_recall(rankings: Sequence[recipe.HeldOutRanking], k: int) -> float:
    recalls: list[float] = []
    for ranking in rankings:
        example = ranking.example
        relevant = {name for name, grade in zip(example.ids, example.grades, strict=True) if grade}
        recalls.append(len(set(ranking.ranked()[:k]) & relevant) / example.relevant)
    return float(np.mean(recalls))


def test_measured_personas_are_ranked_far_above_chance(rankings: list[recipe.HeldOutRanking]) -> None:
    assert {ranking.example.group for ranking in rankings} == {"a01", "a02", "b01"}  # not j01
    assert mean_recall(rankings, 5) > 0.3  # by chance about 0.15


def test_cross_validation_is_deterministic(
    data: recipe.FeaturedExamples, rankings: list[recipe.HeldOutRanking]
) -> None:
    again = recipe.cross_validate(data)
    assert [ranking.ranked() for ranking in again] == [ranking.ranked() for ranking in rankings]


def test_labels_of_a_fold_do_not_reach_its_scores(
    data: recipe.FeaturedExamples, rankings: list[recipe.HeldOutRanking]
) -> None:
    """With the grades of one fold reversed, that fold is ranked as before and the others are not."""
    fold = data.examples[0].fold
    reversed_grades = [
        example if example.fold != fold else replace(example, grades=example.grades[::-1].copy())
        for example in data.examples
    ]
    before = {ranking.example.name: ranking.fused for ranking in rankings}
    after = recipe.cross_validate(recipe.FeaturedExamples(reversed_grades, data.matrices))
    changed = {
        ranking.example.fold
        for ranking in after
        if not np.array_equal(ranking.fused, before[ranking.example.name])
    }
    assert changed == {0, 1, 2} - {fold}


def test_one_fold_is_refused(data: recipe.FeaturedExamples) -> None:
    with pytest.raises(RankerError, match="one fold"):
        recipe.fit_by_fold(data.select(lambda example: example.fold == 0))


def test_ranker_can_be_trained_for_any_embedder(
    word_embedder: Embedder, store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded_personas, "bundled_pairs", lambda: bundled_pairs()[::20])
    monkeypatch.setattr(embedded_personas, "training_pairs", lambda: training_pairs()[::20])
    personas = [PERSONA, read_persona(bundled_persona_file("a02"))]
    vectors = EmbeddedPersonas(personas, [], TextVectors(word_embedder))
    data = recipe.FeaturedExamples.build(from_folds(vectors))
    ranker = recipe.train(data, vectors.classifier, {"embedder": word_embedder.name})
    assert ranker.has_classifier_for(word_embedder.name)
    assert data.matrices[0].shape[1] == len(FEATURE_NAMES)
    load_persona(store, PERSONA)
    request = PERSONA.request(PERSONA.queries[0])
    assert len(Tuner(store, embedder=word_embedder, ranker=ranker).context(request, 3)) == 3


def test_ablations_have_a_row_per_part(
    data: recipe.FeaturedExamples,
    rankings: list[recipe.HeldOutRanking],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ablation_bench, "LEARNING_CURVE", (3,))
    rows = ablations(data, rankings)
    parts = {"without text", "without links", "only Mail", "RRF without LambdaMART", "3 personas"}
    assert parts <= rows.keys()
    assert len({frozenset(run) for run in rows.values()}) == 1  # the same queries in every row


def test_haystack_adds_items_and_keeps_the_own(
    folds: FoldVectors, context_examples: list[ContextExample]
) -> None:
    plain = {example.name: example for example in context_examples if example.group == "a01"}
    for example in islice(haystack_examples(folds, 120), 3):
        before = plain[example.name]
        assert len(example.scene.item_columns.items) == 120
        assert set(before.ids) <= set(example.ids)
        assert example.grades.sum() == before.grades.sum()


def test_feedback_improves_the_ranking(store: SQLiteStore, word_embedder: Embedder) -> None:
    load_persona(store, PERSONA)
    tuner = Tuner(store, embedder=word_embedder)
    for query in PERSONA.queries:
        tuner.feedback(PERSONA.request(query), used=list(query.gold.relevant or {}))
    ranker = default_ranker()
    examples = feedback_examples(store, word_embedder, ranker)
    assert len(examples) == len(PERSONA.queries)
    after = continue_training(ranker, examples, RankerSettings(rounds=80, smallest_leaf=2))

    def mean_rank(by: ContextRanker) -> float:
        ranks: list[int] = []
        for example in examples:
            order = by.rank(example.scene).order.tolist()
            ranks += [order.index(n) for n in np.flatnonzero(example.grades)]
        return float(np.mean(ranks))

    assert mean_rank(after) < mean_rank(ranker)


def test_training_without_feedback_is_refused(store: SQLiteStore, word_embedder: Embedder) -> None:
    load_persona(store, PERSONA)
    assert feedback_examples(store, word_embedder, default_ranker()) == []
    with pytest.raises(RankerError, match=r"Tuner\.feedback"):
        continue_training(default_ranker(), [])


@pytest.mark.parametrize("number", LEARNING_CURVE)
def test_learning_curve_samples_every_fold(number: int) -> None:
    folds = assign_folds(bundled_personas())
    names = sample_across_folds(folds, number)
    assert len(set(names)) == number
    assert len({folds[name] for name in names}) == 5
    assert {name[0] for name in names} > {"a", "g"}  # of the first author and of the last but one
