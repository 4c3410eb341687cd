"""Out-of-fold probabilities of the reader."""

from pathlib import Path

import numpy as np
import pytest

from contextune.datasets import (
    bundled_personas,
    everyday_requests,
    plain_requests,
    training_personas,
    training_requests,
)
from contextune.errors import InvalidDataError
from contextune.tools import bundled_toolbox
from contextune_lab.train.reader.fold_probabilities import fold_probabilities, save_fold_probabilities

TOOLS = [f"tool_{number}" for number in range(10)]


def random_rows(count: int) -> np.ndarray:
    logits = np.random.default_rng(0).normal(size=(count, len(TOOLS))) * 3
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def test_best_tools_keep_their_probability_and_all_add_up(tmp_path: Path) -> None:
    rows = random_rows(3)
    save_fold_probabilities(tmp_path / "folds.npz", ["c", "a", "b"], TOOLS, rows)
    probabilities = fold_probabilities(tmp_path / "folds.npz")
    for name, row in zip(["c", "a", "b"], np.exp(rows), strict=True):
        assert list(probabilities[name]) == TOOLS
        assert sum(probabilities[name].values()) == pytest.approx(1, abs=1e-9)
        for place in np.argsort(-row)[:8]:
            assert probabilities[name][TOOLS[place]] == pytest.approx(row[place], rel=4e-3)
        worst = [probabilities[name][TOOLS[place]] for place in np.argsort(-row)[8:]]
        assert worst[0] == worst[1] <= min(row[np.argsort(-row)[:8]])


def test_first_of_a_repeated_name_counts(tmp_path: Path) -> None:
    rows = random_rows(2)
    save_fold_probabilities(tmp_path / "twice.npz", ["a", "a"], TOOLS, rows)
    save_fold_probabilities(tmp_path / "once.npz", ["a"], TOOLS, rows[:1])
    assert fold_probabilities(tmp_path / "twice.npz") == fold_probabilities(tmp_path / "once.npz")


def test_other_files_are_rejected(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", x=np.ones(3))
    for name in ("other.npz", "missing.npz"):
        with pytest.raises(InvalidDataError, match="not a file of the reader's fold probabilities"):
            fold_probabilities(tmp_path / name)


def test_bundled_file_has_every_request_and_tool() -> None:
    probabilities = fold_probabilities()
    personas = {persona.id: persona for persona in (*bundled_personas(), *training_personas())}
    right = {
        persona.name(query): query.gold.api for persona in personas.values() for query in persona.queries
    }
    more = (training_requests(), everyday_requests())
    right |= {
        personas[name].name(query): query.gold.api
        for requests in more
        for name, queries in requests.items()
        for query in queries
    }
    right |= {f"plain/{number}": request.api for number, request in enumerate(plain_requests(), 1)}
    assert set(probabilities) == set(right)
    assert set(probabilities["a01/q1"]) == {tool.name for tool in bundled_toolbox()}
    served = {name: tool for name, tool in right.items() if tool}
    hits = [
        max(row, key=row.__getitem__) == served[name] for name, row in probabilities.items() if name in served
    ]
    assert np.mean(hits) > 0.8
