"""Few requests to learn from: of personas, and to public catalogues in small."""

from pathlib import Path

import numpy as np
import pytest
from tests.lab.train.tiny_tools import few_folds, public_rows, world

from contextune.embed import Embedder
from contextune.lab.public_data.folds import training_toolsets
from contextune.lab.public_data.toolset import Toolset
from contextune.lab.train.embedder.fold_vectors import FoldVectors
from contextune.lab.train.rankers.context_examples import from_folds
from contextune.lab.train.rankers.tool_examples import (
    PublicVectors,
    ToolExample,
    from_personas,
    from_public,
)


@pytest.fixture
def folds(tmp_path: Path, word_embedder: Embedder) -> FoldVectors:
    return few_folds(tmp_path / "folds.npz", word_embedder)


@pytest.fixture
def people(folds: FoldVectors) -> list[ToolExample]:
    """With the items they were written about as the context found."""
    examples = from_folds(folds)
    return from_personas(folds, examples, [example.grades.astype(np.float64) for example in examples])


@pytest.fixture
def toolsets(tmp_path: Path) -> list[Toolset]:
    return training_toolsets(world(tmp_path))


@pytest.fixture
def public(toolsets: list[Toolset]) -> list[ToolExample]:
    return from_public(toolsets, PublicVectors(public_rows(toolsets)))
