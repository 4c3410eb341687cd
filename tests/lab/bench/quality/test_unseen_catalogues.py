"""Search on catalogues that no ranker has seen: rows, held-out rankers, divided requests."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.lab.train.tiny_tools import few_folds, public_rows, vector, world

from contextune.embed import Embedder
from contextune.rank import RankerSettings
from contextune_lab.bench.quality import unseen_catalogues as bench
from contextune_lab.public_data.folds import training_toolsets
from contextune_lab.train.rankers.context.examples import from_folds
from contextune_lab.train.rankers.tools import train as recipe
from contextune_lab.train.rankers.tools.examples import (
    PublicVectors,
    ToolExample,
    from_personas,
    from_public,
)


@pytest.fixture
def public(tmp_path: Path) -> list[ToolExample]:
    toolsets = training_toolsets(world(tmp_path))
    examples = from_public(toolsets, PublicVectors(public_rows(toolsets)))[::2]
    parts = ("first part", "second part")
    rows = np.stack([vector(part) for part in parts])
    return [
        replace(example, query=example.query.with_parts(parts, rows)) if number % 3 == 0 else example
        for number, example in enumerate(examples)
    ]


def test_tables_compare_all_methods_by_source(
    tmp_path: Path, public: list[ToolExample], word_embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipe, "SETTINGS", RankerSettings(rounds=3, seeds=1, smallest_leaf=5))
    folds = few_folds(tmp_path / "folds.npz", word_embedder)
    examples = from_folds(folds)
    people = from_personas(folds, examples, [example.grades.astype(np.float64) for example in examples])
    tables = bench.unseen_tables(people[::4], public)
    assert list(tables) == ["toolbench", "toollens", "metatool"]
    for table in tables.values():
        for row in (bench.HYBRID, bench.HYBRID_PARTS, bench.LEARNED_WHOLE, bench.LEARNED):
            for kind in (bench.DIVIDED, bench.UNDIVIDED):
                assert 0 <= table.cell(row, "recall@5", kind).interval.mean <= 1
        # without parts, both ways of searching are the same
        for whole, by_part in (
            (bench.HYBRID, bench.HYBRID_PARTS),
            (bench.LEARNED_WHOLE, bench.LEARNED),
        ):
            means = [table.cell(row, "recall@5", bench.UNDIVIDED).interval.mean for row in (whole, by_part)]
            assert means[0] == means[1]
