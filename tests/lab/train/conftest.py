"""Small training data: requests of a few personas, and of small public catalogues."""

import numpy as np
import pytest
from tests.conftest import WordEmbedder
from tests.lab.train.tiny_tools import few_folds, public_rows, world

from contextune_lab.public_data.folds import training_toolsets
from contextune_lab.public_data.toolset import Toolset
from contextune_lab.train.embedder.fold_vectors import FoldVectors
from contextune_lab.train.rankers.context.examples import ContextExample, from_folds
from contextune_lab.train.rankers.tools.examples import (
    PublicVectors,
    ToolExample,
    from_personas,
    from_public,
)


@pytest.fixture(scope="session")
def folds(tmp_path_factory: pytest.TempPathFactory) -> FoldVectors:
    return few_folds(tmp_path_factory.mktemp("folds") / "folds.npz", WordEmbedder())


@pytest.fixture(scope="session")
def context_examples(folds: FoldVectors) -> list[ContextExample]:
    return from_folds(folds)


@pytest.fixture(scope="session")
def persona_requests(folds: FoldVectors, context_examples: list[ContextExample]) -> list[ToolExample]:
    """The personas' requests with their gold items as context."""
    scores = [example.grades.astype(np.float64) for example in context_examples]
    return from_personas(folds, context_examples, scores)


@pytest.fixture(scope="session")
def toolsets(tmp_path_factory: pytest.TempPathFactory) -> list[Toolset]:
    return training_toolsets(world(tmp_path_factory.mktemp("world")))


@pytest.fixture(scope="session")
def public_requests(toolsets: list[Toolset]) -> list[ToolExample]:
    return from_public(toolsets, PublicVectors(public_rows(toolsets)))
