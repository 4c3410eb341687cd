"""The sentence-transformers adapter, with a tiny model."""

import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from tests.embed import tiny_bert

from contextune.embed import SentenceTransformersEmbedder
from contextune.errors import EmbedderError, MissingExtraError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_bert.make(tmp_path_factory.mktemp("tiny")))


@pytest.fixture(scope="module")
def embedder(folder: str) -> SentenceTransformersEmbedder:
    return SentenceTransformersEmbedder(folder, device="cpu")


def test_vectors_equal_those_of_the_model(folder: str, embedder: SentenceTransformersEmbedder) -> None:
    from sentence_transformers import SentenceTransformer

    model = cast("Any", SentenceTransformer(folder, device="cpu"))
    rows = embedder.embed(tiny_bert.TEXTS)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert np.allclose(rows, model.encode(tiny_bert.TEXTS, normalize_embeddings=True), atol=1e-6)


def test_vector_does_not_depend_on_the_batch(embedder: SentenceTransformersEmbedder) -> None:
    alone = np.concatenate([embedder.embed([text]) for text in tiny_bert.TEXTS])
    assert np.allclose(embedder.embed(tiny_bert.TEXTS), alone, atol=1e-4)


def test_odd_texts(embedder: SentenceTransformersEmbedder) -> None:
    assert embedder.embed(["caf\udce9", "\0", "👍🏽"]).shape == (3, 32)


def test_no_texts(embedder: SentenceTransformersEmbedder) -> None:
    assert len(embedder.embed([])) == 0


def test_name(folder: str, embedder: SentenceTransformersEmbedder) -> None:
    assert embedder.name == f"sentence-transformers#{folder}"


@pytest.mark.parametrize("model", ["{}/nowhere", "{}", "nobody/has-this-model"])
def test_unknown_model_is_refused(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # the library reads the variable when it is imported, which other tests may have done before
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    name = model.format(tmp_path)
    with pytest.raises(EmbedderError, match="sentence-transformers cannot load") as caught:
        SentenceTransformersEmbedder(name)
    assert repr(name) in str(caught.value)


def test_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match=r"contextune\[sentence-transformers\]"):
        SentenceTransformersEmbedder("tiny")
