"""The shipped embedder, all it says about the bundled data, and what the float32 model says."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from contextune.embed import Matrix, OnnxEmbedder, default_embedder
from contextune.sources import Persona, bundled_personas
from contextune.train.reference import persona_texts


@dataclass(frozen=True)
class Bundled:
    """The bundled personas, their texts as `persona_texts` orders them, and a vector for each text."""

    personas: list[Persona]
    texts: list[str]
    vectors: Matrix


@pytest.fixture(scope="session")
def embedder() -> OnnxEmbedder:
    return default_embedder()


@pytest.fixture(scope="session")
def bundled(embedder: OnnxEmbedder) -> Bundled:
    """Takes a minute or more: whatever uses it needs a longer timeout."""
    personas = bundled_personas()
    texts = persona_texts(personas)
    return Bundled(personas, texts, embedder.embed(texts))


@pytest.fixture(scope="session")
def reference() -> dict[str, NDArray[Any]]:
    """What `python -m contextune.train.reference` wrote."""
    with np.load(Path(__file__).with_name("reference.npz"), allow_pickle=False) as arrays:
        return dict(arrays)
