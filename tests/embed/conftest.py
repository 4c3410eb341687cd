"""The bundled embedder, its vectors of the bundled personas, and those of the float32 model."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from contextune.datasets import Persona, bundled_personas
from contextune.embed import Matrix, OnnxEmbedder, default_embedder
from contextune_lab.train.embedder.reference import persona_texts


@dataclass(frozen=True)
class Bundled:
    """All texts of the bundled personas, and the vectors of every ninth persona."""

    texts: list[str]
    personas: list[Persona]
    vectors: Matrix
    """Of the texts of `personas`, in the order of `persona_texts`."""


@pytest.fixture(scope="session")
def embedder() -> OnnxEmbedder:
    return default_embedder()


@pytest.fixture(scope="session")
def bundled(embedder: OnnxEmbedder) -> Bundled:
    all_personas = bundled_personas()
    personas = all_personas[::9]
    return Bundled(persona_texts(all_personas), personas, embedder.embed(persona_texts(personas)))


@pytest.fixture(scope="session")
def reference() -> dict[str, NDArray[Any]]:
    """The output of `python -m contextune_lab.train.embedder.reference`."""
    with np.load(Path(__file__).with_name("reference.npz"), allow_pickle=False) as arrays:
        return dict(arrays)
