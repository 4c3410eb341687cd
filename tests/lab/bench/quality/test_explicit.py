"""Explicit requests, ranked out of fold among the items of their persona and among many."""

from collections.abc import Iterator, Mapping

import pytest
from tests.conftest import WordEmbedder
from tests.lab.train.tiny_tools import QUICK, few_folds

from contextune.datasets import training_requests
from contextune_lab.bench.quality.explicit import (
    explicit_examples,
    explicit_haystack_rows,
    explicit_positions,
    explicit_rows,
    explicit_table,
)
from contextune_lab.train.embedder.fold_vectors import FoldVectors
from contextune_lab.train.rankers.context import train as recipe
from contextune_lab.train.rankers.context.examples import from_folds
from contextune_lab.train.rankers.context.train import TrainedPasses, fit_by_fold


@pytest.fixture(scope="module")
def folds(tmp_path_factory: pytest.TempPathFactory) -> FoldVectors:
    return few_folds(tmp_path_factory.mktemp("folds") / "folds.npz", WordEmbedder(), 3)


@pytest.fixture(scope="module")
def trained(folds: FoldVectors) -> Iterator[Mapping[int, TrainedPasses]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recipe, "FIRST_PASS", QUICK)
        patch.setattr(recipe, "SECOND_PASS", QUICK)
        patch.setattr(recipe, "GRID", {"ranker": (1.0,), "meaning": (0.0, 0.2)})
        yield fit_by_fold(recipe.FeaturedExamples.build(from_folds(folds)))


def test_only_explicit_requests_with_an_item_are_measured(folds: FoldVectors) -> None:
    requests = training_requests()
    examples = list(explicit_examples(folds))
    expected = sum(len(explicit_positions(requests[persona.id])) for persona in folds.all_personas)
    assert len(examples) == expected > 10
    assert all(example.grades.any() for example in examples)
    assert {example.kind for example in examples} == {"explicit"}


def test_words_find_what_is_named(folds: FoldVectors, trained: Mapping[int, TrainedPasses]) -> None:
    ranked = explicit_rows(folds, trained)
    table = explicit_table(folds, ranked)
    assert table.rows == ("BM25T", "Fine-tuned semantic search", "Hybrid, RRF", "LambdaMART-RRF")
    assert table.cell("BM25T", "recall@3").interval.mean > 0.6
    assert ranked.mean_candidate_recall == 100  # few items: all are candidates


def test_among_many_items_each_request_keeps_its_own(
    folds: FoldVectors, trained: Mapping[int, TrainedPasses]
) -> None:
    ranked = explicit_haystack_rows(folds, trained, 90)
    run = ranked.rows["BM25T"]
    first = {p.id: min(query.time.replace(tzinfo=None) for query in p.queries) for p in folds.personas}
    names = {
        f"{user}/{requests[n].id}"
        for user, requests in training_requests().items()
        if user in first
        for n in explicit_positions(requests)
        if requests[n].time.replace(tzinfo=None) >= first[user]
    }
    assert run.keys() == names
    assert any(item.startswith("hay-") for ids in run.values() for item in ids)
    assert 50 < ranked.mean_candidate_recall <= 100
    assert explicit_table(folds, ranked).cell("BM25T", "recall@5").n == len(names)
