"""Training of the reader on a tiny model: deterministic, held-out folds, exportable."""

import json
import sys
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from tests.embed import tiny_bert

from contextune.embed import OnnxEmbedder
from contextune.plan.calls.classifier import ToolClassifier
from contextune_lab.train.reader import train as reader_training
from contextune_lab.train.reader.export import export_folds, export_model
from contextune_lab.train.reader.fold_probabilities import fold_probabilities
from contextune_lab.train.reader.model import token_batches
from contextune_lab.train.reader.rows import ReaderData, ReaderRow, row_text

TOOLS = ["buy", "call", "note"]
RECIPE = reader_training.ReaderRecipe(epochs=2, rate=1e-3, batch_tokens=64, max_tokens=32)


def row(number: int) -> ReaderRow:
    tool = TOOLS[number % 3]
    return {
        "name": f"a/q{number}",
        "fold": number % 2 if number < 12 else None,
        "group": "implicit" if number < 12 else "pair",
        "text": {"buy": "tea and milk?", "call": "mum, about friday", "note": "a note to mum"}[tool],
        "moment": "friday" if number < 12 else "",
        "items": ["the dinner on friday", "tea"][: number % 2 + 1],
        "tool": tool if number != 5 else None,
    }


@pytest.fixture
def data() -> ReaderData:
    return {"separator": " | ", "tools": TOOLS, "rows": [row(number) for number in range(18)]}


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert.make(tmp_path_factory.mktemp("weights"))


def trained(data: ReaderData, weights: Path, without: int | None) -> np.ndarray:
    reader = reader_training.train(data, weights, RECIPE, without=without, device="cpu")
    return reader_training.predict(reader, [row(number) for number in range(18)], " | ", 64)


def test_same_seed_gives_same_probabilities(data: ReaderData, weights: Path) -> None:
    first, second = (trained(data, weights, 0) for _ in range(2))
    assert np.array_equal(first, second)
    assert np.allclose(np.exp(first).sum(axis=1), 1, atol=1e-5)


def test_held_out_fold_and_unserved_requests_do_not_influence_training(
    data: ReaderData, weights: Path
) -> None:
    other = deepcopy(data)
    for changed in other["rows"]:
        if changed["fold"] == 0 or changed["tool"] is None:
            changed.update(text="call mum", items=["milk"])
    assert np.array_equal(trained(other, weights, 0), trained(data, weights, 0))
    assert not np.array_equal(trained(other, weights, None), trained(data, weights, None))


def test_reader_learns_and_keeps_its_embeddings(data: ReaderData, weights: Path) -> None:
    untrained, reader = (
        reader_training.train(data, weights, replace(RECIPE, epochs=epochs), without=None, device="cpu")
        for epochs in (0, 20)
    )
    before, after = (model.bert.embeddings.word_embeddings.weight for model in (untrained, reader))
    assert np.array_equal(before.detach().numpy(), after.detach().numpy())
    predicted = reader_training.predict(reader, data["rows"], data["separator"], 64)
    accuracy = reader_training.accuracy_by_group(data["rows"], TOOLS, predicted)
    assert set(accuracy) == {"implicit", "pair"}
    assert min(accuracy.values()) > 70  # a third by chance


def test_batches_hold_every_row_once_within_the_budget() -> None:
    lengths = [Random(number).randint(3, 40) for number in range(200)]
    batches = token_batches(lengths, 100, Random(0), jitter=4)
    assert sorted(number for batch in batches for number in batch) == list(range(200))
    assert max(len(batch) * max(lengths[number] for number in batch) for batch in batches) <= 100


def test_row_over_the_budget_is_a_batch_of_its_own() -> None:
    assert sorted(token_batches([5, 200, 5], 20, Random(0), jitter=0)) == [[0, 2], [1]]


def test_command_output_can_be_exported(
    data: ReaderData, weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data.json").write_text(json.dumps(data))
    run = tmp_path / "run"
    words = [str(tmp_path / "data.json"), str(weights), str(run), "--folds", "0,1,all"]
    settings = ["epochs=2", "rate=1e-3", "batch_tokens=64", "max_tokens=32"]
    options = [word for setting in settings for word in ("--set", setting)]
    monkeypatch.setattr(sys, "argv", ["reader", *words, *options])
    reader_training.main()

    export_folds(run, tmp_path / "folds.npz", folds=2)
    probabilities = fold_probabilities(tmp_path / "folds.npz")
    expected = np.exp(trained(data, weights, 1)[1])
    assert sorted(probabilities) == sorted(f"a/q{number}" for number in range(12))
    assert list(probabilities["a/q1"].values()) == pytest.approx(expected.tolist(), rel=4e-3)

    export_model(run, tmp_path / "reader")
    classifier = ToolClassifier.load(tmp_path / "reader" / "tools.npz")
    vectors = OnnxEmbedder(tmp_path / "reader").embed([row_text(row, " | ") for row in data["rows"]])
    everyone = np.exp(trained(data, weights, None))
    shipped = [[*classifier.probabilities(vector).values()] for vector in vectors]
    assert classifier.names == tuple(TOOLS)
    assert np.abs(np.array(shipped) - everyone).max() < 0.05
