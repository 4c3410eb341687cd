"""The shipped embedder, all it says about the bundled data, and what the float32 model says."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from contextune.datasets import Persona, bundled_personas
from contextune.embed import Matrix, OnnxEmbedder, default_embedder
from contextune.lab.train.embedder.reference import persona_texts


@dataclass(frozen=True)
class Bundled:
    """All texts of the bundled personas; and of every third persona a vector for each of its texts."""

    texts: list[str]
    personas: list[Persona]
    vectors: Matrix
    """Of the personas' texts, as `persona_texts` orders them."""


@pytest.fixture(scope="session")
def embedder() -> OnnxEmbedder:
    return default_embedder()


@pytest.fixture(scope="session")
def bundled(embedder: OnnxEmbedder) -> Bundled:
    """Takes half a minute or more: whatever uses it needs a longer timeout."""
    everybody = bundled_personas()
    personas = everybody[::3]
    return Bundled(persona_texts(everybody), personas, embedder.embed(persona_texts(personas)))


@pytest.fixture(scope="session")
def reference() -> dict[str, NDArray[Any]]:
    """What `python -m contextune.lab.train.embedder.reference` wrote."""
    with np.load(Path(__file__).with_name("reference.npz"), allow_pickle=False) as arrays:
        return dict(arrays)
