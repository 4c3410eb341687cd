"""Embedder benchmark."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from contextune.embed import Embedder, Matrix
from contextune.errors import EmbedderError, MissingExtraError
from contextune_lab.bench.speed import embedder as bench


def test_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "_BATCH", 4)
    speed = bench.measure(repeats=3)
    assert 0 < speed.query_ms < 10_000
    assert 0 < speed.texts_per_second < 100_000
    assert speed.query_speedup == speed.reference_query_ms / speed.query_ms
    assert speed.batch_speedup == speed.texts_per_second / speed.reference_texts_per_second


def test_embedders_alternate(monkeypatch: pytest.MonkeyPatch, word_embedder: Embedder) -> None:
    calls: list[tuple[str, int]] = []

    class Ours:
        name = "ours"

        def embed(self, texts: Sequence[str]) -> Matrix:
            calls.append((self.name, len(texts)))
            return word_embedder.embed(texts)

    class Theirs(Ours):
        name = "theirs"

        def __init__(self, folder: str, device: str) -> None:
            assert (folder, device) == ("weights", "cpu")

    monkeypatch.setattr(bench, "OnnxEmbedder", Ours)
    monkeypatch.setattr(bench, "SentenceTransformersEmbedder", Theirs)
    bench.measure(repeats=40, weights=Path("weights"))
    ours, theirs = ([n for name, n in calls if name == side] for side in ("ours", "theirs"))
    assert ours == theirs == [64, *[1] * 40, 64, 64]
    pairs = list(zip(calls[2::2], calls[3::2], strict=True))
    assert all(first[0] != second[0] for first, second in pairs)
    assert len({first[0] for first, _ in pairs}) == 2


def test_without_sentence_transformers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match="sentence-transformers"):
        bench.measure(weights=tmp_path)


def test_without_onnx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "contextune_lab.train.embedder.export", None)
    with pytest.raises(MissingExtraError, match=r"contextune\[train\]"):
        bench.measure()


def test_without_the_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_nothing(name: str) -> None:
        return None

    monkeypatch.setattr("contextune_lab.train.embedder.export.find_spec", find_nothing)
    with pytest.raises(EmbedderError, match="pip install"):
        bench.measure()


def test_missing_weights_are_reported(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match="cannot load"):
        bench.measure(weights=tmp_path / "nowhere")
