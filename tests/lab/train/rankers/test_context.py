"""Training and cross-validating the ranker, on a few personas and quick settings."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from contextune._internal.assets import asset
from contextune.context.ranker import ContextRanker, default_ranker
from contextune.context.signals import NAMES
from contextune.datasets import bundled_personas, load_persona, read_persona
from contextune.embed import Embedder
from contextune.errors import RankerError
from contextune.lab.bench.quality.ablations import CURVE, ablations, spread
from contextune.lab.train.embedder.data import folds as by_persona
from contextune.lab.train.embedder.fold_vectors import FoldVectors, bundled_folds
from contextune.lab.train.rankers import context as recipe
from contextune.lab.train.rankers.context_examples import ContextExample, from_embedder, from_folds
from contextune.lab.train.rankers.from_feedback import from_store, go_on
from contextune.lab.train.rankers.haystack import haystack
from contextune.rank import RankerSettings
from contextune.store import SQLiteStore
from contextune.tuner import Tuner

QUICK = RankerSettings(rounds=20, seeds=1)
FEW = [read_persona(asset(f"personas/{name}.json")) for name in ("a01", "a02", "b01", "c05", "d10", "e03")]


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "SETTINGS", QUICK)
    monkeypatch.setattr(recipe, "SECOND", QUICK)
    monkeypatch.setattr(recipe, "GRID", {"ranker": (1.0,), "store": (0.0, 0.2), "meaning": (0.0, 0.2)})


@pytest.fixture(scope="module")
def folds() -> FoldVectors:
    return bundled_folds()


@pytest.fixture(scope="module")
def examples(folds: FoldVectors) -> list[ContextExample]:
    return [
        example
        for example in from_folds(folds)
        if example.group in {"a01", "a02", "b01", "c05", "d10", "j01"}
    ]


def recall(found: Sequence[recipe.HeldOutRanking]) -> float:
    right = [
        len(
            set(one.ranked()[:3]) & {i for i, g in zip(one.example.ids, one.example.grades, strict=True) if g}
        )
        / one.example.relevant
        for one in found
    ]
    return float(np.mean(right))


def test_a_persona_is_ranked_by_what_has_not_seen_it(examples: list[ContextExample]) -> None:
    data = recipe.FeaturedExamples.of(examples)
    found = recipe.cross_validate(data)
    assert {one.example.group for one in found} == {
        "a01",
        "a02",
        "b01",
        "c05",
        "d10",
    }  # j01 is only learnt from
    assert recall(found) > 0.5
    again = recipe.cross_validate(data)
    assert [one.ranked() for one in again] == [one.ranked() for one in found]


def test_labels_of_a_fold_do_not_reach_its_scores(examples: list[ContextExample]) -> None:
    """With the grades of one fold turned round, that fold is ranked as before and the others are not."""
    data = recipe.FeaturedExamples.of(examples)
    fold = data.examples[0].fold
    turned = [
        example if example.fold != fold else replace(example, grades=example.grades[::-1].copy())
        for example in examples
    ]
    before = {one.example.name: one for one in recipe.cross_validate(data)}
    for one in recipe.cross_validate(recipe.FeaturedExamples(turned, data.matrices)):
        if one.example.fold == fold:
            np.testing.assert_array_equal(one.fused, before[one.example.name].fused)


def test_one_fold_is_not_enough(examples: list[ContextExample]) -> None:
    with pytest.raises(RankerError, match="one fold"):
        recipe.unseen_scores(recipe.FeaturedExamples.of(examples).part(lambda example: example.fold == 0))


def test_any_embedder_will_do(word_embedder: Embedder, store: SQLiteStore) -> None:
    examples, reader = from_embedder(FEW, word_embedder)
    data = recipe.FeaturedExamples.of(examples)
    made = recipe.train(data, reader, {"embedder": word_embedder.name})
    assert made.reads(word_embedder.name)
    assert data.matrices[0].shape[1] == len(NAMES)
    load_persona(store, FEW[0])
    request = FEW[0].request(FEW[0].queries[0])
    assert len(Tuner(store, embedder=word_embedder, ranker=made).context(request, 3)) == 3


def test_ablations_name_every_family(examples: list[ContextExample]) -> None:
    data = recipe.FeaturedExamples.of(examples)
    rows = ablations(data, recipe.cross_validate(data))
    assert {
        "without text",
        "without links",
        "only Mail",
        "RRF without LambdaMART",
        "5 personas",
    } <= rows.keys()
    assert len({frozenset(run) for run in rows.values()}) == 1  # the same queries in every row


def test_a_needle_stays_in_its_haystack(folds: FoldVectors) -> None:
    plain = {example.name: example for example in from_folds(folds) if example.group == "a01"}
    padded = list(islice(haystack(folds, 120), 3))
    for example in padded:
        before = plain[example.name]
        assert len(example.scene.facts.items) == 120
        assert set(before.ids) <= set(example.ids)
        assert example.grades.sum() == before.grades.sum()


def test_feedback_is_learnt_from(store: SQLiteStore, word_embedder: Embedder) -> None:
    load_persona(store, FEW[0])
    tuner = Tuner(store, embedder=word_embedder)
    for query in FEW[0].queries:
        gold = list(query.gold.relevant or {})
        tuner.feedback(FEW[0].request(query), used=gold)
    ranker = default_ranker()
    examples = from_store(store, word_embedder, ranker)
    assert len(examples) == len(FEW[0].queries)
    after = go_on(ranker, examples, RankerSettings(rounds=80, smallest_leaf=2))

    def mean_rank(by: ContextRanker) -> float:
        ranks: list[int] = []
        for example in examples:
            order = by.rank(example.scene).order.tolist()
            ranks += [order.index(n) for n in np.flatnonzero(example.grades)]
        return float(np.mean(ranks))

    assert mean_rank(after) < mean_rank(ranker)


def test_no_feedback_no_learning(store: SQLiteStore, word_embedder: Embedder) -> None:
    load_persona(store, FEW[0])
    assert from_store(store, word_embedder, default_ranker()) == []
    with pytest.raises(RankerError, match=r"Tuner\.feedback"):
        go_on(default_ranker(), [])


@pytest.mark.parametrize("number", CURVE)
def test_the_learning_curve_has_something_to_learn_from_in_every_fold(number: int) -> None:
    fold = by_persona(bundled_personas())
    chosen = spread(fold, number)
    assert len(set(chosen)) == number
    assert len({fold[name] for name in chosen}) == 5
    assert {name[0] for name in chosen} > {"a", "g"}  # of the first author and of the last but one
