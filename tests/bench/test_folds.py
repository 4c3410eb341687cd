"""The rows of the tuned embedder, out of the vectors in the package."""

from pathlib import Path

import numpy as np
import pytest

from contextune.bench.context import Judgements
from contextune.bench.folds import FoldVectors, bundled_folds
from contextune.bench.metrics import Judged, metric
from contextune.errors import InvalidDataError
from contextune.sources import bundled_personas

PERSONAS = bundled_personas()


@pytest.fixture(scope="module")
def folds() -> FoldVectors:
    return bundled_folds(PERSONAS)


@pytest.mark.parametrize(
    ("cot", "floors"),
    [
        (False, {"recall@3": 0.58, "recall@5": 0.72, "recall@10": 0.88}),
        (True, {"recall@3": 0.78, "recall@5": 0.90}),
    ],
)
def test_the_floors_of_the_tuned_rows_hold(folds: FoldVectors, cot: bool, floors: dict[str, float]) -> None:
    judged = Judged.of(folds.ranked(cot=cot), Judgements.of(PERSONAS).qrels)
    for name, floor in floors.items():
        assert metric(name)(judged).mean() >= floor, name


def test_a_ranking_holds_what_the_query_may_see(folds: FoldVectors) -> None:
    run = folds.ranked(cot=False)
    for persona in PERSONAS:
        for query in persona.queries:
            seen = {item.id for item in persona.items if item.made is None or item.made <= query.time}
            assert sorted(run[f"{persona.id}/{query.id}"]) == sorted(seen)


def test_vectors_of_other_personas_are_refused() -> None:
    with pytest.raises(InvalidDataError, match="other personas"):
        bundled_folds(PERSONAS[1:]).ranked(cot=False)


def test_another_file_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", x=np.ones(3))
    with pytest.raises(InvalidDataError, match="no file of fold vectors"):
        FoldVectors(PERSONAS, tmp_path / "other.npz").ranked(cot=False)
    with pytest.raises(InvalidDataError, match="no file of fold vectors"):
        FoldVectors(PERSONAS, tmp_path / "missing.npz").ranked(cot=False)
