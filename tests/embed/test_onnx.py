"""The bundled embedder: close to the float32 model, independent of the batch, robust to odd texts."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.embed.conftest import Bundled

from contextune._internal.assets import asset
from contextune.embed import Matrix, OnnxEmbedder, default_embedder
from contextune.embed.onnx import load_default_embedder
from contextune.errors import EmbedderError
from contextune_lab.train.embedder.reference import texts_digest, top_items

pytestmark = pytest.mark.usefixtures("models_run_each_time")
Reference = dict[str, NDArray[Any]]

LONG = 4 * (
    "Did the plumber ever call back about the leak under the sink, or was it the neighbour — the one with "
    "the café, Zoë? Remind me at 17:40 to send Łukasz the €1,200 invoice №7 for 東京. "
)
TEXTS = [LONG[start : start + size**2] for start in range(0, 20, 5) for size in range(0, 20, 2)]
ODD = {
    "empty": "",
    "spaces": "  \n\t ",
    "null": "a\0b",
    "emoji": "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽",
    "arabic": "متى موعد طبيب الأسنان؟",
    "chinese": "明天几点开会？",
    "devanagari": "कल की बैठक कब है?",
    "greek": "Πότε είναι το ραντεβού;",
    "hebrew": "מתי הפגישה מחר?",
    "korean": "내일 회의가 몇 시예요?",
    "thai": "พรุ่งนี้ประชุมกี่โมง",
    "gothic": "𐌰𐌱𐌲",
    "accents": "Z̴̡̛a̸͇͝l̷̰̈g̵̣̀o̶͚͐",
    "special": "[CLS] [SEP] [PAD] [MASK] [UNK]",
    "one word": "a" * 10_000,
    "long": "tea " * 50_000,
    "lone surrogate": "caf\udce9 \ud83d",
}


@cache
def alone() -> Matrix:
    """A row for each of `TEXTS`, embedded one at a time."""
    return np.concatenate([default_embedder().embed([text]) for text in TEXTS])


class TestAgainstFloat32:
    def test_reference_is_of_the_same_data_and_model(
        self, bundled: Bundled, reference: Reference, embedder: OnnxEmbedder
    ) -> None:
        remake = (
            "make it again: python -m contextune_lab.train.embedder.reference --out tests/embed/reference.npz"
        )
        assert str(reference["digest"]) == texts_digest(bundled.texts), remake
        assert embedder.name.startswith(f"{reference['model']}@"), remake

    def test_vectors(self, embedder: OnnxEmbedder, reference: Reference) -> None:
        ours = embedder.embed(reference["texts"].tolist())
        theirs = reference["vectors"].astype(np.float32)
        cosines = (ours * theirs).sum(axis=1) / np.linalg.norm(theirs, axis=1)
        assert len(cosines) == 200
        assert cosines.mean() >= 0.99
        assert cosines.min() >= 0.97

    def test_top_items(self, bundled: Bundled, reference: Reference) -> None:
        ours = top_items(bundled.personas, bundled.vectors)
        rows: list[tuple[list[str], list[str]]] = list(
            zip(reference["queries"].tolist(), reference["top"].tolist(), strict=True)
        )
        theirs = {(persona, query): best for (persona, query), best in rows}
        assert len(theirs) == 770
        same = [set(mine) == set(theirs[query]) for query, mine in ours.items()]
        assert len(same) > 80
        assert np.mean(same) >= 0.9

    def test_unit_length(self, bundled: Bundled) -> None:
        assert bundled.vectors.dtype == np.float32
        assert np.abs(np.linalg.norm(bundled.vectors, axis=1) - 1).max() < 1e-5


@settings(max_examples=6)
@given(st.lists(st.integers(0, len(TEXTS) - 1), min_size=1, max_size=40))
def test_vector_does_not_depend_on_the_batch(numbers: list[int]) -> None:
    rows = default_embedder().embed([TEXTS[i] for i in numbers])
    assert np.abs(rows - alone()[numbers]).max() < 1e-4


def test_many_threads(embedder: OnnxEmbedder) -> None:
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(embedder.embed, [TEXTS[i::4] for i in range(4)]))
    for i, rows in enumerate(results):
        assert np.abs(rows - alone()[i::4]).max() < 1e-4


def test_vectors_do_not_depend_on_the_number_of_threads() -> None:
    texts = [f"Slot {n} at the kiln" + " is free" * (n % 9) for n in range(40)]
    one, two = (OnnxEmbedder(threads=threads).embed(texts) for threads in (1, 2))
    assert np.array_equal(one, two)
    assert np.array_equal(two[7:8], OnnxEmbedder(threads=2).embed(texts[7:8]))


def test_no_texts(embedder: OnnxEmbedder) -> None:
    assert embedder.embed([]).shape == (0, 384)


@pytest.mark.parametrize("text", ODD.values(), ids=ODD.keys())
def test_odd_texts(embedder: OnnxEmbedder, text: str) -> None:
    rows = embedder.embed([text, "tea"])
    assert rows.shape == (2, 384)
    assert np.abs(np.linalg.norm(rows, axis=1) - 1).max() < 1e-5


def test_whitespace_and_lone_surrogates_are_ignored(embedder: OnnxEmbedder) -> None:
    rows = embedder.embed(["call mum 😀", "  call\n\tmum 😀 ", "call mum \ud83d\ude00", "call \udce9mum 😀"])
    assert np.abs(rows - rows[0]).max() < 1e-4


def test_long_text_is_truncated(embedder: OnnxEmbedder) -> None:
    body = "tea " * 300
    start, one, other = embedder.embed([f"milk {body}", f"{body} milk", f"{body} invoice"])
    assert np.abs(one - other).max() < 1e-4
    assert np.abs(one - start).max() > 1e-3


def bundled_except(folder: Path, **replacements: bytes | None) -> Path:
    """The bundled model with some files replaced or missing."""
    for file in asset("embedder").iterdir():
        content = replacements.get(file.stem, file)
        if isinstance(content, Path):
            (folder / file.name).symlink_to(content)
        elif content is not None:
            (folder / file.name).write_bytes(content)
    return folder


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("embedder", None),
        ("embedder", b"not json"),
        ("embedder", b"{}"),
        ("embedder", b"[]"),
        ("embedder", b'{"name": "x", "dimensions": 384, "max_tokens": "many", "sha256": {}}'),
        ("tokenizer", None),
        ("tokenizer", b"{}"),
        ("model", None),
        ("model", b""),
        ("model", b"\x08\x0a\x12\x0acontextune"),
    ],
)
def test_damaged_folder_is_refused(tmp_path: Path, file: str, content: bytes | None) -> None:
    folder = bundled_except(tmp_path, **{file: content})
    with pytest.raises(EmbedderError, match=r"python -m contextune_lab\.train\.embedder\.export") as caught:
        OnnxEmbedder(folder)
    assert repr(str(folder)) in str(caught.value)


def test_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match=r"nowhere.*python -m contextune_lab\.train\.embedder\.export"):
        OnnxEmbedder(tmp_path / "nowhere")


def test_name_contains_the_checksum(tmp_path: Path, embedder: OnnxEmbedder) -> None:
    metadata = json.loads((asset("embedder") / "embedder.json").read_text())
    metadata["sha256"]["model.onnx"] = "0123456789abcdef"
    folder = bundled_except(tmp_path, embedder=json.dumps(metadata).encode())
    assert OnnxEmbedder(folder).name == f"{metadata['name']}@01234567"
    assert embedder.name != OnnxEmbedder(folder).name


def test_default_embedder_is_loaded_once() -> None:
    assert default_embedder() is default_embedder()


@pytest.mark.parametrize("module", ["contextune", "contextune.embed"])
def test_import_loads_no_model_and_no_heavy_library(module: str) -> None:
    program = f"""
import sys, onnxruntime
def refuse(*args, **kwargs): raise AssertionError("a model was loaded")
onnxruntime.InferenceSession = refuse
import {module}
print(*{{name.partition(".")[0] for name in sys.modules}})
"""
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    heavy = {"torch", "transformers", "sentence_transformers", "openai", "onnx", "safetensors", "pandas"}
    assert not heavy & set(process.stdout.split())


def test_environment_sets_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["first text", "second text"]
    expected = default_embedder().embed(texts)
    load_default_embedder.cache_clear()
    monkeypatch.setenv("CONTEXTUNE_THREADS", "1")
    assert np.allclose(default_embedder().embed(texts), expected, atol=1e-6)
    load_default_embedder.cache_clear()
    monkeypatch.setenv("CONTEXTUNE_THREADS", "many")
    with pytest.raises(EmbedderError, match="is not a number"):
        default_embedder()
