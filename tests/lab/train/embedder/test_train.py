"""The embedder is tuned on all but a fold, the same way every time, into a folder that can be exported."""

import json
import sys
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.embed import tiny_bert

from contextune.datasets import bundled_personas
from contextune.embed import OnnxEmbedder
from contextune.lab.train.embedder import train as embedder
from contextune.lab.train.embedder.data import FOLDS, digest, folds, training_set
from contextune.lab.train.embedder.export import export

SETTINGS = [word for setting in ("epochs=1", "pairs=4", "max_tokens=32") for word in ("--set", setting)]
RECIPE = embedder.EmbedderRecipe(epochs=2, pairs=4, max_tokens=32)


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    """A little of the real thing."""
    found = training_set()
    found["personas"] = [
        {**persona, "fold": number, "queries": persona["queries"][:2]}
        for number, persona in enumerate(found["personas"][:3])
    ]
    found["pairs"] = found["pairs"][:8]
    found["catalogs"] = [
        {
            "name": "few",
            "weight": 1.0,
            "tools": ["clock — set alarm", "maps — find way", "bank — pay", "weather — forecast"],
            "queries": [
                {"text": "wake me", "relevant": [0], "folds": [0], "kept": 0},
                {"text": "get there dry", "relevant": [1, 3], "folds": [1], "kept": 1},
                {"text": "settle up", "relevant": [2], "folds": [2], "kept": -1},
            ],
        }
    ]
    return found


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert.make(tmp_path_factory.mktemp("weights"))


def tuned(data: dict[str, Any], weights: Path, without: int | None) -> dict[str, np.ndarray]:
    encoder = embedder.train(data, weights, RECIPE, without=without, device="cpu")
    return embedder.vectors(encoder, data, None)


def test_the_same_seed_gives_the_same_vectors(data: dict[str, Any], weights: Path) -> None:
    first, second = (tuned(data, weights, 0) for _ in range(2))
    for part, rows in first.items():
        assert np.array_equal(rows, second[part]), part
    assert np.allclose(np.linalg.norm(first["items"], axis=1), 1, atol=1e-5)


def test_a_fold_left_out_is_not_looked_at(data: dict[str, Any], weights: Path) -> None:
    other = deepcopy(data)
    for query in other["personas"][1]["queries"]:
        query["text"], query["cot"], query["relevant"] = "call mum", "buy tea", {"0": 2}
    other["catalogs"][0]["queries"][1].update(text="pay the taxi", relevant=[2])
    unseen, seen = (tuned(other, weights, fold)["tools"] for fold in (1, None))
    assert np.array_equal(unseen, tuned(data, weights, 1)["tools"])
    assert not np.array_equal(seen, tuned(data, weights, None)["tools"])


def test_the_loss_falls(data: dict[str, Any], weights: Path, capsys: pytest.CaptureFixture[str]) -> None:
    embedder.train(
        data,
        weights,
        replace(RECIPE, epochs=40, rate=1e-3, unplaced=0, augmented=0),
        without=None,
        device="cpu",
    )
    first, *_, last = [
        float(line.split()[-1]) for line in capsys.readouterr().out.splitlines() if "loss" in line
    ]
    assert last < first


def test_the_command_writes_what_export_takes(
    data: dict[str, Any], weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data.json").write_text(json.dumps(data))
    words = [str(tmp_path / "data.json"), str(weights), str(tmp_path / "out"), "--folds", "0,all"]
    monkeypatch.setattr(sys, "argv", ["embedder", *words, *SETTINGS])
    embedder.main()
    fold = np.load(tmp_path / "out" / "vectors-0.npz")
    assert len(fold["items"]) == len(data["personas"][0]["items"])
    assert len(fold["queries"]) == len(fold["augmented"]) == len(fold["kinds"]) == 2
    export(tmp_path / "out" / "model", tmp_path / "exported", name="tuned")
    everyone = np.load(tmp_path / "out" / "vectors-all.npz")["bare"].astype(np.float32)
    texts = [query["text"] for persona in data["personas"] for query in persona["queries"]]
    assert (OnnxEmbedder(tmp_path / "exported").embed(texts) * everyone).sum(1).min() > 0.99


def test_the_folds_are_even_and_fixed() -> None:
    found = folds(bundled_personas())
    sizes = [list(found.values()).count(number) for number in range(FOLDS)]
    assert max(sizes) - min(sizes) <= 1
    assert (found["a01"], found["a02"]) == (0, 1)


def test_the_digest_tells_of_any_change() -> None:
    personas = bundled_personas()
    assert digest(personas) != digest(personas[1:])
