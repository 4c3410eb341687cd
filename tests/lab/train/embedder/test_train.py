"""Fine-tuning of the embedder on a tiny model: deterministic, held-out folds, exportable."""

import json
import random
import sys
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.embed import tiny_bert

from contextune.datasets import bundled_persona_file, bundled_personas, read_persona
from contextune.embed import OnnxEmbedder
from contextune_lab.train.embedder import data as data_module
from contextune_lab.train.embedder import train as embedder
from contextune_lab.train.embedder.data import FOLDS, assign_folds, personas_digest
from contextune_lab.train.embedder.export import export
from contextune_lab.train.embedder.losses import PersonaBatch, TeacherVectors, TrainingStep, UntunedVectors

pytestmark = pytest.mark.usefixtures("models_run_each_time")
SETTINGS = [
    word for setting in ("epochs=1", "pairs=4", "max_tokens=32", "personas=2") for word in ("--set", setting)
]
RECIPE = embedder.EmbedderRecipe(epochs=2, pairs=4, max_tokens=32, personas=2)


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    """The training set of three personas, eight pairs and one tiny catalogue."""
    personas = [read_persona(bundled_persona_file(name)) for name in ("a01", "a02", "a03")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data_module, "bundled_personas", lambda: personas)
        patch.setattr(data_module, "training_personas", list)
        training_set = data_module.training_set()
    training_set["personas"] = [
        {**persona, "fold": number, "queries": persona["queries"][:2], "more": persona["more"][:4]}
        for number, persona in enumerate(training_set["personas"])
    ]
    training_set["pairs"] = training_set["pairs"][:8]
    training_set["catalogs"] = [
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
    return training_set


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert.make(tmp_path_factory.mktemp("weights"))


def tuned(data: dict[str, Any], weights: Path, without: int | None) -> dict[str, np.ndarray]:
    encoder = embedder.train(data, weights, RECIPE, without=without, device="cpu")
    return embedder.embed_fold(encoder, data, None)


def test_same_seed_gives_same_vectors(data: dict[str, Any], weights: Path) -> None:
    first, second = (tuned(data, weights, 0) for _ in range(2))
    for part, rows in first.items():
        assert np.array_equal(rows, second[part]), part
    assert np.allclose(np.linalg.norm(first["items"], axis=1), 1, atol=1e-5)


def test_held_out_fold_does_not_influence_training(data: dict[str, Any], weights: Path) -> None:
    other = deepcopy(data)
    for query in (*other["personas"][1]["queries"], *other["personas"][1]["more"]):
        query["text"], query["cot"], query["relevant"] = "call mum", "buy tea", {"0": 2}
    other["catalogs"][0]["queries"][1].update(text="pay the taxi", relevant=[2])
    held_out, trained_on = (tuned(other, weights, fold)["tools"] for fold in (1, None))
    assert np.array_equal(held_out, tuned(data, weights, 1)["tools"])
    assert not np.array_equal(trained_on, tuned(data, weights, None)["tools"])


def test_training_requests_are_learnt_from(data: dict[str, Any], weights: Path) -> None:
    recipes = [replace(RECIPE, more=share) for share in (0.0, 1.0)]
    without, with_more = (
        embedder.train(data, weights, recipe, without=0, device="cpu").embed(["call mum"])
        for recipe in recipes
    )
    assert not np.allclose(without, with_more, atol=1e-4)
    kinds = {query["kind"] for persona in data["personas"] for query in persona["more"]}
    assert "explicit" in kinds  # requests without items and kinds are among them
    assert not all(query["relevant"] for persona in data["personas"] for query in persona["more"])


def test_distillation_costs_the_divergence_from_the_teacher(data: dict[str, Any], weights: Path) -> None:
    """Nothing against a teacher with the encoder's own vectors, much against one with random vectors."""
    encoder = embedder.Encoder(weights, len(data["kinds"]), len(data["apps"]), 32).eval()
    pairs = UntunedVectors.build(encoder, data).pairs
    own = TeacherVectors.build(encoder, data, without=0)
    generator = torch.Generator().manual_seed(0)
    strange = TeacherVectors(
        own.place, torch.nn.functional.normalize(torch.randn(own.rows.shape, generator=generator))
    )
    personas = data["personas"][1:]
    batch = PersonaBatch(personas, [(persona, query) for persona in personas for query in persona["queries"]])

    def loss(teacher: TeacherVectors | None) -> float:
        random.seed(0)
        step = TrainingStep(encoder, RECIPE.weights(), teacher)
        with torch.no_grad():
            return step.loss(data, batch, data["pairs"], pairs, None).item()

    assert loss(own) == pytest.approx(loss(None), abs=1e-3)
    assert loss(strange) > loss(None) + 0.5


def test_loss_decreases(data: dict[str, Any], weights: Path, capsys: pytest.CaptureFixture[str]) -> None:
    embedder.train(
        data,
        weights,
        replace(RECIPE, epochs=26, rate=1e-3, max_tokens=16, unplaced=0, augmented=0),
        without=None,
        device="cpu",
    )
    first, *_, last = [
        float(line.split()[-1]) for line in capsys.readouterr().out.splitlines() if "loss" in line
    ]
    assert last < first


def test_command_output_can_be_exported(
    data: dict[str, Any], weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data.json").write_text(json.dumps(data))
    words = [str(tmp_path / "data.json"), str(weights), str(tmp_path / "out"), "--folds", "0,all"]
    monkeypatch.setattr(sys, "argv", ["embedder", *words, *SETTINGS])
    embedder.main()
    fold = np.load(tmp_path / "out" / "vectors-0.npz")
    assert len(fold["items"]) == len(data["personas"][0]["items"])
    assert len(fold["queries"]) == len(fold["augmented"]) == len(fold["kinds"]) == 2
    assert len(fold["more_bare"]) == len(fold["more_apps"]) == 4
    assert np.abs(fold["large_model_cot"] - fold["augmented"]).max() > 0.01
    export(tmp_path / "out" / "model", tmp_path / "exported", name="tuned")
    texts = [query["text"] for persona in data["personas"] for query in persona["queries"]]
    recipe = replace(RECIPE, epochs=1)
    everyone = embedder.train(data, weights, recipe, without=None, device="cpu").embed(texts).numpy()
    assert (OnnxEmbedder(tmp_path / "exported").embed(texts) * everyone).sum(1).min() > 0.99


def test_folds_are_even_and_stable() -> None:
    found = assign_folds(bundled_personas())
    sizes = [list(found.values()).count(number) for number in range(FOLDS)]
    assert max(sizes) - min(sizes) <= 1
    assert (found["a01"], found["a02"]) == (0, 1)


def test_digest_changes_with_the_personas() -> None:
    personas = bundled_personas()[:3]
    assert personas_digest(personas) != personas_digest(personas[1:])
