"""Reference vectors of the float32 model."""

from pathlib import Path

import numpy as np
import pytest

from contextune.datasets import bundled_personas
from contextune.embed import Embedder
from contextune_lab.train.embedder import reference
from contextune_lab.train.embedder.reference import persona_texts, texts_digest, top_items, write


def test_write(tmp_path: Path, word_embedder: Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    personas = bundled_personas()[::6]
    monkeypatch.setattr(reference, "bundled_personas", lambda: personas)
    first, other = tmp_path / "new" / "one.npz", tmp_path / "other.npz"
    for file in (first, other):
        write(word_embedder, file, name="words")
    assert first.read_bytes() == other.read_bytes()

    texts = persona_texts(personas)
    with np.load(first, allow_pickle=False) as arrays:
        assert str(arrays["model"]) == "words"
        assert str(arrays["digest"]) == texts_digest(texts)
        sample: list[str] = arrays["texts"].tolist()
        assert len(set(sample)) == 200
        items = {item.text for persona in personas for item in persona.items}
        assert [text in items for text in sample] == [True] * 100 + [False] * 100
        assert np.allclose(arrays["vectors"], word_embedder.embed(sample), atol=1e-3)
        queries = [[persona.id, query.id] for persona in personas for query in persona.queries]
        assert arrays["queries"].tolist() == queries
        assert arrays["top"].shape == (len(queries), 5)


def test_top_items(word_embedder: Embedder) -> None:
    personas = bundled_personas()[:3]
    top = top_items(personas, word_embedder.embed(persona_texts(personas)))
    for persona in personas:
        items = word_embedder.embed([item.text for item in persona.items])
        for query in persona.queries:
            scores = items @ word_embedder.embed([query.text])[0]
            ids = top[persona.id, query.id]
            by_id = {item.id: float(score) for item, score in zip(persona.items, scores, strict=True)}
            assert len(set(ids)) == 5
            assert np.allclose([by_id[name] for name in ids], sorted(by_id.values(), reverse=True)[:5])
